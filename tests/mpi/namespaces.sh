# Hosts that are network namespaces of this machine, for MPI jobs over TCP: sourced after
# launch.sh. On Linux, with iproute2, for MPICH, whose launcher takes any program
# for ssh. What joins them is for the caller to make: an interface "wire" in each.

# hosts_apart SCRIPT ARGUMENTS...: runs SCRIPT again and exits. There, nothing that it mounts is seen outside or
# stays; a user has a network of their own, too. Returns there; or fails, with the reason in
# $work/why.
hosts_apart() {
    [ -z "${SBN_HOSTS_APART-}" ] || return 0
    apart=--mount hide='mount -t tmpfs tmpfs /run'
    [ "$(id -u)" -eq 0 ] || apart='--mount --net --map-root-user'
    # shellcheck disable=SC2086
    unshare $apart sh -c "$hide" 2> "$work/why" || return
    # shellcheck disable=SC2086
    SBN_HOSTS_APART=$$ unshare $apart sh -c "$hide && exec sh \"\$@\"" sh "$@"
    exit
}

# Deleting a namespace takes its interfaces away.
hosts_close() {
    for name in ${host_names-}; do
        ip netns delete "$name" 2> /dev/null
    done
    host_names=
}

# hosts_open N: sets host_names, or prints why not and fails.
hosts_open() {
    [ "$MPI_KIND" = mpich ] || { echo 'the launcher of hosts is written for MPICH'; return 1; }
    command -v ip > /dev/null || { echo 'there is no ip command (iproute2)'; return 1; }
    [ -n "${SBN_HOSTS_APART-}" ] || { echo "no namespaces here: $(cat "$work/why")"; return 1; }
    trap 'hosts_close; rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    host_names='' host=0
    while [ $((host += 1)) -le "$1" ]; do
        ip netns add "sbn-$$-$host" 2> "$work/netns" ||
            { echo "network namespaces may not be made here: $(cat "$work/netns")"; return 1; }
        host_names="$host_names${host_names:+ }sbn-$$-$host"
    done
}

# hosts_join: addresses 10.77.0.1, ... for the wires, and a launcher instead of ssh: options go,
# the host's address becomes its namespace.
hosts_join() {
    host=0
    {
        echo '#!/bin/sh'
        echo 'while :; do case $1 in'
        for name in $host_names; do
            host=$((host + 1))
            # Without addresses of IPv6, which are of no use for their first second.
            ip -n "$name" link set wire addrgenmode none &&
                ip -n "$name" address add 10.77.0.$host/24 dev wire &&
                ip -n "$name" link set lo up && ip -n "$name" link set wire up || return 1
            echo "10.77.0.$host) name=$name; shift; break ;;"
        done
        echo '*) shift ;; esac; done'
        echo 'exec ip netns exec $name sh -c "$*"'
    } > "$work/launcher"
    chmod +x "$work/launcher"
    # A wire carries a moment after both its ends are up; MPI does not wait for it.
    for name in $host_names; do
        tries=0
        until ip -n "$name" -o link show wire | grep -qE 'state (UP|UNKNOWN)'; do
            [ $((tries += 1)) -le 100 ] || return 1
            sleep 0.1
        done
    done
}

# As mpi of launch.sh, but from the first host, ranks on hosts in turn.
hosts_mpi() {
    mpi_ranks=$1 host=0 addresses=
    shift
    for name in $host_names; do
        host=$((host + 1))
        addresses="$addresses${addresses:+,}10.77.0.$host"
    done
    set -- -launcher ssh -launcher-exec "$work/launcher" -hosts "$addresses" -iface wire \
        -n "$mpi_ranks" "$@"
    UCX_TLS=tcp,self ip netns exec "${host_names%% *}" \
        timeout -k 5 "$mpi_limit" "$MPIEXEC" "$@" < /dev/null
}
