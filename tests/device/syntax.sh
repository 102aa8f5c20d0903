#!/bin/sh
# Every program of the kernels, as tools/offline/library writes it to be read alone, is OpenCL C 1.2 to clang's front
# end, without warnings: in all variants, for a CPU and for devices whose instructions are unknown. Every file of cl/
# belongs to a program, and every function is called in one. Planted faults must be found. Environment: srcdir, CLANG.

. "${srcdir:=.}/tests/support/tap.sh"

"${CLANG:=clang}" --version > "$work/version" 2>&1 || skip_all 'clang is not installed'

# syntax TARGET FILE: what is wrong with a program. Some warnings come with the code, without optimisation.
syntax() {
    "$CLANG" -x cl -cl-std=CL1.2 -S -emit-llvm -o "$work/code" -target "$1" -Werror -Wpedantic \
        -Xclang -disable-llvm-passes -Xclang -finclude-default-header "$2" 2>&1
}

mkdir "$work/texts" && ./tools/offline/library kernels "$work/texts" || exit 1

for text in "$work"/texts/*.cl; do
    name=${text##*/}
    no_faults "$name for a CPU" "$(syntax x86_64-linux-gnu "$text")"
    # The GPU form does not ask for the target; the CPU form has other functions without one.
    case $name in
    cpu_*) no_faults "$name for any device" "$(syntax spir64 "$text")" ;;
    esac
done

# unlisted TREE: files that no list of programs has, or lists what is not there.
unlisted() {
    (cd "$1/cl" && find . -name '*.cl' -o -name '*.h' | sed 's/^..//' | sort > "$work/files" &&
        sed '/^#/d; s/ .*//' programs/*.list | sort -u > "$work/listed" &&
        diff "$work/files" "$work/listed")
}
no_faults 'every file of cl/ is in a program' "$(unlisted "$srcdir")"

# uncalled TEXT...: functions that a text defines and none calls, of these texts and those of earlier calls.
uncalled() {
    for text in "$@"; do
        "$CLANG" -x cl -cl-std=CL1.2 -fsyntax-only -target x86_64-linux-gnu -Wunused-function \
            -Xclang -finclude-default-header "$text" 2>&1 |
            sed -n "s/.*unused function '\(.*\)'.*/\1/p" | sort -u | tee -a "$work/defined" > "$work/unused"
        sed '/^[ /]\*/d' "$text" | tr -cs 'a-z0-9_' '\n' | sort -u | comm -23 - "$work/unused" >> "$work/called"
    done
    sort -u "$work/defined" > "$work/uncalled"
    sort -u "$work/called" | comm -13 - "$work/uncalled"
}
no_faults 'every function of cl/ is called' "$(uncalled "$work"/texts/*.cl)"

# The text of a kernel is found by its name, which stands above it where it is for both passes.
no_faults 'every kernel that the library asks for stands in cl/ by its name' \
    "$(sed -n '/kinds\[SBN_KERNELS\]/,/^};/p' "$srcdir/src/device/replica_kernels.c" |
        grep -o '"[a-z_]*"' | tr -d '"' | while read -r kernel; do
        grep -qE "^(void $kernel\(|/\* .*\<$kernel( |,))" "$srcdir"/cl/*/*.cl || echo "$kernel"
    done)"

# planted WHAT LINE: the fault is found behind a program.
planted() {
    { cat "$work/texts/gpu_apply.cl"; printf '%s\n' "$2"; } > "$work/planted.cl"
    no_faults "planted: $1 is found" \
        "$(syntax x86_64-linux-gnu "$work/planted.cl" > "$work/out" && echo "not found: $2")"
}
planted 'a name that is not declared' 'static uint planted(uint a) { return quotients(a, 2); }'
planted 'a macro with any number of arguments' '#define PLANTED(...) __VA_ARGS__'
planted 'a conversion that loses a qualifier' \
    'static void planted(global const float *from) { global float *to = from; *to = 0.0f; }'
{ cat "$work/texts/gpu_apply.cl"; echo 'static uint planted(uint a) { return a; }'; } > "$work/planted.cl"
check 'planted: a function that nothing calls is found' [ "$(uncalled "$work/planted.cl")" = planted ]
mkdir -p "$work/tree/cl/common" && cp -R "$srcdir/cl/programs" "$work/tree/cl" &&
    cp "$srcdir"/cl/common/*.cl "$work/tree/cl/common" || exit 1
check 'planted: files that lists name and that are missing are found' [ -n "$(unlisted "$work/tree")" ]

echo "1..$count"
