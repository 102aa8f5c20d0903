#!/bin/sh
# scaling.sh OUT: measures what combining costs (tools/bench/scaling/scaling) and writes the columns into
# OUT/*.columns: over ranks of this machine, and over hosts that are network namespaces joined by
# an Ethernet of known latency and bandwidth (tools/bench/scaling/switch; as root, on Linux, with MPICH).
# Environment: as tests/mpi/common.sh, and
#   RANKS CHANNELS SCALING_SECONDS    what to measure on this machine; seconds for each number of channels
#   HOSTS LATENCY MBITS WIRE_CHANNELS    over the wire; one-way latency in microseconds

. "${srcdir:=.}/tools/bench/scaling/launch.sh"
. "$srcdir/tools/bench/scaling/namespaces.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if [ "$(id -u)" -eq 0 ]; then
    hosts_apart "$0" "$@"
else
    echo 'they are for root to make' > "$work/why"
fi
: "${RANKS:=1 2 4 8}" "${CHANNELS:=16 64 256 1024 2048 4096 8192}" "${SCALING_SECONDS:=1}"
: "${HOSTS:=2 4 8}" "${LATENCY:=2000}" "${MBITS:=50}" "${WIRE_CHANNELS:=16 256 1024 2048}"
out=$1

# What the model must know.
echo "# cores $(getconf _NPROCESSORS_ONLN)" > "$out/ranks.columns"
for ranks in $RANKS; do
    # shellcheck disable=SC2086
    mpi "$ranks" tools/bench/scaling/scaling "$SCALING_SECONDS" $CHANNELS || exit 1
done >> "$out/ranks.columns"

# Windows that are open from the start: the first frames of TCP are not what is measured.
open_windows() {
    for name in $host_names; do
        ip netns exec "$name" sysctl -q net.ipv4.tcp_slow_start_after_idle=0 \
            net.ipv4.tcp_rmem='4096 4194304 8388608' net.ipv4.tcp_wmem='4096 4194304 8388608' &&
            ip -n "$name" route change 10.77.0.0/24 dev wire initcwnd 1000 initrwnd 1000 || return 1
    done
}

# A message of any size goes at once: UCX would ask the receiver first for larger ones.
export UCX_RNDV_THRESH=inf

# The switch runs while its input is open.
over_wire() { # HOSTS
    hosts_open "$1" || return 1
    rm -f "$work/hold" "$work/ready"
    mkfifo "$work/hold" "$work/ready"
    # shellcheck disable=SC2086
    tools/bench/scaling/switch "$LATENCY" "$MBITS" $host_names < "$work/hold" > "$work/ready" &
    exec 3> "$work/hold"
    # shellcheck disable=SC2086
    read -r state < "$work/ready" && [ "$state" = ready ] && hosts_join && open_windows &&
        hosts_mpi "$1" tools/bench/scaling/scaling "$SCALING_SECONDS" $WIRE_CHANNELS
    status=$?
    exec 3>&-
    wait
    hosts_close
    return $status
}

echo "# latency $LATENCY mbits $MBITS" > "$out/wire.columns"
for hosts in $HOSTS; do
    if ! over_wire "$hosts" > "$work/wire" 2>&1; then
        sed 's/^/# /' "$work/wire" >&2
        echo "scaling: nothing measured over $hosts hosts" >&2
        break
    fi
    cat "$work/wire" >> "$out/wire.columns"
done
