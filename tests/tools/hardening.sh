#!/bin/sh
# What configure found against faults in memory is in the libraries and the command that were
# built, and symbols have versions. Environment: SBN_CFLAGS, SBN_LDFLAGS, CC. Runs in the build
# directory.
: "${CC:=cc}" "${SBN_CFLAGS=}" "${SBN_LDFLAGS=}"

if ! readelf --version > /dev/null 2>&1; then
    echo '1..0 # SKIP readelf is not installed'
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0
result() { # WHAT CONDITION...
    what=$1
    shift
    number=$((number + 1))
    if "$@"; then
        echo "ok $number - $what"
    else
        echo "not ok $number - $what"
    fi
}
skip() {
    number=$((number + 1))
    echo "ok $number - $1 # SKIP configure has found no $2, or --disable-hardening was given"
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
    readelf --dyn-syms -W "$1" | grep -qE ' UND __[a-z]+_chk'
}
position_independent() { # FILE: a program.
    readelf -hW "$1" | grep -q 'Type: *DYN' && readelf -dW "$1" | grep -q 'FLAGS_1.*PIE'
}

# check FLAGS FLAG PROPERTY FILE: where FLAG is among FLAGS, FILE has the property.
check() {
    case " $1 " in
        *" $2 "*) result "${4##*/}: $3" "$3" "$4" ;;
        *) skip "${4##*/}: $3" "$2" ;;
    esac
}

program=tools/syncbn/syncbn
[ ! -e tools/syncbn/.libs/syncbn ] || program=tools/syncbn/.libs/syncbn
libraries=
for la in libsyncbn.la libsyncbn-mpi.la; do
    [ ! -e $la ] || libraries="$libraries $(sed -n "s,^dlname='\(..*\)',.libs/\1,p" $la)"
done
for file in $program $libraries; do
    check "$SBN_LDFLAGS" -Wl,-z,now read_only_tables "$file"
    check "$SBN_LDFLAGS" -Wl,-z,noexecstack no_code_on_stack "$file"
    case $file in *-mpi*) continue ;; esac
    check "$SBN_CFLAGS" -fstack-protector-strong guarded_stack "$file"
    check "$SBN_CFLAGS" -D_FORTIFY_SOURCE=2 checked_functions "$file"
done
check "$SBN_CFLAGS" -fPIE position_independent "$program"

# Each library's symbols have the version of its map, and no other.
versions() { # FILE
    readelf --dyn-syms -W "$1" | sed -n 's/.* [0-9][0-9]* sbn_[a-z_]*@@*\(.*\)/\1/p' | sort -u
}
unversioned() {
    readelf --dyn-syms -W "$1" | grep -E ' [0-9]+ sbn_[a-z_]+( *|$)' | grep -v @ | grep -v UND
}
for file in $libraries; do
    if readelf -VW "$file" | grep -q 'Name: SYNCBN_'; then
        result "${file##*/}: versions of its symbols: $(versions "$file" | paste -s -d ' ' -)" \
            [ -z "$(unversioned "$file")" ]
    else
        skip "${file##*/}: versions of its symbols" 'linker with version scripts'
    fi
done

# Controls: a program without any of it has none of the properties.
echo 'int main(void) { return 0; }' > "$work/plain.c"
if $CC -fno-stack-protector -fno-pie -no-pie -Wl,-z,norelro,-z,lazy,-z,execstack \
    "$work/plain.c" -o "$work/plain" 2> /dev/null; then
    for property in read_only_tables no_code_on_stack guarded_stack checked_functions \
        position_independent; do
        result "a program without it: $property is found missing" eval "! $property $work/plain"
    done
fi
echo "1..$number"
