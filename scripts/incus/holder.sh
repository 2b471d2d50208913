#!/usr/bin/env bash
# holder.sh CGROUP READY: the "machine" of one member. It is started in new mount and
# network namespaces, makes /sys fit them, and holds them open: a daemon may then be
# killed and started again, and finds its pool mounted and its containers as they were.
# READY is a file made when all is set up.
set -euo pipefail
# shellcheck source=scripts/incus/run.sh
source "$(dirname "$0")/run.sh"

ready=$2
mapfile -t mounts < <(hierarchies_of "$1")
# /sys shows the network of the namespace that mounted it, so a new one is needed; it
# hides the cgroups, without which no instance starts.
security=$(findmnt -rn -t securityfs -o TARGET | head -n 1 || true)
links=$(find /sys/fs/cgroup -maxdepth 1 -type l -printf '%f %l\n')
old=$(mktemp -d "$RUNS/${1%%/*}/pid/cgroups.XXXXXX")
mount --rbind /sys/fs/cgroup "$old"
mount -t sysfs sysfs /sys
[ -z "$security" ] || mount -t securityfs securityfs /sys/kernel/security
[ "$(findmnt -rn -o FSTYPE "$old")" = cgroup2 ] || mount -t tmpfs -o mode=755 cgroups /sys/fs/cgroup
for line in "${mounts[@]}"; do
    IFS=$'\t' read -r mount parent _ <<<"$line"
    mkdir -p "$mount"
    # What the daemon takes for the root of a hierarchy is the member's own cgroup. Not
    # by a cgroup namespace: Incus reads where process 1 is, which would lie outside.
    mount --bind "$old${parent#/sys/fs/cgroup}/$1" "$mount"
done
umount -R -l "$old"
rmdir "$old"
while read -r name goal; do
    [ -z "$name" ] || ln -s "$goal" "/sys/fs/cgroup/$name"
done <<<"$links"
# Copies of what others on this machine hold open, who think it gone when they let go.
findmnt -rn -t nsfs -o TARGET | while read -r mount; do umount -l "$mount"; done || true
# Daemons look for an image server by name. Without a name server they learn at once
# that there is none, instead of after ten seconds.
[ ! -e /etc/resolv.conf ] || mount --bind /dev/null /etc/resolv.conf
ip link set lo up
: >"$ready"
exec sleep infinity
