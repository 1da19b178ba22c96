#!/bin/sh
# SPDX-License-Identifier: MIT
# check_verify.sh CLBENCH SUITE   every variant against the reference on this platform's device: nothing wrong, nothing
#                                 that ended with an error, and something that is right. What is refused is counted.
# Says which device and driver that was: a figure of the tier.
set -eu
clbench=$1 suite=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$clbench" devices --json > "$work/devices.json"
code=0
"$clbench" verify --suite "$suite" > "$work/said.txt" || code=$?
cat "$work/said.txt"
counts=$(tail -n 1 "$work/said.txt")
if [ -n "${HUSK_TIER_FIGURES:-}" ]; then
    device=$(head -n 1 "$work/said.txt" | sed 's/: [0-9]* cases.*//')
    driver=$(sed -n 's/.*"driver": *"\([^"]*\)".*/\1/p' "$work/devices.json" | sort -u | tr '\n' ' ')
    printf 'device=%s\ndrivers here=%s\nverified=%s\n' "$device" "${driver% }" "$counts" >> "$HUSK_TIER_FIGURES"
fi
case "$counts" in
0\ configurations\ right*) echo "nothing was right"; exit 1 ;;
esac
exit "$code"
