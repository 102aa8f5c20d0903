#!/bin/sh
# make dist: what is in the archive is what is in the source, also where the build directory has
# a folder of a file's name. Runs in the build directory. Environment: srcdir.
: "${srcdir:=.}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"; [ -z "$decoy" ] || rm -rf "$decoy"' EXIT
decoy=

count=0
result() { # WHAT CONDITION...: passes when the command does.
    what=$1
    shift
    count=$((count + 1))
    if "$@"; then
        echo "ok $count - $what"
    else
        echo "not ok $count - $what"
        tail -n 20 "$work/out" | sed 's/^/# /'
    fi
}

# The archive of this build directory, in a folder of its own: others may be making one, too.
dist() {
    MAKEFLAGS='' MAKELEVEL='' make distdir distdir="$work/syncbn" > "$work/out" 2>&1 < /dev/null
}

result 'make distdir' dist
for file in quickstart configure README.md Makefile.in tests/pass/golden build-aux/tap-driver.sh; do
    result "$file is the source's" cmp "$srcdir/$file" "$work/syncbn/$file"
done
result 'quickstart can be run' [ -x "$work/syncbn/quickstart" ]
result 'no folder of logs' [ ! -e "$work/syncbn/build" ]
rm -rf "$work/syncbn"

if [ "$srcdir" = . ] || [ -e quickstart ]; then
    count=$((count + 1))
    echo "ok $count # SKIP this build directory is the source's, or has a quickstart of its own"
else
    decoy=$(pwd)/quickstart
    mkdir "$decoy" && echo log > "$decoy/make.log"
    result 'a folder quickstart in the build directory: make distdir fails' eval '! dist'
    result 'and says why' grep -q 'make dist: .*quickstart.* build directory' "$work/out"
fi
echo "1..$count"
