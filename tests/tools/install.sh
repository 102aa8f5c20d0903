#!/bin/sh
# make install into an empty folder, and what others do with it: programs that are built by pkg-config, autotools and
# CMake, in C and C++, and Python; completion in bash; and make uninstall, which leaves nothing. Environment: srcdir,
# CC, CXX, PYTHON, OPENCL_CFLAGS, MPI_KIND. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
: "${CC:=cc}" "${CXX:=g++}" "${PYTHON:=python3}" "${MPI_KIND:=none}"
srcdir=$(cd "$srcdir" && pwd)
# Of a name that uninstall has to leave where it stands above the prefix.
stage=$work/syncbn
mkdir "$stage" "$work/a blank"
check 'a folder for files has no blank, whatever TMPDIR is' eval \
    '! (export TMPDIR="$work/a blank" && . "$srcdir/tests/support/tap.sh" && echo "$work") | grep -q " "'
# A make of its own, not a part of make check.
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR

# Where configure's folders are, below the stage.
folder() { # VARIABLE
    printf 'include Makefile\ninstall-sh-folder:;@echo $(%s)\n' "$1" |
        make -s --no-print-directory -f - install-sh-folder
}
check_run 'make install' make install DESTDIR="$stage"
prefix=$stage$(folder prefix)
libdir=$stage$(folder libdir)
includedir=$stage$(folder includedir)
check_run 'the headers, the package files and the completion' eval '
    [ -e "$includedir/syncbn.h" ] && [ -e "$includedir/syncbn/pass.h" ] &&
    [ -e "$libdir/pkgconfig/syncbn.pc" ] && [ -e "$libdir/cmake/syncbn/syncbn-config.cmake" ] &&
    [ -e "$prefix/share/bash-completion/completions/syncbn" ]'
check_run 'no static traces of the build directory' eval '! grep -rl "$(pwd)" "$includedir" \
    "$libdir/pkgconfig" "$libdir/cmake" "$prefix/share"'

# The stage's own paths, and the system's as they are: pkg-config's --define-prefix would change these, too.
mkdir "$work/pc"
for file in "$libdir"/pkgconfig/*.pc; do
    sed "s,^prefix=.*,prefix=$prefix," "$file" > "$work/pc/${file##*/}"
done
export PKG_CONFIG_PATH="$work/pc" LD_LIBRARY_PATH="$libdir"
flags() { # MODULE
    pkg-config --cflags --libs "$@"
}
program=$srcdir/examples/minimal.c
if possible 'pkg-config: a program' 'pkg-config is not installed' has pkg-config &&
    check_run 'pkg-config: it finds the stage' eval 'flags syncbn | grep -q "$stage"'; then
    check_run 'pkg-config: a program in C' eval '$CC "$program" -o "$work/c" $(flags syncbn) && "$work/c"'
    possible 'pkg-config: a program in C++' "$CXX, a C++ compiler, is not installed" $CXX --version &&
        check_run 'pkg-config: a program in C++' eval '$CXX -DRUN -x c++ \
            "$srcdir/tests/tools/consumer.c" -o "$work/c++" $(flags syncbn) && "$work/c++"'
    [ "$MPI_KIND" = none ] || check_run 'pkg-config: a program over MPI is linked' eval \
        '$CC "$srcdir/examples/minimal_mpi.c" -o "$work/mpi" $(flags syncbn-mpi)'
fi

# --- autotools ---------------------------------------------------------------------------
autotools() {
    mkdir "$work/autotools" && cd "$work/autotools" || return
    cp "$program" program.c
    cat > configure.ac << 'END'
AC_INIT([consumer], [1])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
PKG_CHECK_MODULES([SYNCBN], [syncbn >= 0.1])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
END
    cat > Makefile.am << 'END'
bin_PROGRAMS = program
program_CFLAGS = $(SYNCBN_CFLAGS)
program_LDADD = $(SYNCBN_LIBS)
END
    autoreconf -fi && ./configure CC="$CC" && make && ./program
}
possible 'autotools: a program' 'autoconf, automake or pkg-config is not installed' \
    eval 'has autoreconf && has pkg-config' && check_run 'autotools: a program' eval '(autotools)'

