#!/bin/sh
# A job over two hosts that are network namespaces of this machine, joined by a veth
# pair of 100 Mbit/s: what the other tests do over shared memory goes over TCP here,
# and the interface counts the bytes. Skipped, with the reason, where namespaces may
# not be made. For MPICH, whose launcher takes any program for ssh.

. "${srcdir:=.}/tests/mpi_common.sh"

skip() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ "$MPI_KIND" = mpich ] || skip 'the launcher of this test is written for MPICH'
command -v ip > /dev/null || skip 'there is no ip command (iproute2)'
[ "$(id -u)" -eq 0 ] || skip 'network namespaces are for root to make'

first=sbn-$$-1 second=sbn-$$-2
# Deleting a namespace takes its end of the pair, and with it the pair, away.
clean() {
    ip netns delete $first 2> /dev/null
    ip netns delete $second 2> /dev/null
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
why=$(ip netns add $first 2>&1 && ip netns add $second 2>&1 &&
    ip link add wire netns $first type veth peer name wire netns $second 2>&1) ||
    skip "network namespaces may not be made here: $why"

# host NAMESPACE ADDRESS
host() {
    # Without addresses of IPv6, which are of no use for their first second.
    ip -n "$1" link set wire addrgenmode none && ip -n "$1" address add "$2/24" dev wire &&
        ip -n "$1" link set lo up && ip -n "$1" link set wire up
}
host $first 10.77.0.1 && host $second 10.77.0.2 || skip 'addresses could not be given'
for name in $first $second; do
    limit='no bandwidth limit: tc cannot set one'
    tc -n $name qdisc add dev wire root tbf rate 100mbit burst 32kbit latency 50ms 2> "$work/tc" &&
        limit='100 Mbit/s'
done
echo "# hosts 10.77.0.1 and 10.77.0.2, $limit"

# Instead of ssh: the options go, the host names its namespace.
cat > "$work/launcher" << LAUNCHER
#!/bin/sh
while :; do
    case \$1 in
    10.77.0.1) name=$first; shift; break ;;
    10.77.0.2) name=$second; shift; break ;;
    esac
    shift
done
exec ip netns exec \$name sh -c "\$*"
LAUNCHER
chmod +x "$work/launcher"

# As in mpi_common.sh, but from the first host and over both: rank 0 on the first, rank 1 on the second.
mpi() {
    mpi_ranks=$1
    shift
    UCX_TLS=tcp,self ip netns exec $first timeout -k 5 $mpi_limit "$MPIEXEC" -launcher ssh -launcher-exec "$work/launcher" \
        -hosts 10.77.0.1,10.77.0.2 -iface wire -n "$mpi_ranks" "$@" < /dev/null
}

counter() { # tx_bytes|rx_bytes
    ip netns exec $first cat "/sys/class/net/wire/statistics/$1"
}

# counted WHAT AT_LEAST COMMAND...: that many bytes must cross, both ways.
counted() {
    crossing=$1 least=$2 sent=$(counter tx_bytes) received=$(counter rx_bytes)
    shift 2
    "$@"
    sent=$(($(counter tx_bytes) - sent)) received=$(($(counter rx_bytes) - received))
    if [ "$sent" -ge "$least" ] && [ "$received" -ge "$least" ]; then
        report ok "$crossing: $sent bytes went over the wire, $received came"
    else
        report 'not ok' "$crossing: $sent bytes went, $received came, $least were expected at least"
    fi
}

mpi 2 sh -c 'ip -o address show dev wire' > "$work/hosts"
if grep -q 10.77.0.1 "$work/hosts" && grep -q 10.77.0.2 "$work/hosts"; then
    report ok 'the two ranks are on two hosts'
else
    report 'not ok' 'the two ranks are on two hosts'
    sed 's/^/# /' "$work/hosts"
fi
counted 'members that disagree' 100000 tap 4 tests/mpi_hub
counted 'parts of a split' 100000 tap 4 tests/mpi_split
counted 'problems' 100000 tap 2 tests/mpi_problems / 2 "$srcdir"/tests/inputs/shares
echo "1..$count"
