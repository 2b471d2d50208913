#!/usr/bin/env bash
# test.sh: builds the workspace and runs every test; the counts come last.
# FAST=1 leaves PostgreSQL, Incus, the sandbox and the end-to-end tests out.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

profile=default
[ -z "${CI:-}" ] || profile=ci
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say "building everything"
scripts/console.sh
cargo build --workspace --locked
cargo nextest run --workspace --locked --no-run

around=(scripts/with-postgres.sh)
selection=()
if [ "$(id -u)" = 0 ]; then
    around+=(scripts/with-incus.sh --members 3)
else
    say "NOT ROOT: no Incus can be started here, so its tests are skipped (counted below)"
    selection=(-E 'not test(/incus/)')
fi
if [ "${FAST:-}" = 1 ]; then
    say "FAST=1: SQLite only, without the sandbox and end-to-end tests"
    export FAST
    around=()
    # The integration tests of the program and of the agent start real instances.
    selection=(-E 'not (test(/sandbox|e2e|incus/) | (kind(test) & package(/^suanli(-agent|-e2e)?$/)))')
else
    unset FAST
fi

status=0
"${around[@]}" cargo nextest run --workspace --locked --profile "$profile" --color never \
    "${selection[@]}" 2>&1 | tee "$log" || status=$?

say "the console by itself"
NO_COLOR=1 FORCE_COLOR=0 scripts/console.sh test 2>&1 | tee -a "$log" || status=$?

say "examples in the documentation"
cargo test --workspace --locked --doc --quiet 2>&1 | tee -a "$log" |
    sed -E '/^$|^running 0 tests$|^test result: ok\. 0 passed/d' || status=$?

# nextest: "Summary [ 1.2s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 3 skipped"
# rustdoc: "test result: ok. 1 passed; 0 failed; 0 ignored; …"
# vitest: "     Tests  1 failed | 30 passed | 2 skipped (33)"
awk '
    function number(line, word) {
        return match(line, "[0-9]+ " word) ? substr(line, RSTART, RLENGTH) + 0 : 0
    }
    /Summary \[/ || /^test result:/ || /^ +Tests +[0-9]/ {
        passed += number($0, "passed")
        failed += number($0, "failed") + number($0, "timed out") + number($0, "exec failed")
        skipped += number($0, "skipped") + number($0, "ignored")
    }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$log"
exit "$status"
