#!/bin/sh
# SPDX-License-Identifier: MIT
# check_literals.sh ROOT: in src/ops no function that predicts a cost has a number without a name, but 0, 1 and 2
# (literals.awk). Numbers of a machine come from husk__machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
files=$(find src/ops -name '*.c' | sort)
[ -n "$files" ] || { echo "there is nothing in src/ops"; exit 1; }
# shellcheck disable=SC2086 # names without blanks
found=$(awk -f "$here/literals.awk" $files)
if [ -n "$found" ]; then
    echo "$found"
    echo "Name it, with a comment that says what it is, or take it from the machine (src/machine/machine.h)."
    exit 1
fi
echo "every number of a cost has a name: $(printf '%s\n' "$files" | wc -l) files"
