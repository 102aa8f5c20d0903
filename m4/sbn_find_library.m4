# SBN_FIND_LIBRARY(PREFIX, PKG-CONFIG NAME, HEADER, FUNCTION, LIBRARY)
# Looks for a library by pkg-config (PREFIX_CFLAGS and PREFIX_LIBS given by the
# user win there), then by its header and a function in -lLIBRARY. Sets and
# substitutes PREFIX_CFLAGS and PREFIX_LIBS; sets have_PREFIX to pkg-config,
# given (by the user), header or no.
AC_DEFUN([SBN_FIND_LIBRARY], [
  sbn_given=$$1_CFLAGS$$1_LIBS
  PKG_CHECK_MODULES([$1], [$2], [AS_IF([test -n "$sbn_given"], [have_$1=given], [have_$1=pkg-config])], [
    sbn_save_CPPFLAGS=$CPPFLAGS sbn_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $$1_CFLAGS" LIBS="$$1_LIBS $LIBS"
    have_$1=no
    AC_CHECK_HEADER([$3], [
      AC_SEARCH_LIBS([$4], [$5], [
        have_$1=header
        AS_CASE([$ac_cv_search_$4], [-l*], [$1_LIBS="$$1_LIBS $ac_cv_search_$4"])
      ])
    ])
    CPPFLAGS=$sbn_save_CPPFLAGS LIBS=$sbn_save_LIBS
  ])
])
