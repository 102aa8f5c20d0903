#!/bin/sh
# make dist: what is in the archive is what is in the source, also where the build directory has a folder of a file's
# name; two archives are the same bytes. Runs in the build directory. Environment: srcdir.
. "${srcdir:=.}/tests/support/tap.sh"
be_patient
trap 'rm -rf "$work" "$name" "$name.tar.gz"; [ -z "$decoy" ] || rm -rf "$decoy"' EXIT
decoy= name=dist-test-$$

# Without the tools of the man pages, and without pages made elsewhere, there is no archive.
[ -e doc/man/stamp ] || [ -e "$srcdir/doc/man/stamp" ] ||
    skip_all 'configured without doxygen or help2man'

# A make of its own, in a folder of its own: others may be making an archive, too.
unset MAKEFLAGS MAKELEVEL
check_run 'make distdir' make distdir distdir="$work/syncbn"
for file in quickstart configure README.md INSTALL.md Makefile.in tests/pass/golden build-aux/tap-driver.sh; do
    check "$file is the source's" cmp "$srcdir/$file" "$work/syncbn/$file"
done
# make has a rule that makes a file of the script of its name, where that is newer: in a fresh clone it may be.
kept make -n -W "$srcdir/tests/pass/golden.sh" tests/pass/golden
check 'a list is not made of the script of its name' not_found '^cat '
check 'quickstart can be run' [ -x "$work/syncbn/quickstart" ]
check 'no folder of logs' [ ! -e "$work/syncbn/build" ]
check 'it has the man pages' [ -s "$work/syncbn/doc/man/sbn_forward.3" ]
rm -rf "$work/syncbn"

# archive NAME COMMAND...: the archive, made by COMMAND.
archive() {
    to=$work/$1.tar.gz
    shift
    kept "$@" make dist-gzip distdir="$name" && mv "$name.tar.gz" "$to"
}
check 'an archive' archive one env
sleep 2
# With another umask, another time zone, and files in another order.
check 'and another, two seconds later' archive two sh -c 'umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$@"' sh
check 'which is the same bytes' cmp "$work/one.tar.gz" "$work/two.tar.gz"
check 'with SOURCE_DATE_EPOCH' archive dated env SOURCE_DATE_EPOCH=86400
no_faults 'all files have that time' "$(TZ=UTC tar -tvzf "$work/dated.tar.gz" | grep -v ' 1970-01-02 00:00 ')"
check 'and without it they have another' eval '! cmp -s "$work/one.tar.gz" "$work/dated.tar.gz"'
no_faults 'no user of this system' "$(tar -tvzf "$work/one.tar.gz" | grep -v '^[-drwx]* 0/0 ')"

if [ "$srcdir" = . ] || [ -e quickstart ]; then
    skip 'a folder of a file'"'"'s name' "this build directory is the source's, or has a quickstart of its own"
else
    decoy=$(pwd)/quickstart
    mkdir "$decoy" && echo log > "$decoy/make.log"
    check_run 'a folder quickstart in the build directory: make distdir fails' \
        eval '! make distdir distdir="$work/syncbn"'
    check 'and says why' grep -q 'make dist: .*quickstart.* build directory' "$work/out"
fi
echo "1..$count"
