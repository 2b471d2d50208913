#!/usr/bin/env bash
# bench.sh [CASE…]: measures the release build and keeps the figures in
# bench/results.jsonl, one JSON object a line (bench/README.md says what they
# mean). The cases are rent, offers, memory, settle, backup, failover, restarts,
# sim, console and flood; all of them if none is named.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

results=bench/results.jsonl
say "building (the first time takes some minutes)"
scripts/console.sh
cargo build --locked --release -p suanli -p suanli-bench -p suanli-sim
SUANLI_BIN=$(binary release suanli)
SUANLI_SIM_BIN=$(binary release suanli-sim)
export SUANLI_BIN SUANLI_SIM_BIN

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
broken=0
scripts/with-postgres.sh "$(binary release suanli-bench)" "$@" | tee "$fresh" >/dev/null || broken=1

# Checked before it replaces the figures of the run before.
python3 - "$fresh" <<'END'
import json, sys

# with-postgres.sh says where its database is on the same output.
rows = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
if not rows:
    sys.exit("error: nothing was measured")
for row in rows:
    missing = [key for key in ("name", "value", "unit", "runs") if key not in row]
    if missing:
        sys.exit(f"error: a figure lacks {', '.join(missing)}: {row}")
with open(sys.argv[1], "w") as file:
    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
wide = max(len(row["name"]) for row in rows)
print(f"{'what':{wide}}  {'value':>12}  {'unit':10}  {'peer':14}  {'its value':>12}  {'ratio':>7}")
for row in rows:
    peer = f"{row['peer_value']:>12}" if "peer_value" in row else " " * 12
    ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
    print(f"{row['name']:{wide}}  {row['value']:>12}  {row['unit']:10}  {row.get('peer', ''):14}  {peer}  {ratio:>7}")
END
cp "$fresh" "$results"
say "figures are in $results"
exit $broken
