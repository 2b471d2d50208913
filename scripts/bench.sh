#!/usr/bin/env bash
# bench.sh: runs every program in bench/cases/ and keeps their figures.
# A case prints JSON lines (name, value, unit; peer, peer_value, ratio, runs and
# note where there are any) on standard output and what it likes on the other.
# It finds the program to measure in SUANLI_BIN.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

results=bench/results.jsonl
mapfile -t cases < <(find bench/cases -maxdepth 1 -type f -executable 2>/dev/null | sort)
[ ${#cases[@]} -gt 0 ] || fail "there is no benchmark in bench/cases/ yet" "add an executable file there"

PROFILE=release scripts/build.sh
SUANLI_BIN=$(binary release suanli)
export SUANLI_BIN

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
broken=0
for case in "${cases[@]}"; do
    say "$case"
    "$case" >>"$fresh" || { printf 'error: %s failed\n' "$case" >&2; broken=1; }
done

# Checked before it replaces the figures of the run before.
python3 - "$fresh" <<'END'
import json, sys

rows = [json.loads(line) for line in open(sys.argv[1]) if line.strip()]
for row in rows:
    missing = [key for key in ("name", "value", "unit") if key not in row]
    if missing:
        sys.exit(f"error: a figure lacks {', '.join(missing)}: {row}")
wide = max([len(row["name"]) for row in rows] + [4])
print(f"{'what':{wide}}  {'value':>14}  {'unit':10}  {'peer':16}  {'ratio':>7}")
for row in rows:
    ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
    print(f"{row['name']:{wide}}  {row['value']:>14}  {row['unit']:10}  {row.get('peer', ''):16}  {ratio:>7}")
END
cp "$fresh" "$results"
say "figures are in $results"
exit $broken