# --- CMake -------------------------------------------------------------------------------
cmake_program() { # NAME VERSION TARGET SOURCE COMPONENTS...
    name=$1 version=$2 target=$3 source=$4
    shift 4
    mkdir "$work/cmake-$name" && cd "$work/cmake-$name" || return
    cp "$source" program.c
    cat > CMakeLists.txt << END
cmake_minimum_required(VERSION 3.18)
project(consumer C)
find_package(syncbn $version REQUIRED $*)
add_executable(program program.c)
target_link_libraries(program PRIVATE $target)
END
    # Found where it lies: no package of the system's in its place.
    cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="${CC##* }" . && make VERBOSE=1 &&
        grep -q "$stage" CMakeCache.txt
}
if possible 'CMake: a program' 'cmake is not installed' has cmake; then
    check_run 'CMake: syncbn::syncbn' eval '(cmake_program core 0.1 syncbn::syncbn "$program" && ./program)'
    for version in 0.2 1; do
        check_run "CMake: version $version is not found" eval \
            '! (cmake_program "$version" "$version" syncbn::syncbn "$program") &&
            grep -q "not accepted" "$work/out" && grep -q "syncbn-config.cmake, version: 0.1" "$work/out"'
    done
    check_run 'CMake: a component that there is not' eval '! (cmake_program none 0 syncbn::syncbn \
        "$program" COMPONENTS cuda) && grep -q "no component cuda" "$work/out"'
    if possible 'CMake: syncbn::mpi' 'no MPI, or no pkg-config' eval '[ "$MPI_KIND" != none ] && has pkg-config'; then
        check_run 'CMake: syncbn::mpi' eval '(cmake_program mpi "" syncbn::mpi \
            "$srcdir/examples/minimal_mpi.c" COMPONENTS mpi)'
        # The packages of a distribution are apart.
        mv "$includedir/syncbn-mpi.h" "$work"
        check_run 'CMake: syncbn::syncbn without the header of MPI' eval \
            '(cmake_program apart 0.1 syncbn::syncbn "$program" && ./program)'
        check_run 'and no syncbn::mpi' eval '! (cmake_program apart-mpi "" syncbn::mpi \
            "$srcdir/examples/minimal_mpi.c" COMPONENTS mpi) && grep -q "no component mpi" "$work/out"'
        mv "$work/syncbn-mpi.h" "$includedir"
    fi
fi

# --- Python ------------------------------------------------------------------------------
shared=$(sed -n "s/^dlname='\(.*\)'/\1/p" libsyncbn.la)
possible 'Python: the package' "no shared library, or no $PYTHON with ctypes" \
    eval '[ -n "$shared" ] && $PYTHON -c "import ctypes"' &&
    check_run 'Python: the package' env SYNCBN_LIBRARY="$libdir/$shared" PYTHONPATH="$srcdir/python" \
        PYTHONDONTWRITEBYTECODE=1 $PYTHON -c 'import syncbn; print(syncbn.__version__)'

# --- the command, its man page and its completion ----------------------------------------------
check_run 'the command' eval '"$prefix/bin/syncbn" version | grep -q "^syncbn [0-9]"'
possible 'man pages' 'configured without doxygen or help2man' \
    eval '[ -e doc/man/stamp ] || [ -e "$srcdir/doc/man/stamp" ]' &&
    check_run 'man pages' eval '[ -s "$prefix/share/man/man1/syncbn.1" ] &&
        [ -s "$prefix/share/man/man3/sbn_forward.3" ]'
# offers EXPECTED WORDS...: what bash offers for the last word.
offers() {
    expected=$1
    shift
    came=$(bash -c '
        . /usr/share/bash-completion/bash_completion
        . "$1"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        _syncbn
        printf "%s\n" "${COMPREPLY[@]}"' bash \
        "$prefix/share/bash-completion/completions/syncbn" "$@" | sort | paste -s -d ' ' -)
    echo "offered: $came; expected: $expected"
    [ "$came" = "$expected" ]
}
if possible 'completion' 'bash-completion is not installed' [ -e /usr/share/bash-completion/bash_completion ]; then
    command=$prefix/bin/syncbn
    check_run 'completion: subcommands' offers 'bench check devices help inspect tune version' "$command" ''
    for name in devices check bench tune inspect; do
        options=$("$command" help $name | sed -n 's/^  \(-[a-z], \)*\(--[a-z-]*\).*/\2/p; $s/.*/--help/p' |
            sort -u | paste -s -d ' ' -)
        check_run "completion: options of $name" offers "$options" "$command" $name --
    done
    check_run 'completion: a value' offers 'auto cpu gpu' "$command" check --form ''
fi

check_run 'make uninstall' make uninstall DESTDIR="$stage"
# Folders of the system's may stay, ours may not.
no_faults 'nothing is left' "$(find "$stage" ! -type d
    find "$prefix" -mindepth 1 -type d -name '*syncbn*')"
echo "1..$count"
