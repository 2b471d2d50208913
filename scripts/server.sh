# shellcheck shell=bash
# Sourced after env.sh by demo.sh and soak.sh: a server of our own, driven
# through the public command line only. Needs DATA, PORT and BIN.
#
#   $DATA/data      the server's data          $DATA/serve.log   what it says
#   $DATA/serve.pid its process                $DATA/operator    log-in of the operator
#                                              $DATA/renter      log-in of the renter
# Two log-ins lie apart from a person's own, so a demonstration changes neither.

# These are read by the scripts that source this file.
# shellcheck disable=SC2034
URL=http://127.0.0.1:$PORT

# as_operator ARG…, as_renter ARG…: the command line in one of the two roles.
as_operator() { SUANLI_URL=$URL XDG_CONFIG_HOME=$DATA/operator "$BIN" "$@"; }
as_renter() { SUANLI_URL=$URL XDG_CONFIG_HOME=$DATA/renter "$BIN" "$@"; }

# json FIELD…: one value out of the JSON on standard input; absent is empty.
json() {
    python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = value[int(key)] if isinstance(value, list) else (value or {}).get(key)
print("" if value is None else value)' "$@"
}

# served_by PID: whether that process is the server of this DATA.
served_by() {
    [ -n "$1" ] && [ -r "/proc/$1/cmdline" ] &&
        tr '\0' '\n' 2>/dev/null <"/proc/$1/cmdline" | grep -qxF -- "$DATA/data"
}

running_server() {
    local pid
    pid=$(cat "$DATA/serve.pid" 2>/dev/null || true)
    if served_by "$pid"; then printf '%s\n' "$pid"; fi
}

has_gpus() {
    compgen -G '/dev/nvidia[0-9]*' >/dev/null || compgen -G '/proc/driver/nvidia/gpus/*' >/dev/null
}

port_is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; }

# start_server [ARG…]: starts `suanli serve` and waits until it is ready.
start_server() {
    local tries
    [ -z "$(running_server)" ] ||
        fail "the server of $DATA runs already (process $(running_server))" "make demo-stop"
    ! port_is_taken || fail "port $PORT on 127.0.0.1 is taken by another program" \
        "choose another one: make demo PORT=$((PORT + 1))"
    mkdir -p "$DATA"
    # Its own session: Ctrl-C in this terminal is not meant for it, and it holds
    # none of our pipes open.
    # The demonstration leaves nothing of its own in /etc.
    SUANLI_SECRET_KEY_FILE="$DATA/secret.key" setsid "$BIN" serve --allow-no-isolation \
        --data "$DATA/data" --listen "127.0.0.1:$PORT" "$@" \
        >"$DATA/serve.log" 2>&1 </dev/null &
    SERVER=$!
    printf '%s\n' "$SERVER" >"$DATA/serve.pid"
    for ((tries = 0; tries < 300; tries++)); do
        kill -0 "$SERVER" 2>/dev/null || server_failed "the server ended while it started"
        if curl -fsS --max-time 5 -o /dev/null "$URL/readyz" 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    server_failed "the server was not ready within 30 s"
}

server_failed() {
    printf -- '--- last lines of %s\n' "$DATA/serve.log" >&2
    tail -n 30 "$DATA/serve.log" >&2
    fail "$1" "the lines above say why; 'suanli doctor' checks the host"
}

# stop_server: asks the server of this DATA to end, by its process id, and waits.
stop_server() {
    local pid tries
    pid=$(running_server)
    [ -n "$pid" ] || return 0
    kill -TERM "$pid"
    for ((tries = 0; tries < 300; tries++)); do
        if ! served_by "$pid"; then
            rm -f "$DATA/serve.pid"
            return 0
        fi
        sleep 0.1
    done
    fail "the server (process $pid) did not end within 30 s" "look into $DATA/serve.log"
}

# log_in ROLE USER PASSWORD: saves a log-in; ROLE is operator or renter.
log_in() { printf '%s\n' "$3" | "as_$1" login "$URL" --user "$2" --password-stdin; }

# log_in_operator: with the one-time password of the first start, once.
log_in_operator() {
    local file=$DATA/data/first-login.txt user password
    if as_operator whoami >/dev/null 2>&1; then return 0; fi
    [ -r "$file" ] || fail "no saved log-in of the operator and no $file" \
        "remove $DATA, or choose another folder with DATA="
    user=$(sed -nE 's/^user[ :=]+//p' "$file")
    password=$(sed -nE 's/^password[ :=]+//p' "$file")
    log_in operator "$user" "$password"
}

# make_renter NAME MONEY: an account with money, and its first user logged in, once.
make_renter() {
    local made
    if as_renter whoami >/dev/null 2>&1; then return 0; fi
    made=$(as_operator account create "$1" --json)
    as_operator account topup "$(json account id <<<"$made")" "$2"
    log_in renter "$(json user <<<"$made")" "$(json password <<<"$made")"
}

# state_of INSTANCE
state_of() { as_renter show "$1" --json | json state; }

# wait_for_state INSTANCE STATE SECONDS
wait_for_state() {
    local tries state=
    for ((tries = 0; tries < $3 * 2; tries++)); do
        state=$(state_of "$1")
        if [ "$state" = "$2" ]; then return 0; fi
        sleep 0.5
    done
    as_renter why "$1" >&2 || true
    fail "$1 is '$state' and did not become '$2' within $3 s"
}

# first_offer: the cheapest GPU model that is free and has a price.
first_offer() {
    as_renter offers --json | python3 -c '
import json, sys
free = [o for o in json.load(sys.stdin)["offers"] if o["free"] > 0 and o.get("on_demand")]
print(free[0]["gpu"] if free else "")'
}
