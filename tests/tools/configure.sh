#!/bin/sh
# What configure writes for others where a user names an MPI, or folders apart from the prefix, or wants no shared
# library; that it takes no other MPI than the one that was asked for; and what it refuses. Environment: srcdir, CC,
# OPENCL_CFLAGS, OPENCL_LIBS.
. "${srcdir:=.}/tests/support/tap.sh"
be_patient
: "${CC:=cc}" "${OPENCL_CFLAGS=}" "${OPENCL_LIBS=}"
[ ! -e "$srcdir/config.status" ] || skip_all 'the source was configured in place'
srcdir=$(cd "$srcdir" && pwd)
unset MAKEFLAGS MAKELEVEL MFLAGS CONFIG_SITE MPICC SBN_CFLAGS SBN_LDFLAGS
# Without what takes long to look for, and with what this build's configure has found, but for MPI.
grep -E '^((am|lt|sbn)_cv|ac_cv_(c|header|prog))_' config.log | grep -v '^am_cv_python' > "$work/site"
configure() {
    CONFIG_SITE=${site-$work/site} CONFIG_SHELL=/bin/sh "$srcdir/configure" --quiet --disable-static --without-python \
        --without-clblast --without-dnnl --prefix=/opt/p CC="$CC" "$@"
}
in_folder() { # NAME COMMAND...
    name=$1
    shift
    mkdir "$work/$name" && (cd "$work/$name" && "$@")
}

# A wrapper that speaks as Open MPI's, and a header that is taken for its.
mkdir "$work/mpi" "$work/bin"
cat > "$work/mpi/mpi.h" << 'END'
#define MPI_VERSION 3
#define OPEN_MPI 1
typedef void *MPI_Request;
enum { MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD };
#define MPI_IN_PLACE 0
static inline int MPI_Iallreduce(void *a, void *b, int c, int d, int e, int f, MPI_Request *r) { return !r; }
END
printf '#!/bin/sh\ncase $1 in *:compile) echo -I%s ;; *:link) ;; *) exit 1 ;; esac\n' "$work/mpi" > "$work/bin/mpicc"
chmod +x "$work/bin/mpicc"

check_run 'configure with the flags of an MPI' in_folder given eval \
    'configure --libdir=/opt/q/lib MPI_CFLAGS="-I$work/mpi -DGIVEN" MPI_LIBS="-lm " && make -s syncbn-config.cmake'
pc=$work/given/syncbn-mpi.pc
check 'syncbn-mpi.pc has them' grep -qx 'Cflags: -I${includedir} -I.*/mpi -DGIVEN' "$pc"
check 'and its libraries' grep -qx 'Libs: -L${libdir} -lsyncbn-mpi -lm *' "$pc"
check 'and requires no other MPI' grep -qx 'Requires: syncbn *' "$pc"

# resolves FOLDER PATTERN: of syncbn-config.cmake, from where it is installed.
resolves() {
    up=$(sed -n 's,.*_syncbn_here}/\([^"]*\)".*,\1,p' "$work/given/syncbn-config.cmake")
    from_there=$(sed -n "s,.*$2.*,\1,p" "$work/given/syncbn-config.cmake" | head -n 1)
    came=$(realpath -m "/opt/q/lib/cmake/syncbn/$up/$from_there")
    check "CMake: expected $1, got $came" [ "$came" = "$1" ]
}
resolves /opt/p/include 'INCLUDE_DIRECTORIES "${_syncbn_prefix}/\([^"]*\)"'
resolves /opt/q/lib '_syncbn_prefix}/\([^"]*\)/lib${file}.a'

installed=$work/root/opt/q/lib
mkdir -p "$installed/cmake/syncbn" "$work/root/opt/p/include" "$work/program"
cp "$work/given/syncbn-config.cmake" "$installed/cmake/syncbn"
ln -s "$installed/cmake/syncbn" "$work/program/link"
: > "$work/root/opt/p/include/syncbn-mpi.h"
touch "$installed/libsyncbn.so" "$installed/libsyncbn-mpi.so" "$work/program/p.c"
printf '%s\n' 'cmake_minimum_required(VERSION 3.18)' 'project(p C)' 'find_package(syncbn REQUIRED COMPONENTS mpi)' \
    'add_executable(p p.c)' 'target_link_libraries(p syncbn::mpi)' > "$work/program/CMakeLists.txt"
possible 'CMake: syncbn::mpi' 'cmake is not installed' command -v cmake &&
    check_run 'CMake: syncbn::mpi of flags that end with a blank, in a folder behind a link' \
        cmake -S "$work/program" -B "$work/program/b" -Dsyncbn_DIR="$work/program/link"

