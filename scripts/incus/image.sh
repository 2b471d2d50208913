#!/usr/bin/env bash
# image.sh: prints the folder that holds the images of the tests, and makes them first
# when they are not there. No image server is asked: Debian's mirror is enough.
#
#   debian  a small Debian 12 with systemd, iproute2 and busybox
#   tiny    busybox alone, which starts several times faster
#
# Both ask for their address by DHCP, as the images do that operators use.
# Each is a pair NAME.tar.xz (Incus's metadata) and NAME.squashfs (the root). They lie
# in .tools/images, or in SUANLI_CACHE, under a name that changes with this file.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/../env.sh"

cache=${SUANLI_CACHE:-$TOOLS/images}
folder=$cache/$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-12)

# metadata NAME DESCRIPTION: what Incus wants to know of an image.
metadata() {
    local name=$1
    mkdir "$work/$name"
    # No templates: so nothing in an image changes when an instance starts.
    printf '%s\n' "architecture: $(uname -m)" 'creation_date: 1735689600' 'properties:' \
        "  description: $2" "  os: $name" '  release: test' >"$work/$name/metadata.yaml"
    tar -cJf "$work/made/$name.tar.xz" -C "$work/$name" metadata.yaml
}

# squash NAME: standard input, a tar, becomes the root. zstd: what unpacks it is the
# start of a test's first instance on each member.
squash() { tar2sqfs --quiet --force --compressor zstd "$work/made/$1.squashfs"; }

# lease: asks for the address. Not systemd-networkd, which waits for udev, which is large.
lease() {
    printf '%s\n' '#!/bin/sh' 'ip link set eth0 up' '[ "$1" = bound ] || exit 0' \
        'ip address add "$ip/$mask" dev eth0' \
        '[ -z "$router" ] || ip route add default via "${router%% *}"' >"$work/lease"
    chmod 755 "$work/lease"
    printf '%s\n' '[Unit]' 'ConditionPathExists=/sys/class/net/eth0' '[Service]' \
        'ExecStart=/bin/busybox udhcpc -q -i eth0 -s /usr/local/sbin/lease' \
        '[Install]' 'WantedBy=multi-user.target' >"$work/lease.service"
}

# A machine that has Debian 12's mirror goes on using that one; else mmdebstrap knows.
debian() {
    local mirror
    # shellcheck disable=SC2016 # apt expands these
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Codename: bookworm' 'Component: main' | head -n 1)
    # The hooks leave out what no test reads and every start would unpack.
    mmdebstrap --quiet --variant=minbase \
        --include=systemd-sysv,dbus,iproute2,busybox-static \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/info/*' \
        --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
        --customize-hook='rm -f "$1"/etc/hostname "$1"/etc/machine-id && : >"$1"/etc/machine-id' \
        --customize-hook="copy-out /bin/busybox $work" \
        --customize-hook="copy-in $work/lease /usr/local/sbin" \
        --customize-hook="copy-in $work/lease.service /etc/systemd/system" \
        --customize-hook='chroot "$1" systemctl enable --quiet lease.service' \
        --customize-hook='chroot "$1" systemctl mask --quiet systemd-udevd.service \
            systemd-journald-audit.socket dev-hugepages.mount sys-kernel-config.mount \
            sys-kernel-debug.mount apt-daily.timer apt-daily-upgrade.timer \
            e2scrub_all.timer e2scrub_reap.service getty.target' \
        bookworm - ${mirror:+"$mirror"} >"$work/debian.tar"
    metadata debian "Debian 12 for tests"
    squash debian <"$work/debian.tar"
}

tiny() {
    local root=$work/root
    mkdir -p "$root"/{bin,sbin,etc,dev,proc,sys,root,tmp,run,var,workspace}
    chmod 1777 "$root/tmp"
    cp "$work/busybox" "$root/bin/busybox"
    local applet
    while read -r applet; do
        [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
    done < <("$work/busybox" --list)
    # Not busybox's own init, which takes four seconds to stop. A shell gathers the
    # orphans as well, and the instance ends with it at once.
    printf '%s\n' '#!/bin/sh' "trap 'exit 0' PWR INT TERM" 'ip link set lo up' \
        '[ ! -e /sys/class/net/eth0 ] || udhcpc -q -i eth0 -s /bin/lease &' \
        'while :; do sleep 86400 & wait $!; done' >"$root/sbin/init"
    cp "$work/lease" "$root/bin/lease"
    chmod 755 "$root/sbin/init"
    printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\n' >"$root/etc/group"
    metadata tiny "busybox for tests"
    tar -c --numeric-owner --owner=0 --group=0 -C "$root" . | squash tiny
}

# finish: not an "if" around the work, in which bash would go on after an error.
finish() {
    local status=$?
    if [ $status != 0 ]; then
        tail -n 30 "$work/log" >&2
        printf 'error: the images of the tests could not be made\n' >&2
    fi
    rm -rf "$work"
    exit $status
}

mkdir -p "$cache"
# Two runs that start together: the second waits and finds the work done.
exec 9>"$cache/lock"
flock 9
if [ ! -d "$folder" ]; then
    # Also what a killed one left.
    rm -rf "$cache"/work.*
    work=$(mktemp -d "$cache/work.XXXXXX")
    trap finish EXIT
    mkdir "$work/made"
    say "making the images of the tests, once (about a minute)" >&2
    { lease; debian; tiny; } 9>&- >"$work/log" 2>&1
    mv "$work/made" "$folder"
fi
printf '%s\n' "$folder"
