#!/bin/sh
# A job over two hosts that are network namespaces of this machine, joined by a veth pair of 100 Mbit/s: what the
# other tests do over shared memory goes over TCP here, and the interface counts the bytes. The machine sees nothing
# of them. Skipped, with the reason, where namespaces may not be made.

. "${srcdir:=.}/tests/mpi/common.sh"
[ "$MPI_KIND" = mpich ] || skip_all 'the launcher of hosts is written for MPICH'
command -v ip > /dev/null || skip_all 'there is no ip command (iproute2)'

# The script again, where nothing that it mounts is seen outside or stays; a user has a network of their own, too.
if [ -z "${SBN_HOSTS_APART-}" ]; then
    apart=--mount hide='mount -t tmpfs tmpfs /run'
    [ "$(id -u)" -eq 0 ] || apart='--mount --net --map-root-user'
    # shellcheck disable=SC2086
    unshare $apart sh -c "$hide" 2> "$work/why" || skip_all "no namespaces here: $(cat "$work/why")"
    # shellcheck disable=SC2086
    SBN_HOSTS_APART=$$ unshare $apart sh -c "$hide && exec sh \"\$@\"" sh "$0"
    exit
fi

# Deleting a namespace takes its interfaces away.
first=sbn-$$-1 second=sbn-$$-2
trap 'for name in $first $second; do ip netns delete $name 2> /dev/null; done; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
{ ip netns add $first && ip netns add $second &&
    ip link add wire netns $first type veth peer name wire netns $second; } 2> "$work/why" ||
    skip_all "no hosts here: $(cat "$work/why")"
host=0
for name in $first $second; do
    host=$((host + 1)) limit='100 Mbit/s'
    # Without addresses of IPv6, which are of no use for their first second.
    ip -n $name link set wire addrgenmode none && ip -n $name address add 10.77.0.$host/24 dev wire &&
        ip -n $name link set lo up && ip -n $name link set wire up || skip_all 'addresses could not be given'
    tc -n $name qdisc add dev wire root tbf rate 100mbit burst 32kbit latency 50ms 2> /dev/null ||
        limit='no bandwidth limit: tc cannot set one'
done
# A wire carries a moment after both its ends are up; MPI does not wait for it.
for name in $first $second; do
    tries=0
    until ip -n $name -o link show wire | grep -qE 'state (UP|UNKNOWN)'; do
        [ $((tries += 1)) -le 100 ] || skip_all 'the hosts cannot be joined'
        sleep 0.1
    done
done
echo "# hosts 10.77.0.1 and 10.77.0.2, $limit"

# Instead of ssh: options go, the host's address becomes its namespace.
cat > "$work/launcher" << END
#!/bin/sh
while :; do case \$1 in
10.77.0.1) name=$first; shift; break ;;
10.77.0.2) name=$second; shift; break ;;
*) shift ;; esac; done
exec ip netns exec \$name sh -c "\$*"
END
chmod +x "$work/launcher"

mpi() { # as of launch.sh, but from the first host, ranks on hosts in turn
    mpi_ranks=$1
    shift
    UCX_TLS=tcp,self ip netns exec $first timeout -k 5 "$mpi_limit" "$MPIEXEC" -launcher ssh \
        -launcher-exec "$work/launcher" -hosts 10.77.0.1,10.77.0.2 -iface wire -n "$mpi_ranks" "$@" < /dev/null
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
    check "$crossing: expected $least bytes over the wire, sent $sent, received $received" \
        [ $((sent >= least && received >= least)) -eq 1 ]
}

mpi 2 sh -c 'ip -o address show dev wire' > "$work/out"
check 'the two ranks are on two hosts' eval 'grep -q 10.77.0.1 "$work/out" && grep -q 10.77.0.2 "$work/out"'
check 'the machine does not see the hosts' [ ! -e "/proc/$SBN_HOSTS_APART/root/run/netns/$first" ]
counted 'ranks that disagree' 100000 tap 4 tests/mpi/hub
counted 'parts of a split' 100000 tap 4 tests/mpi/group_split
counted 'problems' 100000 problems 2 2 0 "$srcdir"/tests/inputs/shards
echo "1..$count"
