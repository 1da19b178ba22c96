#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_completions.sh CLBENCH SOURCE: bash offers every option and suite, and zsh's file knows every option.
set -euo pipefail
clbench=$1
folder=$2/bench/completions
# shellcheck source=/dev/null
. "$folder/clbench"

offers() { # offers WORD...: what is offered for the last of them
    COMP_WORDS=("$clbench" "$@")
    COMP_CWORD=$#
    _clbench
    printf '%s\n' "${COMPREPLY[@]}"
}

fail() {
    echo "$*"
    exit 1
}

count=0
for option in $("$clbench" --help | grep -oE '^ +(-[a-zA-Z])? +--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    grep -qx -- "$option" <<< "$(offers run "$option")" || fail "bash does not offer $option"
    grep -q -- "$option\\b" "$folder/_clbench" || fail "zsh's file lacks $option"
    count=$((count + 1))
done
[ "$count" -ge 15 ] || fail "only $count options were found in clbench --help"
grep -qx verify <<< "$(offers ver)" || fail "bash does not complete commands"
grep -qx standard <<< "$(offers run --suite "")" || fail "bash does not offer the suites"
grep -qx conv <<< "$(offers run co)" || fail "bash does not offer the operators"
echo "$count options"
