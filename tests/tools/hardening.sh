#!/bin/sh
# What configure found against faults in memory is in the libraries and the command that were built, and symbols have
# versions. Environment: SBN_CFLAGS, SBN_LDFLAGS. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
: "${SBN_CFLAGS=}" "${SBN_LDFLAGS=}"

readelf --version > /dev/null 2>&1 || skip_all 'readelf is not installed'
not_asked() { # WHAT FLAG
    skip "$1" "configure has found no $2, or --disable-hardening was given"
}

shows() { # OPTION FILE PATTERN
    readelf "$1" -W "$2" | grep -qE -- "$3"
}

# where_asked FLAGS FLAG FILE OPTION PATTERN: where FLAG is among FLAGS, readelf's OPTION shows the pattern.
where_asked() {
    case " $1 " in
        *" $2 "*) check "${3##*/}: $5" shows "$4" "$3" "$5" ;;
        *) not_asked "${3##*/}: $5" "$2" ;;
    esac
}

program=tools/syncbn/syncbn
[ ! -e tools/syncbn/.libs/syncbn ] || program=tools/syncbn/.libs/syncbn
libraries=
for la in libsyncbn.la libsyncbn-mpi.la; do
    [ ! -e $la ] || libraries="$libraries $(sed -n "s,^dlname='\(..*\)',.libs/\1,p" $la)"
done
for file in $program $libraries; do
    where_asked "$SBN_LDFLAGS" -Wl,-z,now "$file" -l GNU_RELRO
    where_asked "$SBN_LDFLAGS" -Wl,-z,now "$file" -d 'BIND_NOW|Flags:.* NOW'
    where_asked "$SBN_LDFLAGS" -Wl,-z,noexecstack "$file" -l 'GNU_STACK .* RW '
    case $file in *-mpi*) continue ;; esac
    where_asked "$SBN_CFLAGS" -fstack-protector-strong "$file" --dyn-syms ' UND __stack_chk_fail'
    where_asked "$SBN_CFLAGS" -D_FORTIFY_SOURCE=2 "$file" --dyn-syms ' UND __[a-z]+_chk(@| |$)'
done
where_asked "$SBN_CFLAGS" -fPIE "$program" -h 'Type: *DYN'
where_asked "$SBN_CFLAGS" -fPIE "$program" -d 'FLAGS_1.*PIE'

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
