#!/bin/sh
# The timeline example: in two phases other work runs while the words travel. Judged by what came
# before what, and not by time. Runs in the build directory.
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
examples/timeline 200 > "$out" 2>&1
status=$?
sed 's/^/# /' "$out"

# result NUMBER WHAT CONDITION...
result() {
    number=$1 what=$2
    shift 2
    "$@" || printf 'not '
    echo "ok $number - $what"
}
echo '1..3'
result 1 "the example ends with status $status" [ $status -eq 0 ]
states=$(sed -n 's/^  When the words had come, the other work was \(.*\)\.$/\1/p' "$out" | tr '\n' ';')
case $states in
'not enqueued yet;'*) first=true ;;
*) first=false ;;
esac
case $states in
*';running;' | *';done;') second=true ;;
*) second=false ;;
esac
result 2 "in one call the other work had to wait: $states" $first
result 3 "in two phases it ran meanwhile: $states" $second
