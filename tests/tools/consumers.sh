#!/bin/sh
# The headers as programs see them: C99 to C17 and C++11 to C++20 without a warning, whatever the
# program's OpenCL version, which stays as it was. A program in C++ that runs: install.sh.
# Environment: srcdir, CC, CXX. Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
: "${CC:=cc}" "${CXX:=g++}"

# -I and not -isystem: warnings in our headers are to show. OpenCL's own are none of our business.
flags="-I$srcdir/include -Wall -Wextra -pedantic -Werror -Wmissing-field-initializers -Wcast-qual"

# compile WHAT COMPILER OPTIONS... FILE
compile() {
    what=$1 compiler=$2
    shift 2
    # shellcheck disable=SC2086
    check_run "$what" $compiler $flags "$@" -c -o "$work/object.o"
}

consumer=$srcdir/tests/tools/consumer.c
for standard in c99 c11 c17; do
    compile "C: $standard" "$CC" -std=$standard "$consumer"
done
for standard in c++11 c++14 c++17 c++20; do
    possible "C++: $standard" "$CXX, a C++ compiler, is not installed" $CXX --version &&
        compile "C++: $standard" "$CXX" -std=$standard -Wold-style-cast -x c++ "$consumer"
done

# The program's OpenCL version: whichever it is, before our headers and after them.
printf '#ifdef __APPLE__\n#include <OpenCL/opencl.h>\n#else\n#include <CL/cl.h>\n#endif\n' > "$work/opencl.h"
for version in 120 200 300; do
    for headers in 'syncbn.h opencl.h' 'opencl.h syncbn.h'; do
        {
            echo "#define CL_TARGET_OPENCL_VERSION $version"
            printf '#include <%s>\n' $headers
            echo "#if CL_TARGET_OPENCL_VERSION != $version"
            echo '#error "the version is another one"'
            echo '#endif'
            echo 'int use(sbn_shard *shard, cl_mem mem, cl_event *event)'
            echo '{ shard->x.mem = mem; shard->event = event; shard->wait_list = event; return 0; }'
        } > "$work/version.c"
        # shellcheck disable=SC2086
        compile "OpenCL $version, $headers" "$CC" -std=c11 ${OPENCL_CFLAGS-} -I"$work" "$work/version.c"
    done
done
printf '%s\n' '#include <syncbn.h>' '#if defined CL_TARGET_OPENCL_VERSION || defined CL_VERSION_1_0' \
    '#error "our headers have chosen a version"' '#endif' 'int nothing;' > "$work/version.c"
compile 'our headers choose no version of OpenCL' "$CC" -std=c11 "$work/version.c"

# Each header alone, and no other than itself needed.
for header in "$srcdir"/include/syncbn/*.h; do
    name=syncbn/${header##*/}
    printf '#include <%s>\nint nothing;\n' "$name" > "$work/alone.c"
    compile "<$name> alone" "$CC" -std=c99 "$work/alone.c"
done

# The program that <syncbn.h> shows.
shown() {
    sed -n '/^ \* A complete program/,/^ \* The headers/s/^ \*   //p' "$srcdir/include/syncbn.h" > "$work/shown.c"
    # shellcheck disable=SC2086
    $CC -std=c99 $flags ${OPENCL_CFLAGS-} -c "$work/shown.c" -o "$work/shown.o" &&
        ./libtool --quiet --tag=CC --mode=link $CC -o "$work/shown" "$work/shown.o" libsyncbn.la ${OPENCL_LIBS-} &&
        ./libtool --quiet --mode=execute "$work/shown" > "$work/printed" &&
        printf 'dx of replica %s\n' '0: 0.248171 -0.20999' '1: -0.13363 0.0954497' |
            cmp - "$work/printed"
}
check_run 'the program that <syncbn.h> shows compiles and runs' shown
echo "1..$count"
