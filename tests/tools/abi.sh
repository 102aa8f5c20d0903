#!/bin/sh
# packaging/check-abi.sh: the built library is as recorded; changes planted in it are refused, or
# accepted with the version that the rules ask for.
# Environment: srcdir, ABIDW, CC, OPENCL_CFLAGS, VERSION_INFO. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
: "${CC:=cc}" "${OPENCL_CFLAGS=}"
[ -n "${ABIDW-}" ] || skip_all 'abidw is not installed'
[ -e .libs/libsyncbn.so ] || skip_all 'configured without a shared library'
case $($CC -dumpmachine) in
    x86_64-*linux-gnu) ;;
    *) skip_all 'the interfaces are recorded for x86_64-linux-gnu' ;;
esac
readelf -S .libs/libsyncbn.so | grep -q debug_info || skip_all 'built without debugging information'

srcdir=$(cd "$srcdir" && pwd)

# check_abi SRCDIR LIBRARY VERSION_INFO [check|record]
check_abi() {
    srcdir=$1 LIBRARY=$2 VERSION_INFO=$3 ABI=$work/abi MPI_KIND=none \
        sh "$srcdir/packaging/check-abi.sh" "${4-check}" > "$work/out" 2>&1
}
accepted() { # WHAT CHECK_ABI'S ARGUMENTS
    what=$1
    shift
    if check_abi "$@"; then report ok "$what"; else report 'not ok' "$what"; fi
}
refused() { # WHAT SENTENCE CHECK_ABI'S ARGUMENTS
    what=$1 sentence=$2
    shift 2
    if ! check_abi "$@" && grep -q -- "$sentence" "$work/out"; then
        report ok "$what"
    else
        report 'not ok' "$what"
    fi
}

if srcdir=$srcdir MPI_KIND=$MPI_KIND sh "$srcdir/packaging/check-abi.sh" check > "$work/out" 2>&1
then
    report ok 'make check-abi'
else
    report 'not ok' 'make check-abi'
fi

# A library of its own in place of the whole one: some functions over public structs.
mkdir "$work/original"
cp -R "$srcdir/include" "$srcdir/packaging" "$work/original"
# library DIRECTORY [NAME]: makes DIRECTORY/lib.so of its headers and of source.c.
library() {
    { cat "$work/source.c"; cat "$1/more.c" 2> /dev/null; } > "$1/all.c"
    # shellcheck disable=SC2086
    $CC -g -fPIC -shared -I"$1/include" $OPENCL_CFLAGS -Wl,-soname,"${2-libsyncbn.so.7}" \
        "$1/all.c" -o "$1/lib.so" > "$work/out" 2>&1 || report 'not ok' "compiling $1"
}
cat > "$work/source.c" << 'END'
#include <syncbn.h>
struct sbn_hub { int PRIVATE; };
int sbn_hub_create(int world_size, sbn_hub **hub) { (*hub)->PRIVATE = world_size; return 0; }
int sbn_sampler_length(const sbn_sampler *sampler, uint64_t *length)
{ *length = sampler->samples; return 0; }
#ifndef REMOVED
int sbn_set_last_error(int status, const char *sentence) { return sentence ? status : 0; }
#endif
END
library "$work/original"
accepted 'a first version is recorded' "$work/original" "$work/original/lib.so" 7:0:0 record
accepted 'and found as recorded' "$work/original" "$work/original/lib.so" 7:0:0

# planted NAME SED-SCRIPT HEADER: a copy with a header changed.
planted() {
    cp -R "$work/original" "$work/$1"
    sed "$2" "$work/original/include/syncbn/$3" > "$work/$1/include/syncbn/$3"
    ! cmp -s "$work/original/include/syncbn/$3" "$work/$1/include/syncbn/$3" ||
        { echo unchanged > "$work/out"; report 'not ok' "planting $1"; }
    library "$work/$1"
}
incompatible='is not compatible with libsyncbn.so.7 .* SBN_VERSION_INFO to 8:0:0'
more='has more than it had .* SBN_VERSION_INFO to 8:0:1'

planted middle 's/^    uint64_t samples; /    int planted; &/' sampler.h
refused 'a field within a struct' "$incompatible" "$work/middle" "$work/middle/lib.so" 7:0:0
refused 'and with an age, too' 'is not compatible' "$work/middle" "$work/middle/lib.so" 8:0:1
refused 'in a library of another name: to be recorded' 'nothing is recorded for version 8:0:0' \
    "$work/middle" "$work/middle/lib.so" 8:0:0
planted type 's/^    uint64_t seed; /    int64_t seed; /' sampler.h
refused 'a field of another type' "$incompatible" "$work/type" "$work/type/lib.so" 7:0:0
planted both 's/^    uint64_t seed; /    int64_t seed; /; s/^    int drop_last;/&\nint planted;/' \
    sampler.h
refused 'a field of another type, and one appended' "$incompatible" "$work/both" \
    "$work/both/lib.so" 7:0:0
planted constant 's/SBN_TIMEOUT = -20007/SBN_TIMEOUT = -20107/' error.h
refused 'a constant of another value' "$incompatible" "$work/constant" "$work/constant/lib.so" 7:0:0
cp -R "$work/original" "$work/removed"
echo '#define REMOVED' | cat - "$work/source.c" > "$work/source.new"
mv "$work/source.c" "$work/source.old" && mv "$work/source.new" "$work/source.c"
library "$work/removed"
mv "$work/source.old" "$work/source.c"
refused 'a function removed' "$incompatible" "$work/removed" "$work/removed/lib.so" 7:0:0

planted appended 's/^    int drop_last;/&\nint planted;/' sampler.h
refused 'a field appended' "$more" "$work/appended" "$work/appended/lib.so" 7:0:0
accepted 'and with its version: recorded' "$work/appended" "$work/appended/lib.so" 8:0:1 record
accepted 'and checked' "$work/appended" "$work/appended/lib.so" 8:0:1
rm -f "$work"/abi/libsyncbn.so.7.1.*
cp -R "$work/original" "$work/added"
echo 'int sbn_planted(void); int sbn_planted(void) { return 0; }' > "$work/added/more.c"
library "$work/added"
refused 'a function added' "$more" "$work/added" "$work/added/lib.so" 7:0:0
cp -R "$work/original" "$work/private"
sed 's/int PRIVATE;/int PRIVATE, planted;/' "$work/source.c" > "$work/source.new" &&
    mv "$work/source.new" "$work/source.c"
library "$work/private"
accepted 'an opaque struct may change' "$work/private" "$work/private/lib.so" 7:0:0
echo "1..$count"
