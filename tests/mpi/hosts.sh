#!/bin/sh
# A job over two hosts that are network namespaces of this machine, joined by a veth
# pair of 100 Mbit/s: what the other tests do over shared memory goes over TCP here,
# and the interface counts the bytes. The machine sees nothing of them. Skipped, with the
# reason, where namespaces may not be made.

. "${srcdir:=.}/tests/mpi/common.sh"
. "$srcdir/tests/mpi/namespaces.sh"

hosts_apart "$0" || skip_all "no namespaces here: $(cat "$work/why")"
hosts_open 2 > "$work/why" || skip_all "$(cat "$work/why")"
first=${host_names% *} second=${host_names#* }
ip link add wire netns "$first" type veth peer name wire netns "$second" 2> "$work/why" ||
    skip_all "the hosts cannot be joined: $(cat "$work/why")"
hosts_join || skip_all 'addresses could not be given'
for name in $host_names; do
    limit='no bandwidth limit: tc cannot set one'
    tc -n "$name" qdisc add dev wire root tbf rate 100mbit burst 32kbit latency 50ms 2> /dev/null &&
        limit='100 Mbit/s'
done
echo "# hosts 10.77.0.1 and 10.77.0.2, $limit"

mpi() {
    hosts_mpi "$@"
}

counter() { # tx_bytes|rx_bytes
    ip netns exec "$first" cat "/sys/class/net/wire/statistics/$1"
}

# counted WHAT AT_LEAST COMMAND...: that many bytes must cross, both ways.
counted() {
    crossing=$1 least=$2 sent=$(counter tx_bytes) received=$(counter rx_bytes)
    shift 2
    "$@"
    sent=$(($(counter tx_bytes) - sent)) received=$(($(counter rx_bytes) - received))
    if [ "$sent" -ge "$least" ] && [ "$received" -ge "$least" ]; then
        report ok "$crossing: sent $sent bytes over the wire, received $received"
    else
        report 'not ok' "$crossing: expected at least $least bytes over the wire, sent $sent, received $received"
    fi
}

mpi 2 sh -c 'ip -o address show dev wire' > "$work/hosts"
if grep -q 10.77.0.1 "$work/hosts" && grep -q 10.77.0.2 "$work/hosts"; then
    report ok 'the two ranks are on two hosts'
else
    report 'not ok' 'the two ranks are on two hosts'
    sed 's/^/# /' "$work/hosts"
fi
check 'the machine does not see the hosts' [ ! -e "/proc/$SBN_HOSTS_APART/root/run/netns/$first" ]
counted 'ranks that disagree' 100000 tap 4 tests/mpi/hub
counted 'parts of a split' 100000 tap 4 tests/mpi/group_split
counted 'problems' 100000 tap 2 tests/mpi/problems / 2 "$srcdir"/tests/inputs/shards
echo "1..$count"
