# What the tests over MPI share; sourced, not run. Environment: srcdir and that of launch.sh.
# Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
. "$srcdir/tools/bench/scaling/launch.sh"

# tap N PROGRAM ARGUMENTS...: a job whose rank 0 prints TAP, renumbered into this stream.
tap() {
    ranks=$1
    what="$ranks ranks: ${2##*/}"
    mpi "$@" > "$work/tap" 2> "$work/errors"
    status=$?
    while IFS= read -r line; do
        case $line in
        *' # SKIP '*) report ok "$what # SKIP ${line#* # SKIP }" ;;
        'ok '*) report ok "$what: ${line#* - }" ;;
        'not ok '*) report 'not ok' "$what: ${line#* - }" ;;
        '#'*) echo "$line" ;;
        esac
    done < "$work/tap"
    planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$work/tap")
    ran=$(grep -cE '^(not )?ok ' "$work/tap")
    if [ "$ran" != "$planned" ] || { [ "$status" -ne 0 ] && ! grep -q '^not ok ' "$work/tap"; }; then
        report 'not ok' "$what: ${ran:-0} of ${planned:-?} checks ran, exit status $status"
    fi
    [ "$status" -eq 0 ] || sed 's/^/# /' "$work/errors"
}
