#!/bin/sh
# Broadcast and averaging with ranks for threads, well and ill, and the example of data-parallel
# training: 4 replicas over 1, 2 and 4 ranks end with the same bits of the parameters.

. "${srcdir:=.}/tests/mpi/common.sh"

tap 4 tests/mpi/exchange
tap 4 tests/mpi/exchange_refused

# example RANKS REPLICAS: its digest, in $digest.
example() {
    mpi "$1" examples/data_parallel "$2" > "$work/example" 2>&1
    status=$?
    sed 's/^/# /' "$work/example"
    digest=$(sed -n "s/^$(($1 * $2)) replicas, parameters \([0-9a-f]\{16\}\)\$/\1/p" "$work/example")
    first=$(sed -n 's/^epoch 0: loss //p' "$work/example")
    last=$(sed -n 's/^epoch 2: loss //p' "$work/example")
    if [ $status -eq 0 ] && [ -n "$digest" ] && expr "$last" '<' "$first" > /dev/null &&
        [ "$(grep -c '^epoch' "$work/example")" -eq 3 ]; then
        report ok "$1 x $2: trained from loss $first to $last; rank 0 alone prints"
    else
        report 'not ok' "$1 x $2: status $status, losses ${first:-?} and ${last:-?}"
    fi
}

example 1 4
alone=$digest
for spread in '2 2' '4 1'; do
    # shellcheck disable=SC2086
    example $spread
    if [ -n "$alone" ] && [ "$digest" = "$alone" ]; then
        report ok "4 replicas as ${spread% *} x ${spread#* }: the same parameters"
    else
        report 'not ok' "4 replicas as ${spread% *} x ${spread#* }: expected $alone, got $digest"
    fi
done

# Digests that nothing could change would prove nothing.
example 1 1
if [ -n "$digest" ] && [ "$digest" != "$alone" ]; then
    report ok 'one replica has trained another network'
else
    report 'not ok' "one replica: ${digest:-no digest}"
fi
echo "1..$count"
