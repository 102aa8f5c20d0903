#!/bin/sh
# cross.sh SRCDIR FOLDER: configures for another processor in FOLDER and compiles the library there,
# with Debian's cross compiler: nothing that configure asks may run a program of that processor.
set -eu
srcdir=$1 folder=$2
host=aarch64-linux-gnu
command -v $host-gcc > /dev/null || {
    echo "make check-cross: $host-gcc is missing; install gcc-aarch64-linux-gnu and" \
        "libc6-dev-arm64-cross" >&2
    exit 1
}
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
"$srcdir/configure" --host=$host --enable-werror --disable-static
unset MAKEFLAGS MAKELEVEL MFLAGS
make -j "$(nproc)" libsyncbn_core.la
# Every object is one of that processor's; there is no OpenCL of it to link with.
objects=$(find src -name '*.o' | wc -l)
foreign=$(find src -name '*.o' -exec $host-readelf -h {} + | grep -c 'Machine: *AArch64')
echo "check-cross: $foreign of $objects objects are for $host"
[ "$objects" -gt 0 ] && [ "$foreign" -eq "$objects" ]
