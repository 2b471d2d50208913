#!/usr/bin/env bash
# console.sh [TASK]: builds the console into web/dist, where the server's build
# finds it; does nothing when nothing has changed. With TASK (test or lint) it runs
# that task of web/package.json instead.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT/web"

# What is installed follows the lock file, to the byte.
if ! cmp -s package-lock.json node_modules/.installed; then
    say "installing what the console is built from"
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.installed
fi
if [ $# -gt 0 ]; then
    npm run --silent "$1"
    exit
fi

# The sources as one number: times of files say nothing in a fresh clone.
sources=$(git ls-files -co --exclude-standard . | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum)
if [ "$sources" != "$(cat node_modules/.built 2>/dev/null)" ] || [ ! -f dist/index.html ]; then
    say "building the console"
    npm run --silent build
    printf '%s\n' "$sources" >node_modules/.built
fi
