# SBN_PROBE_FLAGS(VARIABLE, FLAGS, [PROLOGUE])
# Appends to VARIABLE each flag the compiler takes, after those before it and for a program that
# begins with PROLOGUE, without a warning.
AC_DEFUN([SBN_PROBE_FLAGS], [
  for sbn_flag in $2; do
    AS_VAR_PUSHDEF([sbn_cache], [sbn_cv_cflag_$sbn_flag])
    AC_CACHE_CHECK([whether $CC takes $sbn_flag], [sbn_cache], [
      sbn_save_CFLAGS=$CFLAGS
      CFLAGS="$CFLAGS $$1 -Werror $sbn_flag"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([$3])], [AS_VAR_SET([sbn_cache], [yes])],
        [AS_VAR_SET([sbn_cache], [no])])
      CFLAGS=$sbn_save_CFLAGS
    ])
    AS_VAR_IF([sbn_cache], [yes], [AS_VAR_APPEND([$1], [" $sbn_flag"])])
    AS_VAR_POPDEF([sbn_cache])
  done
])

# SBN_PROBE_LINK_FLAGS(VARIABLE, FLAGS)
# Appends to VARIABLE each flag that the compiler takes, without a warning, to link a program.
AC_DEFUN([SBN_PROBE_LINK_FLAGS], [
  for sbn_flag in $2; do
    AS_VAR_PUSHDEF([sbn_cache], [sbn_cv_ldflag_$sbn_flag])
    AC_CACHE_CHECK([whether $CC links with $sbn_flag], [sbn_cache], [
      sbn_save_CFLAGS=$CFLAGS sbn_save_LDFLAGS=$LDFLAGS
      CFLAGS="$CFLAGS $SBN_CFLAGS -Werror" LDFLAGS="$LDFLAGS $sbn_flag"
      AC_LINK_IFELSE([AC_LANG_PROGRAM], [AS_VAR_SET([sbn_cache], [yes])],
        [AS_VAR_SET([sbn_cache], [no])])
      CFLAGS=$sbn_save_CFLAGS LDFLAGS=$sbn_save_LDFLAGS
    ])
    AS_VAR_IF([sbn_cache], [yes], [AS_VAR_APPEND([$1], [" $sbn_flag"])])
    AS_VAR_POPDEF([sbn_cache])
  done
])

# SBN_STRICT_FLOAT
# The same bits everywhere stand on host arithmetic that does what is written:
# no contraction to fma, no reassociation, no excess precision. Adds what asks
# for it to SBN_CFLAGS; stops where the compiler or CFLAGS say otherwise.
AC_DEFUN([SBN_STRICT_FLOAT], [
  # What one of the compilers has no macro for.
  AS_CASE([" $CFLAGS "],
    [*-ffp-contract=fast*|*-ffp-contract=on*|*-ffp-model=fast*|*-ffp-model=aggressive*|*-ffp-model=precise*|\
     *-funsafe-math-optimizations*|*-fassociative-math*|*-freciprocal-math*|*-fapprox-func*|\
     *-fsingle-precision-constant*],
    [AC_MSG_ERROR([CFLAGS let the compiler change float results ($CFLAGS); they would not be reproducible])])
  SBN_PROBE_FLAGS([SBN_CFLAGS], [-ffp-contract=off])
  AS_CASE([$SBN_CFLAGS], [*-ffp-contract=off*], [],
    [AC_MSG_ERROR([$CC does not take -ffp-contract=off, without which results would not be reproducible; use gcc or clang])])
  AC_MSG_CHECKING([whether float arithmetic is strict])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
    #include <float.h>
    #if defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__ || defined __RECIPROCAL_MATH__ || __FINITE_MATH_ONLY__
    #error changes results
    #endif
    #if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16 /* 16: halves alone have arithmetic of their own */
    #error excess precision
    #endif]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([CFLAGS ($CFLAGS) let the compiler change float results: leave out -ffast-math, -Ofast and their parts; on 32-bit x86 add -msse2 -mfpmath=sse])])
])
