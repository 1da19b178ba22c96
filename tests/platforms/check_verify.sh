#!/bin/sh
# SPDX-License-Identifier: MIT
# check_verify.sh CLBENCH SUITE   every variant against the reference on this platform's device: nothing wrong, nothing
#                                 that ended with an error, and something that is right. What is refused is counted.
# Says which drivers are here.
set -eu
clbench=$1 suite=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$clbench" devices --json > "$work/devices.json"
code=0
"$clbench" verify --suite "$suite" > "$work/said.txt" || code=$?
cat "$work/said.txt"
counts=$(tail -n 1 "$work/said.txt")
echo "drivers here: $(sed -n 's/.*"driver": *"\([^"]*\)".*/\1/p' "$work/devices.json" | sort -u | tr '\n' ' ')"
case "$counts" in
0\ configurations\ right*) echo "nothing was right"; exit 1 ;;
esac
exit "$code"
