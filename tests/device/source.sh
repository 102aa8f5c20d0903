#!/bin/sh
# The kernels' source: what would make results depend on the device is not in it. OpenCL leaves the rounding of / and of
# square roots to the device, and contraction to the compiler. Comments aside, there is no / and no % but for two of
# integers and one of doubles, and no function whose rounding is the device's but the root of doubles. (Products beside
# sums are not looked for: FP_CONTRACT OFF opens each program, and no option that would undo it is given.) Planted
# faults must be found. Environment: srcdir.

. "${srcdir:=.}/tests/support/tap.sh"

# strip FILE: its text without comments, line by line.
strip() {
    sed -E 's,/\*([^*]|\*+[^*/])*\*+/, ,g
        t lines
        :lines
        /^([^/]|\/[^/])*\/\*/,/\*\// {
            s,/\*.*,,
            t
            s,.*\*/,,
            t
            s,.*,,
        }
        s,//.*,,' "$1"
}

# faults FILE: a line "FILE:LINE: what: text" for each.
faults() {
    strip "$1" | awk -v file="${1##*/}" '
    function fault(what) {
        print file ":" NR ": " what ": " $0
    }
    BEGIN {
        # Inexact by OpenCL 1.2, section 7.4, or contracted as the device likes.
        split("sqrt rsqrt cbrt hypot pow pown powr rootn exp exp2 exp10 expm1 log log2 log10 " \
              "log1p divide recip mad mix smoothstep normalize length distance dot cross " \
              "fmod remainder remquo sin cos tan sincos asin acos atan atan2 sinh cosh tanh " \
              "sinpi cospi tanpi erf erfc tgamma lgamma lgamma_r", names, " ")
        for (i in names)
            inexact[names[i]] = 1
        # The two divisions of integers.
        allowed["static uint quotient(uint a, uint b)"] = 1
        allowed["static ulong quotient_long(ulong a, ulong b)"] = 1
        # Those of doubles, which are rounded correctly.
        allowed["static doubles divide_exactly(doubles a, doubles b)"] = 1
        allowed_root["static doubles root(doubles a)"] = 1
    }
    /[\/%]/ && !($0 == "    return a / b;" && before[2] in allowed) {
        fault("division")
    }
    {
        rest = $0
        while (match(rest, /[A-Za-z_][A-Za-z_0-9]*/)) {
            name = substr(rest, RSTART, RLENGTH)
            if (name in inexact && !($0 == "    return sqrt(a);" && before[2] in allowed_root) || name ~ /^(native|half|fast)_/ && name != "half_way")
                fault(name)
            rest = substr(rest, RSTART + RLENGTH)
        }
        before[2] = before[1]
        before[1] = $0
    }'
}

# opens FILE: nothing, or what is wrong, when FP_CONTRACT OFF is not the first code of a file.
opens() {
    first=$(strip "$1" | grep -v '^ *$' | head -n 1)
    [ "$first" = '#pragma OPENCL FP_CONTRACT OFF' ] || echo "the first line of code is: $first"
}

all=
for file in "$srcdir"/cl/*/*.cl; do
    all="$all ${file#"$srcdir"/cl/}"
    no_faults "${file#"$srcdir"/cl/}: no division, no function that rounds freely" "$(faults "$file")"
done
no_faults "kernels are found:$all" "$([ -n "$(strip "$srcdir/cl/common/common.cl")" ] || echo none)"

no_faults 'common.cl opens with FP_CONTRACT OFF' "$(opens "$srcdir/cl/common/common.cl")"
# twice FOLDER: names that a kernel there defines although the library passes them by -D.
twice() {
    for name in $(grep -ohE -e '-D [A-Z0-9_]+=' "$srcdir/src/exact/format.c" \
        "$srcdir/src/program/kernel_constants.c" | sed 's/-D //; s/=//' | sort -u); do
        find "$1" -name '*.cl' -exec grep -nE "^# *define +$name\\b" {} /dev/null \;
    done
}
no_faults 'no number of the library is defined again' "$(twice "$srcdir/cl")"

no_faults 'FP_CONTRACT is said once' "$(for file in "$srcdir"/cl/*/*.cl; do
    [ "${file##*/}" = common.cl ] || strip "$file" | grep -i 'pragma *OPENCL'
