#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_completions.sh CLBENCH SOURCE: the manual's page, the completions and tables of the documentation are what
# clbench makes of its tables of commands, options and operators; bash offers every option, suite, operator and key.
# check_completions.sh --update CLBENCH SOURCE writes them.
set -euo pipefail
update=false
if [ "$1" = --update ]; then
    update=true
    shift
fi
clbench=$1
root=$2

fail() {
    echo "$*"
    exit 1
}

# same PAGE FILE: the file that is kept is what is made now.
same() {
    if $update; then "$clbench" --generate "$1" > "$root/$2"; fi
    made=$("$clbench" --generate "$1"; echo end)
    kept=$(cat "$root/$2"; echo end)
    [ "$made" = "$kept" ] || fail "$2 is not what the table makes: clbench --generate $1 > $2"
}

# inside PAGE FILE: among the lines of FILE, between the one that PAGE begins with and an empty one, is PAGE.
inside() {
    "$clbench" --generate "$1" > "$work/made"
    # Without CLBlast the library does not know the variant that has it.
    grep -q '`clblast`' "$work/made" || sed -i 's/^\(| gemm .*`\) |$/\1, `clblast` |/' "$work/made"
    awk -v made="$work/made" '
        BEGIN { getline first < made; close(made) }
        $0 == first && !is_found { is_found = is_inside = 1; while ((getline line < made) > 0) { print line } }
        !NF { is_inside = 0 }
        !is_inside { print }
        END { exit !is_found }' "$root/$2" > "$work/kept" || fail "$2 has no table that begins as $1 does"
    if $update; then cp "$work/kept" "$root/$2"; fi
    cmp -s "$work/kept" "$root/$2" || {
        diff "$root/$2" "$work/kept" || true
        fail "$2 has not the table that clbench --generate $1 makes: check_completions.sh --update"
    }
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
same man docs/clbench.1
same bash bench/completions/clbench
same zsh bench/completions/_clbench
# What clbench leaves with is said in one place: the help, the manual's page and the documentation say the same.
exits=$("$clbench" --generate exit-codes)
inside exit-codes docs/clbench.md
inside cases docs/clbench.md
inside operators docs/operators.md
help=$("$clbench" compare --help)
page=$(sed 's/\\-/-/g' "$root/docs/clbench.1")
count=0
while IFS='|' read -r _ _ text _; do
    line=$(sed 's/^ *//; s/ *$//' <<< "$text")
    grep -qF -- "$line" <<< "$help" || fail "the help says something else than '$line'"
    grep -qiF -- "$line." <<< "$page" || fail "the manual's page says something else than '$line'"
    count=$((count + 1))
done <<< "$(tail -n +3 <<< "$exits")"
[ "$count" -ge 9 ] || fail "only $count exit codes"
if "$clbench" --generate nonsense > /dev/null 2>&1; then fail "--generate takes any word"; fi

# shellcheck source=/dev/null
. "$root/bench/completions/clbench"

offers() { # offers WORD...: what is offered for the last of them
    COMP_WORDS=("$clbench" "$@")
    COMP_CWORD=$#
    _clbench
    printf '%s\n' "${COMPREPLY[@]}"
}

count=0
for command in run verify tune list devices doctor overhead compare history report roofline; do
    grep -qx -- "$command" <<< "$(offers "$command")" || fail "bash does not offer $command"
    "$clbench" "$command" --help | grep -q "^  clbench $command " ||
        fail "clbench $command --help does not say how it is used"
    for option in $("$clbench" "$command" --help | grep -oE '^ +(-[a-zA-Z])? +--[a-z0-9-]+' |
        grep -oE -- '--[a-z0-9-]+'); do
        grep -qx -- "$option" <<< "$(offers "$command" "$option")" || fail "bash does not offer $option to $command"
        count=$((count + 1))
    done
done
[ "$count" -ge 80 ] || fail "only $count options were found in the helps of all commands"
grep -qx standard <<< "$(offers run --suite "")" || fail "bash does not offer the suites"
grep -qx conv <<< "$(offers run co)" || fail "bash does not offer the operators"
grep -qx axis= <<< "$(offers run softmax outer=1 ax)" || fail "bash does not offer the keys"
grep -qx f16 <<< "$(offers run --dtype f)" || fail "bash does not offer values"
if grep -qx -- --digests <<< "$(offers run --dig)"; then fail "bash offers run what only verify has"; fi
echo "$count options"
