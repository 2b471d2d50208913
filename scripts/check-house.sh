#!/usr/bin/env bash
# check-house.sh: rules of this repository that no other tool checks.
# Looks at every file that git has or would take.
set -euo pipefail
# shellcheck source=scripts/env.sh
source "$(dirname "$0")/env.sh"
cd "$ROOT"

broken=0
# broke RULE: reads the offenders, one a line; any line breaks the rule.
broke() {
    local lines
    lines=$(cat)
    [ -n "$lines" ] || return 0
    printf 'house rule broken: %s\n' "$1" >&2
    printf '%s\n' "$lines" | sed 's/^/    /' >&2
    broken=1
}

listed=$(git ls-files --cached --others --exclude-standard)
mapfile -t files < <(while read -r file; do
    # A deleted file is listed until the deletion is committed.
    [ ! -f "$file" ] || printf '%s\n' "$file"
done <<<"$listed")
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '^crates/.*\.rs$')

broke "a source file has at most 600 lines: split it by noun" < <(
    wc -l "${sources[@]}" | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }')

# Dots stand in brackets so that this file does not name them either.
hosts='(index|static)[.]crates[.]io|pypi[.]org|pythonhosted[.]org|registry[.]npmjs[.]org|(deb|security)[.]debian[.]org|archive[.]ubuntu[.]com'
broke "no file names a package registry's host: clients know where to go" < <(
    grep -nIE "$hosts" -- "${files[@]}" | cut -c1-160 || true)
broke "no file names a path of one person's machine" < <(
    grep -nIE '(^|[^[:alnum:]_.~/}-])/(wor[k]|tmp/[h])/' -- "${files[@]}" | cut -c1-160 || true)

broke "every test runs: no ignored tests" < <(grep -nE '#\[ignore' -- "${sources[@]}" || true)

broke "every crate takes the workspace's lints" < <(
    for manifest in crates/*/Cargo.toml; do
        grep -A1 '^\[lints\]' "$manifest" | grep -q '^workspace = true' || echo "$manifest"
    done)

# Law: the pure crates know no I/O, no async, no clock and no randomness.
broke "a pure crate depends on nothing that does I/O, async or randomness" < <(
    for crate in domain billing placement advisor; do
        [ -f "crates/$crate/Cargo.toml" ] || continue
        sed -n '/^\[dependencies\]/,/^\[dev-dependencies\]/p' "crates/$crate/Cargo.toml" |
            grep -nE '^(tokio|futures|sqlx|reqwest|hyper|axum|rand|rustix|libc|store|link|engine|control)\b' |
            sed "s|^|crates/$crate: |" || true
    done)

broke "a file that every reader expects is missing" < <(
    for file in README.md README.zh-CN.md CONTRIBUTING.md CHANGELOG.md LICENSE Cargo.lock; do
        [ -f "$file" ] || echo "$file"
    done)
broke "README.md and README.zh-CN.md have the same sections" < <(
    if [ -f README.md ] && [ -f README.zh-CN.md ]; then
        english=$(grep -c '^## ' README.md || true)
        chinese=$(grep -c '^## ' README.zh-CN.md || true)
        [ "$english" = "$chinese" ] || echo "$english sections in English, $chinese in Chinese"
    fi)

broke "a script can be run and stops at its first error" < <(
    for script in scripts/*.sh scripts/incus/*.sh .ci/run; do
        case $script in scripts/env.sh | scripts/server.sh | scripts/incus/run.sh) continue ;; esac
        [ -x "$script" ] || echo "$script: not executable"
        grep -q '^set -euo pipefail' "$script" || echo "$script: no 'set -euo pipefail'"
    done)

exit $broken
