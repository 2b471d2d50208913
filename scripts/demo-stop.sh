#!/usr/bin/env bash
# demo-stop.sh: ends the server that `make demo` left running. The data stay.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

PORT=${PORT:-8080}
DATA=$(realpath -m "${DATA:-.demo}")
# shellcheck source=scripts/server.sh
source scripts/server.sh

pid=$(running_server)
[ -n "$pid" ] || { say "no server of $DATA is running"; exit 0; }
stop_server
say "stopped the server (process $pid); its data stay in $DATA"
