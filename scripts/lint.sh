#!/usr/bin/env bash
# lint.sh: formatting, clippy, shell scripts, dependencies, house rules.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

say "house rules"
scripts/check-house.sh
say "shell scripts"
shellcheck -x -S warning scripts/*.sh scripts/incus/*.sh .ci/run
say "formatting"
cargo fmt --all --check
say "dependencies: licences, bans, sources"
cargo deny --locked --log-level error check bans licenses sources

# The advisory database is a git repository of its own. It is fetched only when
# asked, so that this command also works, and says the truth, without internet.
database=${CARGO_HOME:-$HOME/.cargo}/advisory-dbs
if [ "${ADVISORIES:-}" = fetch ]; then
    cargo deny --locked check advisories
elif [ -n "$(ls -A "$database" 2>/dev/null || true)" ]; then
    cargo deny --locked check --disable-fetch advisories
else
    say "NOT CHECKED: known security holes in dependencies (no advisory database here)."
    say "             Run 'make lint ADVISORIES=fetch' on a machine with internet."
fi

say "the console"
scripts/console.sh lint
if [ "${ADVISORIES:-}" = fetch ]; then
    (cd web && npm audit --omit=dev --audit-level=high)
fi

say "clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings
say "lint: all well"
