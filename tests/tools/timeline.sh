#!/bin/sh
# The timeline example: in two phases other work runs while the words travel. Judged by what came
# before what, and not by time. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
check_run 'the example ends well' examples/timeline 200
sed 's/^/# /' "$work/out"
states=$(sed -n 's/^  When the words had come, the other work was \(.*\)\.$/\1/p' "$work/out" | tr '\n' ';')
check "in one call the other work had to wait: $states" eval 'echo "$states" | grep -q "^not enqueued yet;"'
check "in two phases it ran meanwhile: $states" eval 'echo "$states" | grep -qE ";(running|done);\$"'
for latency in x '' 5x '1 2' 0 60001; do
    check_run "a latency of '$latency' is refused" eval '! examples/timeline "$latency"'
    it_says '^usage: timeline '
done
check_run 'so is a second one' eval '! examples/timeline 5 6'
it_says '^usage: timeline '
if [ -w /dev/full ]; then
    check 'results that cannot be written are an error' eval '! examples/timeline 5 > /dev/full 2> "$work/out"'
    it_says '^timeline: writing the results: No space left'
    check 'those of the shortest program, too' eval '! examples/minimal > /dev/full 2> "$work/out"'
    it_says '^writing the results: No space left'
fi
echo "1..$count"
