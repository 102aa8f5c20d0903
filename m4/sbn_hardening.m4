# SBN_HARDENING
# What makes faults in memory harder to exploit, as far as compiler and linker have it: guarded
# stacks, checked string functions, programs at random addresses, and tables of addresses that are
# read-only once the program runs. Adds to SBN_CFLAGS; sets SBN_LDFLAGS, for libraries and programs,
# and SBN_PROGRAM_LDFLAGS.
AC_DEFUN([SBN_HARDENING], [
  AC_ARG_ENABLE([hardening],
    [AS_HELP_STRING([--disable-hardening], [leave out what sanitizers do better])])
  SBN_LDFLAGS= SBN_PROGRAM_LDFLAGS=
  AS_VAR_IF([enable_hardening], [no], [], [
    SBN_PROBE_FLAGS([SBN_CFLAGS], [-fstack-protector-strong -fstack-clash-protection \
      -fcf-protection -mbranch-protection=standard])
    # Refused where the user, or the compiler itself, has a level already, and without -O, where it does nothing.
    SBN_PROBE_FLAGS([SBN_CFLAGS], [-D_FORTIFY_SOURCE=2], [[
      #include <string.h>
      #ifndef __OPTIMIZE__
      #error nothing is checked
      #endif]])
    # Objects of the shared library are compiled with libtool's -fPIC, which comes later.
    SBN_PROBE_FLAGS([SBN_CFLAGS], [-fPIE])
    SBN_PROBE_LINK_FLAGS([SBN_LDFLAGS], [-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack])
    SBN_PROBE_LINK_FLAGS([SBN_PROGRAM_LDFLAGS], [-pie])
  ])
  AC_SUBST([SBN_LDFLAGS])
  AC_SUBST([SBN_PROGRAM_LDFLAGS])
])

# SBN_SYMBOL_VERSIONS
# Whether the linker takes a version script.
AC_DEFUN([SBN_SYMBOL_VERSIONS], [
  AC_CACHE_CHECK([whether the linker takes version scripts], [sbn_cv_version_script], [
    echo 'SYNCBN_0 { global: main; local: *; };' > conftest.map
    sbn_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
    AC_LINK_IFELSE([AC_LANG_PROGRAM], [sbn_cv_version_script=yes], [sbn_cv_version_script=no])
    LDFLAGS=$sbn_save_LDFLAGS
    rm -f conftest.map
  ])
  AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test $sbn_cv_version_script = yes])
])
