# shellcheck shell=bash
# Sourced by with-incus.sh and its helpers: what belongs to a run, and how it ends.
#
# A run is a folder /var/tmp/suanli-incus.PID.START and, in each cgroup hierarchy, a
# cgroup of the same name. Every process of the run is in it, the instances' as well, so
# nothing has to be searched by name. Its network and mount namespaces are held open by
# processes and have no names: with the last process they are gone, and with them the
# bridges, the mounts and the loop devices.

RUNS=/var/tmp

# hierarchies: MOUNT, PARENT and OPTIONS of each cgroup hierarchy, with tabs between
# them. PARENT is where a run makes its cgroup: with version 1 below our own, so that a
# limit set for us holds for the run too; version 2 allows children only to a cgroup
# without processes, and the root is the one that surely may have them.
hierarchies() {
    local controllers path mount option
    while IFS=: read -r _ controllers path; do
        if [ -z "$controllers" ]; then
            mount=$(findmnt -rn -t cgroup2 -o TARGET | head -n 1 || true)
            [ -z "$mount" ] || printf '%s\t%s\t%s\n' "$mount" "$mount" cgroup2
            continue
        fi
        option=${controllers%%,*}
        mount=$(findmnt -rn -t cgroup -O "$option" -o TARGET | head -n 1 || true)
        [ -n "$mount" ] || continue
        [ -d "$mount$path" ] || path=
        printf '%s\t%s\t%s\n' "$mount" "$mount${path%/}" "$controllers"
    done </proc/self/cgroup
}

# hierarchies_of PATH: as its run wrote them down, since who ends the run, or starts a
# daemon in it, may be in other cgroups than who began it.
hierarchies_of() { cat "$RUNS/${1%%/*}/hierarchies" 2>/dev/null || hierarchies; }

# make_cgroup PATH: in every hierarchy, below the parent, for example RUN/n1/daemon.
make_cgroup() {
    local parent options part folder file
    while IFS=$'\t' read -r _ parent options; do
        folder=$parent
        for part in ${1//\// }; do
            folder=$folder/$part
            mkdir -p "$folder"
            # A new cpuset is empty and takes no process until it is filled.
            [[ $options == *cpuset* ]] || continue
            for file in cpuset.cpus cpuset.mems; do
                [ -n "$(<"$folder/$file")" ] ||
                    cat "$folder/../$file" >"$folder/$file"
            done
        done
    done < <(hierarchies_of "$1")
}

# move PID PATH: that process, and what it starts from now on, goes there.
move() {
    local parent
    while IFS=$'\t' read -r _ parent _; do
        printf '%s\n' "$1" >"$parent/$2/cgroup.procs"
    done < <(hierarchies_of "$2")
}

# offer_controllers PATH: version 2 alone: lets the children of PATH have limits.
offer_controllers() {
    local parent options folder part controller
    while IFS=$'\t' read -r _ parent options; do
        [ "$options" = cgroup2 ] || continue
        folder=$parent
        for part in '' ${1//\// }; do
            folder=$folder${part:+/$part}
            for controller in $(<"$folder/cgroup.controllers"); do
                printf '+%s\n' "$controller" >"$folder/cgroup.subtree_control"
            done
        done
    done < <(hierarchies_of "$1")
}

# processes PATH [EXCEPT]: those in PATH and below, without those in PATH/EXCEPT.
processes() {
    local parent
    while IFS=$'\t' read -r _ parent _; do
        [ -d "$parent/$1" ] || continue
        # A cgroup may go while find looks at it.
        { find "$parent/$1" ${2:+-path "$parent/$1/$2" -prune -o} -name cgroup.procs \
            -exec cat {} + || true; } 2>/dev/null
    done < <(hierarchies_of "$1") | sort -un
}

# end_processes PATH [EXCEPT]: kills them all and waits until they are gone.
end_processes() {
    local pids tries
    # Again and again: one that was just starting is seen in the next round.
    for ((tries = 0; tries < 1000; tries++)); do
        mapfile -t pids < <(processes "$@")
        [ ${#pids[@]} -gt 0 ] || return 0
        kill -KILL "${pids[@]}" 2>/dev/null || true
        sleep 0.02
    done
    printf 'error: processes of a test cluster do not end: %s\n' "${pids[*]}" >&2
    return 1
}

# remove_cgroup PATH: with everything below it, deepest first.
remove_cgroup() {
    local parent
    while IFS=$'\t' read -r _ parent _; do
        [ -d "$parent/$1" ] || continue
        find "$parent/$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done < <(hierarchies_of "$1")
}

# end_run NAME: the whole run, whatever state it is in. Safe to do twice, and at once.
end_run() {
    local name=$1 device file
    end_processes "$name" || true
    remove_cgroup "$name"
    # The kernel detaches a loop device with its last mount; one that was attached and
    # not yet mounted when its daemon was killed stays.
    while read -r device file; do
        [[ $file != "$RUNS/$name/"* ]] || losetup -d "$device" 2>/dev/null || true
    done < <(losetup -ln -O NAME,BACK-FILE 2>/dev/null || true)
    rm -rf --one-file-system "${RUNS:?}/${name:?}" || true
}

# started PID: when it started, in clock ticks since boot, which tells it from a later
# process with the same number. Nothing for one that is dead but not gathered.
started() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    # The name in the second field may hold blanks and parentheses.
    awk '$1 !~ /[ZX]/ { print $20 }' <<<"${stat##*) }"
}

# alive NAME: whether the script of that run still runs.
alive() {
    local pid=${1#suanli-incus.}
    pid=${pid%%.*}
    [ "$1" = "suanli-incus.$pid.$(started "$pid")" ]
}

# sweep: ends the runs whose script was killed.
sweep() {
    local entry name parent
    # Who may write to the folder of all must not choose what root kills.
    for entry in "$RUNS"/suanli-incus.*.*; do
        [ -d "$entry" ] && [ ! -L "$entry" ] && [ -O "$entry" ] || continue
        name=${entry##*/}
        alive "$name" || end_run "$name"
    done
    # The folder may have been removed by hand.
    while IFS=$'\t' read -r _ parent _; do
        for entry in "$parent"/suanli-incus.*.*; do
            [ -d "$entry" ] || continue
            name=${entry##*/}
            alive "$name" || end_run "$name"
        done
    done < <(hierarchies)
}
