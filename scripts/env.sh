# shellcheck shell=bash
# Sourced by every script here: where things are, and how they speak.
# Everything that the scripts install for the project alone lies in .tools/.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.tools
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
export PATH="$TOOLS/bin:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin:$PATH"

# setup.sh leaves this file when the machine's default Rust is too old.
if [ -z "${RUSTUP_TOOLCHAIN:-}" ] && [ -f "$TOOLS/toolchain" ]; then
    RUSTUP_TOOLCHAIN=$(cat "$TOOLS/toolchain")
    export RUSTUP_TOOLCHAIN
fi

# say SENTENCE: one line about what happens next.
say() { printf '==> %s\n' "$*"; }

# fail SENTENCE [WHAT-TO-DO]: ends the script.
fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf ' hint: %s\n' "$2" >&2
    exit 1
}

# binary PROFILE NAME: path of a built program (cargo calls the folder of its
# dev profile "debug").
binary() {
    local folder=$1
    [ "$folder" != dev ] || folder=debug
    printf '%s/%s/%s\n' "$TARGET" "$folder" "$2"
}
