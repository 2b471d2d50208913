#!/usr/bin/env bash
# build.sh: builds the suanli program in PROFILE (dev unless told otherwise).
# The console, the helper inside instances and the fake NVML library are built with it.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

PROFILE=${PROFILE:-dev}
scripts/console.sh
cargo build --locked -p suanli --profile "$PROFILE"
say "built $(binary "$PROFILE" suanli)"
