#!/bin/sh
# Broadcast and averaging with ranks for threads, well and ill, and the example of data-parallel
# training: 4 replicas over 1, 2 and 4 ranks end with the same bits of the parameters.

. "${srcdir:=.}/tests/mpi/common.sh"

tap 4 tests/mpi/exchange
tap 4 tests/mpi/exchange_refused

# example RANKS REPLICAS: its digest, in $digest.
example() {
    mpi "$1" examples/data_parallel "$2" > "$work/out" 2>&1
    status=$?
    digest=$(sed -n "s/^$(($1 * $2)) replicas, parameters \([0-9a-f]\{16\}\)\$/\1/p" "$work/out")
    first=$(sed -n 's/^epoch 0: loss //p' "$work/out")
    last=$(sed -n 's/^epoch 2: loss //p' "$work/out")
    check "$1 x $2: trained from loss $first to $last, digest ${digest:-missing}; rank 0 alone prints" eval \
        '[ $status -eq 0 ] && [ -n "$digest" ] && awk "BEGIN { exit !(0 < $last && $last < $first) }" &&
            [ "$(grep -c "^epoch" "$work/out")" -eq 3 ]'
}

example 1 4
alone=$digest
example 2 2
check "4 replicas as 2 x 2: the same parameters" [ "$digest" = "$alone" ]
example 4 1
check "4 replicas as 4 x 1: the same parameters" [ "$digest" = "$alone" ]
# Digests that nothing could change would prove nothing.
example 1 1
check 'one replica has trained another network' [ "$digest" != "$alone" ]
echo "1..$count"
