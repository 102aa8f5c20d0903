#!/bin/sh
# check-abi.sh check|record: the interfaces of the built libraries, and the constants of the public
# headers, against those recorded in packaging/abi for this version of the library; doc/abi.md says
# what a difference demands. Environment: srcdir, ABIDW, CC, MPI_KIND, VERSION_INFO (libtool's
# current:revision:age). For tests: ABI (the folder of records), LIBRARY (a file, for libsyncbn).
set -u
: "${srcdir:=.}" "${CC:=cc}" "${ABI:=$srcdir/packaging/abi}"
what=$1
die() {
    echo "check-abi: $*" >&2
    exit 1
}
case $($CC -dumpmachine) in
    x86_64-*linux-gnu) ;;
    *) echo 'check-abi: the interfaces are recorded for x86_64-linux-gnu; nothing is checked here'
       exit 0 ;;
esac
[ -n "${ABIDW-}" ] || die 'abidw is missing: install abigail-tools and run configure again'
abidiff=${ABIDW%dw}diff

current=${VERSION_INFO%%:*} age=${VERSION_INFO##*:}
major=$((current - age))
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The opaque structs are the library's own business.
{
    echo '[suppress_type]'
    echo "name_regexp = ^($(cat "$srcdir"/include/*.h "$srcdir"/include/syncbn/*.h |
        sed -n 's/^typedef struct \(sbn_[a-z_]*\) \1;$/\1/p' | paste -s -d '|' -))\$"
    echo 'drop = yes'
} > "$work/opaque"

# Structs that begin with their size may be appended to; fields_are_kept looks that nothing else
# was done to one that has.
cat > "$work/appended" << 'END'
[suppress_type]
type_kind = struct
name_regexp = ^sbn_
name_not_regexp = ^sbn_buffer$
has_data_member_inserted_at = end
END

# All but the version of the order of summation, which is a property of the results.
constants() {
    cat "$srcdir"/include/syncbn/*.h | sed -n \
        -e 's/^    \(SBN_[A-Z0-9_]* = -*[0-9]*\).*/\1/p' \
        -e 's/^#define \(SBN_[A-Z_]*\) \((*-*[0-9][0-9]*)*\).*/\1 = \2/p' |
        grep -v '^SBN_ORDER_VERSION ' | LC_ALL=C sort
}

describe() { # LIBRARY: its interface, on standard output.
    "$ABIDW" --suppr "$work/opaque" --headers-dir "$srcdir/include" --drop-private-types \
        --exported-interfaces-only --no-corpus-path --no-show-locs --no-comp-dir-path \
        --no-elf-needed --no-parameter-names --type-id-style hash "$1" > "$work/described" ||
        die "abidw cannot describe $1; it needs debugging information (-g)"
    sed "s,path='[^']*/src/,path='src/," "$work/described"
}

# STRUCT OFFSET FIELD TYPE of each public struct, from a description.
fields() {
    awk -F"'" '/<class-decl name=.sbn_/ { name = $2 }
        /<data-member / { offset = $4 }
        /<var-decl / && name { print name, offset, $2, $4 }
        /<\/class-decl/ { name = "" }' "$1" | LC_ALL=C sort
}

# Every field is where it was; those that are new lie behind all others of their struct.
fields_are_kept() { # OLD NEW
    fields "$1" > "$work/old"
    fields "$2" > "$work/new"
    awk 'NR == FNR { old[$0] = 1; if ($2 > last[$1]) last[$1] = $2; next }
        $0 in old { delete old[$0]; next }
        ($1 in last) && $2 <= last[$1] { exit kept = 1 }
        END { for (field in old) kept = 1; exit kept }' "$work/old" "$work/new"
}

# Programs that were linked with OLD run with NEW.
compatible() { # OLD NEW
    "$abidiff" --no-added-syms --suppr "$work/appended" "$1.abi" "$2.abi" > "$work/report" &&
        fields_are_kept "$1.abi" "$2.abi" &&
        [ -z "$(comm -23 "$1.constants" "$2.constants")" ]
}

same() { # OLD NEW
    "$abidiff" "$1.abi" "$2.abi" > "$work/report" && cmp -s "$1.constants" "$2.constants"
}

differences() { # OLD NEW
    "$abidiff" "$1.abi" "$2.abi"
    diff "$1.constants" "$2.constants" | sed -n 's/^[<>]/  & /p'
}

check_library() { # NAME FILE
    new=$work/$1
    describe "$2" > "$new.abi" || exit 1
    constants > "$new.constants"
    # Records of this library name, from the first age on.
    for old in "$ABI/$1.so.$major".*.abi; do
        old=${old%.abi}
        [ -e "$old.abi" ] || continue
        [ "$what:$old" != "record:$ABI/$1.so.$major.$age" ] || continue
        if ! compatible "$old" "$new"; then
            differences "$old" "$new" >&2
            die "$1 is not compatible with $1.so.$major any more: undo the change, or set" \
                "SBN_VERSION_INFO to $((current + 1)):0:0 in configure.ac"
        fi
    done
    record=$ABI/$1.so.$major.$age
    if [ "$what" = record ]; then
        mkdir -p "$ABI" && cp "$new.abi" "$record.abi" && cp "$new.constants" "$record.constants" || exit 1
        echo "check-abi: $1: recorded as $record"
    elif [ ! -e "$record.abi" ]; then
        die "$1: nothing is recorded for version $VERSION_INFO; run make abi and commit the record"
    elif ! same "$record" "$new"; then
        differences "$record" "$new" >&2
        die "$1 has more than it had in version $VERSION_INFO: set SBN_VERSION_INFO to" \
            "$((current + 1)):0:$((age + 1)) in configure.ac, and run make abi"
    else
        echo "check-abi: $1: as recorded for version $VERSION_INFO"
    fi
}

shared() {
    sed -n "s,^dlname='\(.*\)',.libs/\1,p" "$1"
}

check_library libsyncbn "${LIBRARY:-$(shared libsyncbn.la)}"
# MPI_Comm differs from one MPI to another.
if [ -z "${LIBRARY-}" ] && [ "${MPI_KIND-}" = mpich ]; then
    check_library libsyncbn-mpi "$(shared libsyncbn-mpi.la)"
fi