# pkg-config knows another MPI, or none, and this is the only wrapper.
other() {
    PATH=$work/bin:$PATH PKG_CONFIG_LIBDIR=$known OPENCL_CFLAGS=$OPENCL_CFLAGS OPENCL_LIBS=$OPENCL_LIBS \
        configure "$@"
}
known=$work/known
mkdir "$known"
printf '%s\n' 'Name: another' 'Description: one' 'Version: 4' 'Cflags: -I/another' 'Libs: -lm' > "$known/mpich.pc"
in_folder alone other CPPFLAGS="-I$work/mpi" MPI_LIBS=-lm > "$work/out" 2>&1
check 'the libraries of an MPI without other flags are taken' grep -qx "MPI_LIBS='-lm'" "$work/alone/config.log"
check 'and the MPI' grep -qx "MPI_KIND='openmpi'" "$work/alone/config.log"
check 'and no flags of another one' grep -qx "MPI_CFLAGS=''" "$work/alone/config.log"
known=/none
in_folder asked other MPI_CFLAGS=-DGIVEN > "$work/out" 2>&1
check 'beside flags without libraries a wrapper is asked' grep -qx "MPI_KIND='openmpi'" "$work/asked/config.log"
check_run 'Open MPI is not taken for MPICH' eval '! in_folder mpich other --with-mpi=mpich'
it_says '^configure: error: --with-mpi was given, but no MPI was found'
check 'although it was found' grep -qx "MPI_CFLAGS='-I$work/mpi'" "$work/mpich/config.log"

# anew FOLDER ARGUMENTS...: configure, which asks the compiler what it takes.
grep -vE '^(sbn_cv|ac_cv_prog)_' "$work/site" > "$work/unasked"
anew() (
    site=$work/unasked folder=$1
    shift
    in_folder "$folder" configure --without-mpi "$@"
)
refused() { # NAME ARGUMENTS...
    name=$1
    shift
    check_run "$name is refused" fails anew "refused$name" "$@"
}
fails() {
    ! "$@"
}
for flag in -funsafe-math-optimizations -ffinite-math-only -freciprocal-math -fsingle-precision-constant; do
    refused "$flag" CFLAGS="-O2 $flag"
    it_says '^configure: error: CFLAGS .*let the compiler change float results'
done
if possible '-ffp-model=fast is refused' 'clang is not installed' has clang; then
    refused -ffp-model=fast CC=clang CFLAGS='-O2 -ffp-model=fast'
    it_says '^configure: error: CFLAGS .*let the compiler change float results'
fi
refused --with-python --with-python PYTHON=:
it_says '^configure: error: --with-python was given, but Python 3.9 or later was not found$'
refused a_path_of_Python --with-python=/usr/bin/python3
it_says '^configure: error: --with-python takes no path: give PYTHON=/usr/bin/python3$'

check_run 'configure for static libraries, without -O' anew static --disable-shared --enable-static CFLAGS=-g
pc=$work/static/syncbn.pc
check 'what they need is in Libs' grep -q "^Libs: .* -lsyncbn.*$(sed -n 's/^Libs.private://p' "$pc")" "$pc"
check '_FORTIFY_SOURCE, which needs -O, is left out' eval '! grep -q "^SBN_CFLAGS=.*_FORTIFY" "$work/static/config.log"'

if possible 'arithmetic of halves' "$CC has no -mavx512fp16" $CC -mavx512fp16 -fsyntax-only -x c /dev/null; then
    check_run 'a processor with halves, as of -march=native, is strict' \
        in_folder halves configure --without-mpi CFLAGS='-O2 -mavx512fp16'
fi

# The user's own folder of Debian's Python is not named as that below /usr/local.
unset PYTHONUSERBASE
if [ -e /etc/debian_version ] && /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2> /dev/null; then
    with_python() { # NAME PREFIX
        in_folder "$1" configure --without-mpi --with-python --prefix="$2" PYTHON=/usr/bin/python3
    }
    check_run 'configure for a folder of the user' \
        with_python own "$(/usr/bin/python3 -c 'import site; print(site.getuserbase())')"
    it_says 'package for Python *yes, by /usr/bin/python3$'
    wanted=$(/usr/bin/python3 -c 'import site; print(site.USER_SITE)')
    came=$(echo 'said: ; @echo $(pythondir)' | make -s -C "$work/own" -f Makefile -f - said)
    check "Python finds its package there: expected $wanted, got $came" [ "$came" = "$wanted" ]
    check_run 'configure for a folder where it looks for nothing' with_python elsewhere "$work/elsewhere"
    it_says "by /usr/bin/python3, which does not look into $work/elsewhere/lib/"
fi

# BSD's and macOS's secure_getenv is made of issetugid, which their <unistd.h> has.
mkdir "$work/bsd"
printf '#include_next <unistd.h>\nint issetugid(void);\n' > "$work/bsd/unistd.h"
for file in $(cd "$srcdir" && grep -rl secure_getenv src); do
    # shellcheck disable=SC2086
    check_run "$file compiles without secure_getenv" $CC -fsyntax-only -std=gnu11 -D_DEFAULT_SOURCE \
        -Werror=implicit-function-declaration -I"$work/bsd" -I"$srcdir/include" -I"$srcdir/src" $OPENCL_CFLAGS \
        '-Dsecure_getenv(name)=(issetugid() ? NULL : getenv(name))' "$srcdir/$file"
done
echo "1..$count"