done)"

# lists TREE: programs that do not begin with common.cl, or whose list has it again.
lists() {
    for list in "$1"/cl/programs/*.list; do
        [ "$(sed '/^#/d' "$list" | grep -n 'common/common\.cl')" = 1:common/common.cl ] ||
            echo "${list##*/}"
    done
}
no_faults 'all programs begin with common.cl' "$(lists "$srcdir")"

# Options that relax arithmetic stand in the list of those refused, and nowhere else; no OpenCL call
# is made where they stand.
relaxing='-cl-mad-enable|-cl-fast|-cl-unsafe|-cl-finite|-cl-no-signed-zeros|-Ofast|-ffast-math'
relaxing="$relaxing|-funsafe|-fassociative|-ffp-contract=[^o]|-ffinite|-fno-honor|-fno-signed"
options_in() { # FILE...
    grep -nE -e "$relaxing" "$@"
}
options() { # TREE
    find "$1/src" -name '*.[ch]' ! -name build_options.c |
        while read -r file; do options_in "$file" /dev/null; done
}
list=$srcdir/src/program/build_options.c
no_faults 'no option that lets the compiler contract or round freely, but in the list of those refused' \
    "$(options "$srcdir")"
no_faults 'the list of those refused is found, and calls no OpenCL' \
    "$([ "$(options_in "$list" | wc -l)" -ge 10 ] || echo "not found: '$list'"
       grep -nE 'cl[A-Z][A-Za-z]+ *\(' "$list")"

# planted WHAT LINE: the fault is found when the line joins a kernel.
planted() {
    { cat "$srcdir/cl/cpu/walk_forward.cl"; printf '%s\n' "$2"; } > "$work/planted.cl"
    check "planted: $1 is found: $2" [ -n "$(faults "$work/planted.cl")" ]
}
planted 'a division' '    const float mean = sum / n;'
planted 'a division after a comment' '    const float mean = /* of all */ sum /(float)n;'
planted 'a division of another name' '    return a / b;'
planted 'a root of its own' '    return sqrt(a);'
planted 'a remainder' '    const uint lane = i % 64;'
planted 'a square root' '    invstd = 1.0f * sqrt (var);'
planted 'a reciprocal square root' '    invstd = rsqrt(var);'
planted 'a native function' '    invstd = native_rsqrt(var);'
planted 'a half function' '    invstd = half_recip(var);'
planted 'a mad' '    y = mad(a, d, b);'
planted 'a power' '    y = pown(a, 2);'
planted 'a square root behind a macro' '#define ROOT sqrt'
printf '%s\n' '/* a / b, sqrt(a)' ' * mad(a, b, c) */ int i; /* a % b */' '// a / b, sqrt(a)' > "$work/comment.cl"
no_faults 'in comments they are not faults' "$(faults "$work/comment.cl")"
printf '%s\n' '/* Opens. */' 'int i;' '#pragma OPENCL FP_CONTRACT OFF' > "$work/late.cl"
check 'planted: a late FP_CONTRACT OFF is found' [ -n "$(opens "$work/late.cl")" ]

mkdir -p "$work/tree/cl/programs" && cp -R "$srcdir/src" "$work/tree" && chmod -R u+w "$work/tree" || exit 1
printf '%s\n' '# Sums.' sum.cl common/common.cl > "$work/tree/cl/programs/planted.list"
check 'planted: a program that begins with another file is found' [ -n "$(lists "$work/tree")" ]
echo 'const char *planted = "-cl-std=CL1.2 -cl-mad-enable";' >> "$work/tree/src/pass/pass.c"
check 'planted: an option that contracts is found' [ -n "$(options "$work/tree")" ]
mkdir "$work/cl"
printf '%s\n' '#define BATCH 16' > "$work/cl/again.cl"
check 'planted: a number of the library defined again is found' [ -n "$(twice "$work/cl")" ]

echo "1..$count"
