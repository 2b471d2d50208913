#!/usr/bin/env bash
# member.sh RUN NAME ACTION: does something to one member of a test cluster. A run has
# this as "member", so a test says: "$SUANLI_TEST_INCUS/member" n2 kill
#
#   start  starts the daemon and returns once it answers; the other members forward to
#          it from their next heartbeat on, which may take ten seconds, and refuse before
#   stop   ends the daemon in its own time; its instances go on
#   kill   kills the daemon; its instances go on
#   lose   the machine loses power: the daemon and its instances are gone at once
#   cut    pulls the network cable, heal puts it back
#   pid    prints the daemon's process
set -euo pipefail
# shellcheck source=scripts/incus/run.sh
source "$(dirname "$0")/run.sh"

run=$1
name=$2
cgroup=${run##*/}/$name
daemon=$run/pid/$name
holder=$(<"$run/pid/holder-$name")

# running: whether the daemon is there. Its cgroup tells it from a later process with
# the same number.
running() {
    [ -s "$daemon" ] && grep -q "/$cgroup/daemon\$" "/proc/$(<"$daemon")/cgroup" 2>/dev/null
}

# gone: waits until the daemon is. Whoever must gather it after its death may be slow.
gone() {
    local pid
    pid=$(<"$daemon")
    while [ -e "/proc/$pid/stat" ] && ! grep -q '^State:.*[ZX]' "/proc/$pid/status" 2>/dev/null; do
        sleep 0.02
    done
    rm -f "$daemon"
}

start() {
    local tries
    running && return 0
    (
        move "$BASHPID" "$cgroup/daemon"
        export INCUS_DIR=$run/$name
        # A daemon of the machine and its proxies are none of our business.
        unset INCUS_SOCKET INCUS_REMOTE http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
        cd /
        exec setsid nsenter -t "$holder" -m -n "$(incusd)" --group root
    ) >>"$run/log/$name" 2>&1 </dev/null &
    printf '%s\n' $! >"$daemon"
    for ((tries = 0; tries < 60; tries++)); do
        # Returns when the daemon says so, or after a second.
        if INCUS_DIR=$run/$name incus admin waitready --timeout 1 2>/dev/null; then return 0; fi
        kill -0 "$(<"$daemon")" 2>/dev/null || break
    done
    tail -n 20 "$run/log/$name" >&2
    printf 'error: the Incus daemon of %s did not start\n' "$name" >&2
    return 1
}

# incusd: Debian and Ubuntu keep it out of PATH.
incusd() {
    local file
    for file in /usr/libexec/incus/incusd /usr/lib/incus/incusd /opt/incus/bin/incusd; do
        [ ! -x "$file" ] || { echo "$file"; return; }
    done
    command -v incusd
}

# cable WHAT: up or down, of the port of the switch that the member hangs on.
cable() { nsenter -t "$(<"$run/pid/switch")" -n ip link set "$name" "$1"; }

case ${3:-} in
    start) start ;;
    stop)
        running || exit 0
        kill -TERM "$(<"$daemon")"
        gone
        ;;
    kill)
        running || exit 0
        kill -KILL "$(<"$daemon")"
        gone
        ;;
    lose)
        end_processes "$cgroup" init.scope
        rm -f "$daemon"
        ;;
    cut) cable down ;;
    heal) cable up ;;
    pid)
        running || exit 1
        cat "$daemon"
        ;;
    *)
        printf 'error: member NAME start|stop|kill|lose|cut|heal|pid\n' >&2
        exit 2
        ;;
esac
