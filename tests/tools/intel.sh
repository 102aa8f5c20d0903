#!/bin/sh
# Intel's OpenCL runtime for CPUs, for make check-intel: it is there, and the benchmark runs on it, in
# both forms of the kernels. tests/pass/golden.sh and tests/tools/check.sh run beside this.
# Environment: SYNCBN (the command), OCL_ICD_VENDORS (a folder that names the runtime).
set -u
. "${srcdir:=.}/tests/support/tap.sh"
: "${SYNCBN:=tools/syncbn/syncbn}"

"$SYNCBN" devices > "$work/out" 2>&1
device=$(awk '
    /^[^ ]/ { intel = /^Intel\(R\) OpenCL/ }
    /^  [0-9]+  / && intel { number = $1 }
    /^     usable$/ && number != "" { print number; exit }' "$work/out")
check "Intel's runtime has a usable device" [ -n "$device" ]
check 'and PoCL has one, for groups of both' grep -q 'Portable Computing Language' "$work/out"

for form in cpu gpu; do
    "$SYNCBN" bench --devices "$device" --form $form --repeats 1 mb4ic32ih14iw14 mb4ic32ih14iw14,last \
        mb64ic64 > "$work/out" 2>&1
    check "the benchmark runs on it, form $form" \
        [ "$?-$(grep -c ': results right$' "$work/out")" = 0-3 ]
done
echo "1..$count"
