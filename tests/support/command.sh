# The command, for tests that look at what it prints; sourced, not run. Environment: srcdir, SYNCBN (the command).
. "${srcdir:=.}/tests/support/tap.sh"
: "${SYNCBN:=tools/syncbn/syncbn}"

# run STATUS ARGUMENTS...: its output is in $work/out and $work/err; succeeds if the status, which $status has, came.
run() {
    expected=$1
    shift
    "$SYNCBN" "$@" > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    [ $status -eq "$expected" ]
}

# refuses SENTENCE ARGUMENTS...: wrong usage, with this sentence, or one that begins as "SENTENCE...", and no output.
refuses() {
    sentence="syncbn: $1"
    shift
    run 2 "$@" && [ ! -s "$work/out" ] && [ "$(wc -l < "$work/err")" -eq 1 ] &&
        case $sentence in
        *...) [ "$(head -c $((${#sentence} - 3)) "$work/err")" = "${sentence%...}" ] ;;
        *) [ "$(cat "$work/err")" = "$sentence" ] ;;
        esac
}
