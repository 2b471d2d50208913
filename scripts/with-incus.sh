#!/usr/bin/env bash
# with-incus.sh [--members N] CMD…: runs CMD beside a private Incus of N members that
# ends with it (1: a machine by itself; more: a cluster). CMD finds in
# SUANLI_TEST_INCUS a folder that holds
#
#   cluster.json   members with address, Unix socket, processes and network; certificates
#   member         member NAME start|stop|kill|lose|cut|heal|pid
#   enter          enter NAME|switch CMD…: CMD in the network of a member, or outside them
#   log/           what the daemons said
#
# Needs root. A daemon, a bridge or an address of the machine is not touched: members
# and the switch between them are network namespaces, and not even a cable leads from
# the machine to them. A test reaches a daemon through its Unix socket, which is a file;
# for TLS it enters the switch's network, with `enter` or setns(2).
# What a killed run left is removed by the next one (scripts/incus/run.sh).
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
# shellcheck source=scripts/incus/run.sh
source "$ROOT/scripts/incus/run.sh"

members=1
if [ "${1:-}" = --members ]; then
    members=${2:-}
    shift 2 || true
fi
[[ $members =~ ^[1-9]$ ]] || fail "from 1 to 9 members, not '$members'" "with-incus.sh --members 3 CMD…"
[ $# -gt 0 ] || fail "no command given" "with-incus.sh [--members N] CMD [ARG…]"
[ "$(id -u)" = 0 ] || fail "Incus needs root" "sudo scripts/with-incus.sh …"
for program in incus mmdebstrap mkfs.btrfs dnsmasq; do
    command -v $program >/dev/null || fail "there is no $program here" "scripts/setup.sh incus"
done

# Of the member that is started: Incus keeps this much for all its instances.
POOL=6GiB
NET=10.88.0

sweep
images=$("$ROOT/scripts/incus/image.sh")
name=suanli-incus.$$.$(started $$)
folder=$RUNS/$name
command=
# shellcheck disable=SC2317 # reached by the trap
finish() {
    local status=$?
    trap - EXIT INT TERM HUP
    if [ -n "$command" ]; then
        kill -TERM "$command" 2>/dev/null || true
        wait "$command" 2>/dev/null || true
    fi
    end_run "$name"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The containers' users must get through, to their roots.
mkdir -m 711 "$folder"
mkdir "$folder"/{log,pid,client}
chmod 700 "$folder/client"
hierarchies >"$folder/hierarchies"
# The client's own settings and a daemon of the machine stay out of it.
unset INCUS_SOCKET INCUS_REMOTE INCUS_PROJECT
export INCUS_CONF=$folder/client

# broke WHAT: ends the run, with what the daemons said last.
broke() {
    tail -n 20 "$folder"/log/* >&2
    fail "$1"
}

# plug NAME ADDRESS: a machine with a cable to the switch; the switch itself has none.
plug() {
    local own=$folder/pid/holder-$1 switch
    make_cgroup "$name/$1/init.scope"
    make_cgroup "$name/$1/daemon"
    (
        move "$BASHPID" "$name/$1/init.scope"
        cd /
        exec setsid unshare -m -n --propagation private \
            "$ROOT/scripts/incus/holder.sh" "$name/$1" "$folder/pid/ready-$1"
    ) >"$folder/log/holder-$1" 2>&1 </dev/null &
    printf '%s\n' $! >"$own"
    # Or bash tells of its end.
    disown $!
    until [ -e "$folder/pid/ready-$1" ]; do
        kill -0 "$(<"$own")" 2>/dev/null || broke "the namespaces of $1 could not be made"
        sleep 0.01
    done
    offer_controllers "$name/$1"
    [ "$1" != switch ] || return 0
    switch=$(<"$folder/pid/switch")
    nsenter -t "$switch" -n ip link add "$1" type veth peer name eth0 netns "$(<"$own")"
    nsenter -t "$switch" -n ip link set "$1" master bridge up
    nsenter -t "$(<"$own")" -n ip address add "$2/24" dev eth0
    nsenter -t "$(<"$own")" -n ip link set eth0 up
    # It leads nowhere, but Incus looks for it.
    nsenter -t "$(<"$own")" -n ip route add default via $NET.1
}

# switch: where all the cables meet.
switch() {
    plug switch
    mv "$folder/pid/holder-switch" "$folder/pid/switch"
    nsenter -t "$(<"$folder/pid/switch")" -n sh -ec "
        ip link add bridge type bridge
        ip address add $NET.1/24 dev bridge
        ip link set bridge up"
}

# preseed NUMBER: the first member's settings, or those of one that joins.
preseed() {
    local own=n$1 address=$NET.$((10 + $1)):8443
    if [ "$1" != 1 ]; then
        printf '%s\n' 'cluster:' '  enabled: true' "  server_name: $own" \
            "  server_address: $address" \
            "  cluster_token: $(incus_on n1 cluster add "$own" --quiet)" '  member_config:' \
            "  - {entity: storage-pool, name: default, key: source, value: ''}" \
            "  - {entity: storage-pool, name: default, key: size, value: $POOL}"
        return
    fi
    printf '%s\n' 'config:' "  core.https_address: $address" \
        'networks:' '- name: suanlibr0' '  type: bridge' '  config:' \
        '    ipv4.address: 10.99.0.1/24' '    ipv4.nat: "false"' '    ipv6.address: none' \
        'storage_pools:' '- name: default' '  driver: btrfs' "  config: {size: $POOL}" \
        'profiles:' '- name: default' '  devices:' \
        '    root: {type: disk, path: /, pool: default}' \
        '    eth0: {type: nic, name: eth0, network: suanlibr0}'
    [ "$members" = 1 ] || printf '%s\n' 'cluster:' '  enabled: true' "  server_name: $own"
}

# incus_on NAME ARGUMENT…: the client, through that member's socket; in its network as
# well, because a client that lets a member join asks the cluster's address itself.
incus_on() {
    INCUS_DIR=$folder/$1 nsenter -t "$(<"$folder/pid/holder-$1")" -n incus "${@:2}"
}

# describe: cluster.json, for CMD.
describe() {
    local number server=n1/server.crt comma=
    [ "$members" = 1 ] || server=n1/cluster.crt
    printf '{\n  "members": ['
    for ((number = 1; number <= members; number++)); do
        printf '%s\n    {"name": "%s", "address": "%s", "unix_socket": "%s", "pid": %s, "netns": "%s"}' \
            "$comma" "n$number" "$NET.$((10 + number)):8443" "$folder/n$number/unix.socket" \
            "$(<"$folder/pid/n$number")" "/proc/$(<"$folder/pid/holder-n$number")/ns/net"
        comma=,
    done
    printf '\n  ],\n  "clustered": %s,\n' "$([ "$members" = 1 ] && echo false || echo true)"
    printf '  "switch_netns": "/proc/%s/ns/net",\n' "$(<"$folder/pid/switch")"
    printf '  "client_cert": "%s",\n  "client_key": "%s",\n  "server_cert": "%s",\n' \
        "$folder/client/client.crt" "$folder/client/client.key" "$folder/$server"
    printf '  "pool": "default",\n  "network": "suanlibr0",\n  "images": ["debian", "tiny"]\n}\n'
}

began=$SECONDS
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 2 -subj /CN=suanli-test \
    -keyout "$folder/client/client.key" -out "$folder/client/client.crt" 2>"$folder/log/openssl" ||
    broke "no certificate could be made"
switch
for ((number = 1; number <= members; number++)); do
    mkdir -m 711 "$folder/n$number"
    plug "n$number" "$NET.$((10 + number))"
    "$ROOT/scripts/incus/member.sh" "$folder" "n$number" start || broke "n$number did not start"
    preseed "$number" | incus_on "n$number" admin init --preseed >>"$folder/log/setup" 2>&1 ||
        broke "n$number could not be set up"
done
incus_on n1 config trust add-certificate "$folder/client/client.crt" --name suanli-test
for image in debian tiny; do
    incus_on n1 image import "$images/$image.tar.xz" "$images/$image.squashfs" --alias $image \
        >>"$folder/log/setup" 2>&1 || broke "the image $image could not be imported"
done
describe >"$folder/cluster.json"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$ROOT/scripts/incus/member.sh" "$folder" >"$folder/member"
cat >"$folder/enter" <<END
#!/bin/sh
case \$1 in switch) file=switch ;; *) file=holder-\$1 ;; esac
shift
exec nsenter --net="/proc/\$(cat "$folder/pid/\$file")/ns/net" "\$@"
END
chmod 755 "$folder/member" "$folder/enter"

say "Incus $(incus --version 2>/dev/null) with $members member(s) for this run, in $((SECONDS - began)) s"
export SUANLI_TEST_INCUS=$folder
# In the background, since bash obeys a signal only between two foreground commands;
# with the signals that bash takes away from such a command given back.
env -u INCUS_CONF --default-signal=INT,QUIT "$@" <&0 &
command=$!
status=0
wait "$command" || status=$?
command=
exit "$status"
