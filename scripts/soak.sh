#!/usr/bin/env bash
# soak.sh: rents, uses, stops and releases for MINUTES, lives through simulated
# histories for as long, then asks three questions:
# do the books agree, is anything left behind, does the server keep growing? Then
# it holds ten thousand connections that ask for nothing, and asks the last again.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

PROFILE=${PROFILE:-dev}
MINUTES=${MINUTES:-10}
PORT=${PORT:-18080}
DATA=$(mktemp -d "${TMPDIR:-/tmp}/suanli-soak.XXXXXX")
# The server may run as another user than this script.
chmod 755 "$DATA"
BIN=$(binary "$PROFILE" suanli)
# shellcheck source=scripts/server.sh
source scripts/server.sh

finish() {
    local status=$?
    trap - EXIT INT TERM
    stop_server || status=1
    if [ "$status" = 0 ]; then
        rm -rf "$DATA"
    else
        printf 'what the server said: %s\n' "$DATA/serve.log" >&2
    fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

open_files() { find "/proc/$SERVER/fd" -mindepth 1 2>/dev/null | wc -l; }
memory_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$SERVER/status"; }

PROFILE=$PROFILE scripts/build.sh
start_server --fake-gpus profiles/rtx4090x8.toml
log_in_operator
make_renter soak 10000

# one_rent: the whole life of one instance.
one_rent() {
    local id
    id=$(as_renter rent --gpu "RTX 4090" --wait --json | json id)
    as_renter exec "$id" -- sh -c 'echo kept >/workspace/kept && cat /workspace/kept' </dev/null >/dev/null
    as_renter stop "$id" >/dev/null
    wait_for_state "$id" stopped 60
    as_renter release "$id" >/dev/null
    wait_for_state "$id" released 60
}

# The first rents fill caches and pools; growth is counted from after them.
warm=5
rents=0
end=$((SECONDS + MINUTES * 60))
say "renting for $MINUTES minutes"
while [ $SECONDS -lt $end ] || [ $rents -le $warm ]; do
    one_rent
    rents=$((rents + 1))
    if [ $rents = $warm ]; then
        files=$(open_files)
        memory=$(memory_kib)
    fi
    if [ $((rents % 20)) = 0 ]; then
        say "$rents rents, $(open_files) open files, $(memory_kib) KiB of memory"
    fi
done

say "simulating for $MINUTES minutes"
cargo run --quiet --locked -p suanli-sim -- --seed "$((SECONDS + RANDOM * 32768 + RANDOM))" --steps 400 \
    --minutes "$MINUTES" --out "$DATA/broken.json"

as_operator audit
left=$(as_renter ls --json | json items | tr -d '[] \n')
[ -z "$left" ] || fail "instances are left: $left"
files_now=$(open_files)
memory_now=$(memory_kib)
say "$rents rents; open files $files -> $files_now; memory $memory -> $memory_now KiB"
[ "$files_now" -le $((files + 20)) ] || fail "the server leaks open files"
[ "$memory_now" -le $((memory + memory / 2 + 32768)) ] || fail "the server's memory keeps growing"

# held_memory: the server's memory, KiB, while it has CONNECTIONS that nobody uses.
held_memory() {
    local word
    coproc HOLD { python3 scripts/connections.py "$PORT" "$CONNECTIONS"; }
    local holder=$HOLD_PID
    read -r word <&"${HOLD[0]}" || true
    [ "$word" = held ] || fail "the server did not take $CONNECTIONS connections"
    memory_kib
    # A renter is served among them.
    as_renter whoami >/dev/null
    eval "exec ${HOLD[1]}>&-"
    wait "$holder"
}

CONNECTIONS=10000
most=$(($(ulimit -Hn) - 600))
[ "$most" -ge $CONNECTIONS ] || { CONNECTIONS=$most && say "this system allows only $most open files more"; }
memory=$(memory_kib)
most=$((memory + CONNECTIONS * 32))
# The allocator settles over the first rounds; then it must stay where it is.
for round in 1 2 3 4; do
    before=$memory
    memory=$(held_memory)
    say "$CONNECTIONS connections, round $round: $memory KiB of memory"
    [ "$memory" -le "$most" ] || fail "a connection that asks for nothing costs more than 32 KiB"
done
[ "$memory" -le $((before + before / 10)) ] || fail "connections that ended leave memory behind"
say "soak: all well"
