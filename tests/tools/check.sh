#!/bin/sh
# Runs every list of problems in tests/inputs on each usable device alone and
# on all of them as one group, by `syncbn check`. PoCL is asked for two of its
# kinds of device, and rusticl for llvmpipe, unless the environment says else.
# With CI=true a kind that is missing is a failure. Unless CHECK=full is set, each group has every
# fourth problem, other ones than the group before, and PoCL's second kind, whose kernels are the first
# one's compiled again, those of floats without a fusion alone.
# Environment: srcdir, SYNCBN (the command), CHECK. Runs in the build directory.

: "${srcdir:=.}" "${SYNCBN:=tools/syncbn/syncbn}"
: "${POCL_DEVICES=pthread basic}" "${RUSTICL_ENABLE=llvmpipe}"
export POCL_DEVICES RUSTICL_ENABLE

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# "0  name" of every device that can be used.
"$SYNCBN" devices | awk '
    /^  [0-9]+  / { device = substr($0, 3) }
    /^     usable$/ { print device }' > "$work/devices"

count=0
report() { # ok|"not ok", what
    count=$((count + 1))
    echo "$1 $count - $2"
}

if [ "$CI" = true ]; then
    for kind in pthread basic llvmpipe; do
        if grep -q "  $kind" "$work/devices"; then
            report ok "there is a device of kind $kind"
        else
            report 'not ok' "there is a device of kind $kind"
        fi
    done
elif [ ! -s "$work/devices" ]; then
    echo '1..0 # SKIP there is no usable OpenCL device'
    exit 0
fi

# Every list, and in one process, for a group compiles its kernels anew.
grep -hv -e '^#' -e '^ *$' "$srcdir"/tests/inputs/* > "$work/all"
groups=0
choose() { # NAME OF DEVICE: the problems, into $work/problems.
    case ${CHECK-}:$1 in
    full:*) cat "$work/all" ;;
    *basic*) grep -v -e f16 -e relu -e leaky -e add "$work/all" | awk -v first="$groups" 'NR % 4 == first % 4' ;;
    *) awk -v first="$groups" 'NR % 4 == first % 4' "$work/all" ;;
    esac > "$work/problems"
    groups=$((groups + 1))
}

# run DEVICES NAME: problems on one group, renumbered into this stream.
run() {
    devices=$1
    choose "$2"
    "$SYNCBN" check --tap --devices "$devices" --file "$work/problems" > "$work/tap"
    status=$?
    while IFS= read -r line; do
        case $line in
        'ok '*) report ok "devices $devices: ${line#* - }" ;;
        'not ok '*) report 'not ok' "devices $devices: ${line#* - }" ;;
        '#'*) echo "$line" ;;
        esac
    done < "$work/tap"
    # A crash leaves problems of the plan without a line.
    planned=$(sed -n 's/^1\.\.//p' "$work/tap")
    ran=$(grep -cE '^(not )?ok ' "$work/tap")
    if [ "$ran" != "$planned" ]; then
        report 'not ok' "devices $devices: $ran of $planned problems ran, exit status $status"
    fi
}

all=
while read -r device name; do
    run "$device" "$name"
    all=$all${all:+,}$device
done < "$work/devices"
case $all in
*,*) run "$all" all ;;
esac
echo "1..$count"
