#!/usr/bin/env bash
# demo.sh: one rent from end to end on this machine, through the public command
# line. ONCE=1 ends after the bill; otherwise the server stays up.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

PROFILE=${PROFILE:-dev}
PORT=${PORT:-8080}
DATA=$(realpath -m "${DATA:-.demo}")
BIN=$(binary "$PROFILE" suanli)
# shellcheck source=scripts/server.sh
source scripts/server.sh

# run WHO ARG…: shows the command as a person would type it, then runs it.
run() {
    local who=$1
    shift
    printf '\n$ suanli %s\n' "$*"
    "as_$who" "$@"
}

instance=
finish() {
    local status=$?
    trap - EXIT INT TERM
    if [ "$status" != 0 ]; then
        # An instance outlives the server on purpose, so it is released first.
        if [ -n "$instance" ]; then as_renter release "$instance" >/dev/null 2>&1 || true; fi
        if [ -n "${SERVER:-}" ]; then stop_server || true; fi
    fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "building (the first time takes some minutes)"
PROFILE=$PROFILE scripts/build.sh

fleet=()
if has_gpus; then
    say "this machine has GPUs: they are what is rented"
else
    say "this machine has no GPU: its cards are FAKE and say so; all else is real"
    fleet=(--fake-gpus profiles/mixed-lab.toml)
    GPU=${GPU:-RTX 4090}
fi

say "starting the server on $URL (data in $DATA/data, log in $DATA/serve.log)"
start_server "${fleet[@]}"

say "logging in as the operator; making an account with 100.00 for a renter"
log_in_operator
make_renter demo 100

say "what can be rented now"
run renter offers
GPU=${GPU:-$(first_offer)}
[ -n "$GPU" ] || fail "no card here has a price in the price book" "suanli price show; suanli node ls"

say "renting one $GPU that stops by itself after 20 s without activity"
printf '\n$ suanli rent --gpu "%s" --name first --stop-idle 20s --wait\n' "$GPU"
instance=$(as_renter rent --gpu "$GPU" --name first --stop-idle 20s --wait --json | json id)
echo "$instance"
run renter show "$instance"

say "training a small network in it (scripts/demo/train.py)"
run renter cp scripts/demo/train.py "$instance:/workspace/train.py"
printf '\n$ suanli exec %s -- python3 /workspace/train.py\n' "$instance"
as_renter exec "$instance" -- python3 /workspace/train.py --seconds 18 </dev/null &
training=$!
for _ in 1 2; do
    sleep 6
    run renter top "$instance" --once
done
wait "$training" || fail "the training program failed"

say "nothing goes on in it any more: the idle rule will stop it in about 20 s"
wait_for_state "$instance" stopped 120
run renter why "$instance"

say "what it cost, down to the seconds and the proof for them"
run renter bill --explain
say "the operator recomputes all books"
run operator audit

say "giving it back"
run renter release "$instance"
wait_for_state "$instance" released 60
instance=

if [ "${ONCE:-}" = 1 ]; then
    say "ONCE=1: stopping the server"
    stop_server
    say "done"
    exit 0
fi

# Shortcuts, so that a person can go on where the demonstration ended.
for who in renter operator; do
    printf '#!/bin/sh\nexport SUANLI_URL="%s" XDG_CONFIG_HOME="%s"\nexec "%s" "$@"\n' "$URL" "$DATA/$who" "$BIN" >"$DATA/as-$who"
    chmod +x "$DATA/as-$who"
done
short=${DATA#"$ROOT/"}
cat <<END

The server stays up on $URL (process $SERVER). Try:
    $short/as-renter offers
    $short/as-renter rent --gpu "$GPU" --wait
    $short/as-renter ssh ID
    $short/as-renter bill
    $short/as-operator node ls
Stop it with: make demo-stop
END
