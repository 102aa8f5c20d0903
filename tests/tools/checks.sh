# What the tests of the command share; sourced, not run. Environment: SYNCBN (the command).
# Standard output and standard error of the command are in $work/out and $work/err.
: "${SYNCBN:=tools/syncbn/syncbn}"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
number=0

# check WHAT CONDITION...: the condition is a command.
check() {
    number=$((number + 1))
    what=$1
    shift
    if "$@"; then
        echo "ok $number - $what"
    else
        echo "not ok $number - $what"
        sed 's/^/# /' "$work/out" "$work/err"
    fi
}

# run STATUS ARGUMENTS...: runs the command and says whether the status came.
run() {
    expected=$1
    shift
    "$SYNCBN" "$@" > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    [ $status -eq "$expected" ]
}
