#!/usr/bin/env bash
# with-postgres.sh CMD…: runs CMD beside a private PostgreSQL that ends with it.
# CMD finds its address in SUANLI_TEST_POSTGRES. No cluster of the machine is
# touched; the data lie in a temporary folder and are not flushed to disk.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
[ $# -gt 0 ] || fail "no command given" "with-postgres.sh CMD [ARG…]"

bin=$(printf '%s\n' /usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)
[ -x "$bin" ] || fail "PostgreSQL's server programs are missing" "scripts/setup.sh test"
bin=${bin%/postgres}

# Not TMPDIR: the database runs as another user, who must be able to get there.
folder=$(mktemp -d /tmp/suanli-postgres.XXXXXX)
server=

finish() {
    local status=$?
    trap - EXIT INT TERM HUP
    if [ -n "$server" ]; then
        # INT asks PostgreSQL for a fast shutdown: it ends sessions and exits.
        kill -INT "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# PostgreSQL refuses to run as root.
drop=()
if [ "$(id -u)" = 0 ]; then
    user=postgres
    id -u $user >/dev/null 2>&1 || user=nobody
    chown "$user" "$folder"
    drop=(--reuid "$user" --regid "$(id -g $user)" --clear-groups)
fi

# A password even on loopback: other users of the machine can reach the port.
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
(umask 022 && printf '%s\n' "$password" >"$folder/password")
if ! (cd / && exec setpriv --pdeathsig INT "${drop[@]}" "$bin/initdb" -D "$folder/data" \
    -U suanli --pwfile "$folder/password" --auth scram-sha-256 --encoding UTF8 --no-locale \
    --no-sync) >"$folder/initdb.log" 2>&1; then
    cat "$folder/initdb.log" >&2
    fail "initdb failed"
fi
rm "$folder/password"

# start PORT: true once our own server answers there.
start() {
    # setsid, so that Ctrl-C ends the tests before their database; pdeathsig,
    # so that it ends even when this script is killed outright.
    (cd / && exec setsid setpriv --pdeathsig INT "${drop[@]}" "$bin/postgres" \
        -D "$folder/data" -p "$1" -k "$folder" -c listen_addresses=127.0.0.1 \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
        -c max_connections=200) >"$folder/server.log" 2>&1 </dev/null &
    server=$!
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if ! kill -0 "$server" 2>/dev/null; then
            wait "$server" 2>/dev/null || true
            server=
            return 1
        fi
        # The socket lies in our folder, so whoever answers on it is ours.
        if "$bin/pg_isready" -q -h "$folder" -p "$1"; then return 0; fi
        sleep 0.05
    done
    return 1
}

for attempt in 1 2 3 4 5; do
    # Below the range that the kernel hands to outgoing connections.
    port=$((10000 + RANDOM % 20000))
    if start "$port"; then break; fi
    if [ "$attempt" = 5 ]; then
        cat "$folder/server.log" >&2
        fail "PostgreSQL did not start"
    fi
done

PGPASSWORD=$password "$bin/psql" -q -h "$folder" -p "$port" -U suanli -d postgres \
    -c 'CREATE DATABASE suanli'
say "PostgreSQL $("$bin/postgres" --version | awk '{ print $3 }') for this run on 127.0.0.1:$port"
export SUANLI_TEST_POSTGRES="postgres://suanli:$password@127.0.0.1:$port/suanli"
# In the foreground: a background command would ignore Ctrl-C, and so would
# every program that a test starts.
status=0
"$@" || status=$?
exit "$status"
