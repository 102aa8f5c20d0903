#!/bin/sh
# The timeline example: in two phases other work runs while the words travel. Judged by what came
# before what, and not by time. Runs in the build directory.
. "${srcdir:=.}/tests/support/tap.sh"
check_run 'the example ends well' examples/timeline 200
sed 's/^/# /' "$work/out"
states=$(sed -n 's/^  When the words had come, the other work was \(.*\)\.$/\1/p' "$work/out" | tr '\n' ';')
check "in one call the other work had to wait: $states" eval 'echo "$states" | grep -q "^not enqueued yet;"'
check "in two phases it ran meanwhile: $states" eval 'echo "$states" | grep -qE ";(running|done);\$"'
check_run 'a latency that is none is refused' eval '! examples/timeline x'
it_says '^usage: timeline '
echo "1..$count"
