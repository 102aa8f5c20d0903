# SBN_FIND_MPI
# --with-mpi[=mpich|openmpi]: looks for an MPI by pkg-config, MPICH before Open MPI,
# then by its compiler wrapper. MPI_CFLAGS and MPI_LIBS given by the user win; beside given
# MPI_LIBS no other MPI's flags are taken. Sets
# have_MPI to pkg-config, given (by the user), mpicc or no, MPI_KIND to mpich or openmpi as <mpi.h> says
# (all but Open MPI count as MPICH's kin), PC_MPI_REQUIRES to the module's name where
# pkg-config found it, and MPIEXEC to its launcher.
AC_DEFUN([SBN_FIND_MPI], [
  AC_ARG_WITH([mpi],
    [AS_HELP_STRING([--with-mpi@<:@=mpich|openmpi@:>@], [build libsyncbn-mpi, with this MPI
      (default: with the first that is found)])],
    [], [with_mpi=auto])
  AC_ARG_VAR([MPICC], [MPI compiler wrapper, asked where pkg-config knows no MPI])
  AC_ARG_VAR([MPIEXEC], [MPI launcher, for the tests])
  AS_CASE([$with_mpi], [auto|yes|no|mpich|openmpi], [],
    [AC_MSG_ERROR([--with-mpi takes mpich or openmpi, not $with_mpi])])
  have_MPI=no
  PC_MPI_REQUIRES=
  sbn_given=$MPI_CFLAGS$MPI_LIBS sbn_given_libs=$MPI_LIBS
  AS_CASE([$with_mpi:$sbn_given_libs], [auto:|yes:|mpich:],
    [PKG_CHECK_MODULES([MPI], [mpich], [have_MPI=pkg-config PC_MPI_REQUIRES=mpich], [:])])
  AS_CASE([$with_mpi:$have_MPI:$sbn_given_libs], [auto:no:|yes:no:|openmpi:no:],
    [PKG_CHECK_MODULES([MPI], [ompi-c], [have_MPI=pkg-config PC_MPI_REQUIRES=ompi-c], [:])])
  AS_IF([test -n "$sbn_given" && test -n "$MPI_LIBS" && test "$with_mpi" != no],
    [have_MPI=given PC_MPI_REQUIRES=])
  AS_CASE([$with_mpi:$have_MPI], [no:*|*:pkg-config|*:given], [], [
    AC_PATH_PROGS([MPICC], [mpicc])
    AS_IF([test -n "$MPICC" && MPI_CFLAGS=`$MPICC --showme:compile 2> /dev/null`],
        [MPI_LIBS=`$MPICC --showme:link`],
      [test -n "$MPICC" && MPI_CFLAGS=`$MPICC -compile_info 2> /dev/null | cut -d' ' -f2-`],
        [MPI_LIBS=`$MPICC -link_info | cut -d' ' -f2-`],
      [MPI_CFLAGS= MPI_LIBS=])
    AS_IF([test -n "$MPICC"], [have_MPI=mpicc])
  ])
  sbn_save_CPPFLAGS=$CPPFLAGS sbn_save_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $MPI_CFLAGS" LIBS="$MPI_LIBS $LIBS"
  MPI_KIND=none
  AS_IF([test $have_MPI != no], [
    AC_MSG_CHECKING([for MPI 3 with $MPI_LIBS])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <mpi.h>
      #if MPI_VERSION < 3
      #error too old
      #endif]], [[MPI_Request r;
        return MPI_Iallreduce(MPI_IN_PLACE, 0, 0, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &r);]])],
      [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
        #include <mpi.h>
        #ifndef OPEN_MPI
        #error another
        #endif]])], [MPI_KIND=openmpi], [MPI_KIND=mpich])
       AC_MSG_RESULT([yes, $MPI_KIND])],
      [have_MPI=no
       AC_MSG_RESULT([no])])
  ])
  CPPFLAGS=$sbn_save_CPPFLAGS LIBS=$sbn_save_LIBS
  # A wrapper, or flags, of the MPI that was not asked for.
  AS_CASE([$with_mpi:$MPI_KIND], [mpich:openmpi|openmpi:mpich], [have_MPI=no MPI_KIND=none])
  AS_CASE([$MPI_KIND],
    [openmpi], [AC_PATH_PROGS([MPIEXEC], [mpiexec.openmpi mpiexec])],
    [mpich], [AC_PATH_PROGS([MPIEXEC], [mpiexec.mpich mpiexec.hydra mpiexec])])
  AS_IF([test $have_MPI = no],
    [AS_CASE([$with_mpi], [auto|no], [],
      [AC_MSG_ERROR([--with-mpi was given, but no MPI was found.
  On Debian and Ubuntu: apt-get install libmpich-dev mpich (or libopenmpi-dev openmpi-bin)
  Elsewhere: MPICH or Open MPI with mpicc in the PATH, or point MPI_CFLAGS and MPI_LIBS at one.])])])
  AC_SUBST([MPI_KIND])
  AM_CONDITIONAL([HAVE_MPI], [test $have_MPI != no])
])
