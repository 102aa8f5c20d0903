#!/bin/sh
# Intel's OpenCL runtime for CPUs, for make check-intel: it is there, and the benchmark runs on it, in both forms of the
# kernels. tests/pass/golden.sh and tests/tools/check.sh run beside this. Its compiler takes half a minute to optimise
# what one problem needs: unless CHECK=full is set, kernels are not optimised. Environment: SYNCBN (the command),
# OCL_ICD_VENDORS (a folder that names the runtime), CHECK, UNOPTIMISED: as of tests/pass/golden.sh.
set -u
. "${srcdir:=.}/tests/support/command.sh"

"$SYNCBN" devices > "$work/out" 2>&1
device=$(awk '
    /^[^ ]/ { intel = /^Intel\(R\) OpenCL/ }
    /^  [0-9]+  / && intel { number = $1 }
    /^     usable$/ && number != "" { print number; exit }' "$work/out")
check "Intel's runtime has a usable device" [ -n "$device" ]
check 'and PoCL has one, for groups of both' grep -q 'Portable Computing Language' "$work/out"

[ "${CHECK-}" != full ] || UNOPTIMISED=
for form in cpu gpu; do
    # shellcheck disable=SC2086
    "$SYNCBN" bench --devices "$device" --form $form --repeats 1 mb4ic32ih14iw14 mb4ic32ih14iw14,last \
        mb64ic64 ${UNOPTIMISED:+--build-options $UNOPTIMISED} > "$work/out" 2>&1
    check "the benchmark runs on it, form $form" [ "$?-$(grep -c ': results right$' "$work/out")" = 0-3 ]
done
echo "1..$count"
