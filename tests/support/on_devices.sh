# Problems through `syncbn check` on each usable device alone and on all of them as one group; sourced, not run. PoCL is
# asked for two devices, which share compiled kernels, and rusticl for llvmpipe, unless the environment says else. With
# CI=true a kind that is missing is a failure. Unless CHECK=full is set, each group has every sixth problem, other ones
# than the group before, of those whose kernels are soon compiled; llvmpipe, which takes some three seconds to compile
# one, every twenty-fourth of floats without fusions and views. Environment: srcdir, SYNCBN (the command), CHECK;
# UNOPTIMISED: as of tests/pass/golden.sh.

. "${srcdir:=.}/tests/support/tap.sh"
: "${SYNCBN:=tools/syncbn/syncbn}"
: "${POCL_DEVICES=pthread pthread}" "${RUSTICL_ENABLE=llvmpipe}"
export POCL_DEVICES RUSTICL_ENABLE

# "0 cpu  name": number, form and name of every device that can be used.
"$SYNCBN" devices | awk '
    /^  [0-9]+  / { number = $1; $1 = ""; name = $0 }
    /, form [a-z]+$/ { form = $NF }
    /^     usable$/ { print number, form, name }' > "$work/devices"

if [ "$CI" = true ]; then
    for kind in $POCL_DEVICES $RUSTICL_ENABLE; do
        check "there is a device of kind $kind" grep -q "  $kind" "$work/devices"
    done
elif [ ! -s "$work/devices" ]; then
    skip_all 'there is no usable OpenCL device'
fi
[ "${CHECK-}" != full ] || UNOPTIMISED=
unoptimised=${UNOPTIMISED:+--build-options $UNOPTIMISED}
groups=0

# choose NAME: the problems of a device, of $work/all, or of $work/others if that is there and the device is
# another one than most tests run on, into $work/problems.
choose() {
    # Floats and halves, and one fusion; so on PoCL in the GPU form.
    skipped='bf16|leaky|relu(,[^a]|$)' every=6 variants='f16|leaky|relu|,add|output|pitch'
    case ${CHECK-}:$1 in
    full:*) skipped='^$' ;;
    *:*pthread*) skipped="($skipped).*form=gpu|form=gpu.*($skipped)" ;;
    *:all) skipped="$variants|form=gpu" ;; # nothing new
    *:*llvmpipe*) skipped=$variants every=24 ;;
    esac
    list=$work/all
    case $1 in
    *llvmpipe* | all) [ ! -e "$work/others" ] || list=$work/others ;;
    esac
    case ${CHECK-}:$1:$list in
    full:*) ;;
    *llvmpipe*:*others) every=120 ;; # pairs are many
    esac
    # Under a tool each takes some ten times as long.
    [ -z "${SBN_TEST_UNDER-}" ] || every=$((every * 4))
    grep -vE "$skipped" "$list" |
        awk -v full="${CHECK-}" -v first="$groups" -v every="$every" \
            'full == "full" || NR % every == first % 6' > "$work/problems"
    groups=$((groups + 1))
}

# run DEVICES NAME: problems on one group, renumbered into this stream.
run() {
    choose "$2"
    # shellcheck disable=SC2086
    "$SYNCBN" check --tap --devices "$1" --file "$work/problems" $unoptimised > "$work/tap"
    renumber "devices $1" "$work/tap" $?
}

# The problems of $work/all, in one process for each group, for a group compiles its kernels anew.
run_on_devices() {
    all= last=
    while read -r device _ name; do
        # A second one of a kind takes part in the group.
        [ "$name" = "$last" ] || run "$device" "$name"
        last=$name
        all=$all${all:+,}$device
    done < "$work/devices"
    case $all in
    *,*) run "$all" all ;;
    esac
}
