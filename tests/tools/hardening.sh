#!/bin/sh
# What configure found against faults in memory is in the libraries and the command that were built, and symbols have
# versions. Environment: SBN_CFLAGS, SBN_LDFLAGS. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
: "${SBN_CFLAGS=}" "${SBN_LDFLAGS=}"

readelf --version > /dev/null 2>&1 || skip_all 'readelf is not installed'
not_asked() { # WHAT FLAG
    skip "$1" "configure has found no $2, or --disable-hardening was given"
}

read_only_tables() { # FILE: all addresses are found when it is loaded, and are read-only then.
    readelf -lW "$1" | grep -q GNU_RELRO && readelf -dW "$1" | grep -qE 'BIND_NOW|Flags:.* NOW'
}
no_code_on_stack() {
    readelf -lW "$1" | grep -q 'GNU_STACK .* RW '
}
guarded_stack() {
    readelf --dyn-syms -W "$1" | grep -q ' UND __stack_chk_fail'
}
checked_functions() {
    readelf --dyn-syms -W "$1" | grep -qE ' UND __[a-z]+_chk(@| |$)'
}
position_independent() { # FILE: a program.
    readelf -hW "$1" | grep -q 'Type: *DYN' && readelf -dW "$1" | grep -q 'FLAGS_1.*PIE'
}

# where_asked FLAGS FLAG PROPERTY FILE: where FLAG is among FLAGS, FILE has the property.
where_asked() {
    case " $1 " in
        *" $2 "*) check "${4##*/}: $3" "$3" "$4" ;;
        *) not_asked "${4##*/}: $3" "$2" ;;
    esac
}

program=tools/syncbn/syncbn
[ ! -e tools/syncbn/.libs/syncbn ] || program=tools/syncbn/.libs/syncbn
libraries=
for la in libsyncbn.la libsyncbn-mpi.la; do
    [ ! -e $la ] || libraries="$libraries $(sed -n "s,^dlname='\(..*\)',.libs/\1,p" $la)"
done
for file in $program $libraries; do
    where_asked "$SBN_LDFLAGS" -Wl,-z,now read_only_tables "$file"
    where_asked "$SBN_LDFLAGS" -Wl,-z,noexecstack no_code_on_stack "$file"
    case $file in *-mpi*) continue ;; esac
    where_asked "$SBN_CFLAGS" -fstack-protector-strong guarded_stack "$file"
    where_asked "$SBN_CFLAGS" -D_FORTIFY_SOURCE=2 checked_functions "$file"
done
where_asked "$SBN_CFLAGS" -fPIE position_independent "$program"

# Each library's symbols have the version of its map, and no other.
versions() { # FILE
    readelf --dyn-syms -W "$1" | sed -n 's/.* [0-9][0-9]* sbn_[a-z_]*@@*\(.*\)/\1/p' | sort -u
}
unversioned() {
    readelf --dyn-syms -W "$1" | grep -E ' [0-9]+ sbn_[a-z_]+( *|$)' | grep -v @ | grep -v UND
}
for file in $libraries; do
    if readelf -VW "$file" | grep -q 'Name: SYNCBN_'; then
        check "${file##*/}: versions of its symbols: $(versions "$file" | paste -s -d ' ' -)" \
            [ -z "$(unversioned "$file")" ]
    else
        not_asked "${file##*/}: versions of its symbols" 'linker with version scripts'
    fi
done
echo "1..$count"
