#!/bin/sh
# SPDX-License-Identifier: MIT
# check_planted.sh RANDOM_CALLS CL: a mistake that only some sizes meet, planted in a copy of the kernels, is found by
# random calls and made as small as it can be; without it nothing is found; and the same seed makes the same calls.
set -eu
program=$1
kernels=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Rows of 37 and more are a quarter too large.
cp -R "$kernels" "$work/cl"
sed -i 's|(row, length, 0.0f, 1.0f / sum|(row, length, 0.0f, (length > 36 ? 1.25f : 1.0f) / sum|' \
    "$work/cl/softmax/rows.cl"
if cmp -s "$kernels/softmax/rows.cl" "$work/cl/softmax/rows.cl"; then
    echo "softmax/rows.cl has nothing to plant the mistake in: the test is out of date"
    exit 1
fi

calls() { # calls FILE: a fixed number of them
    "$program" --op softmax --seed 1 --calls 400 --findings 1 > "$work/$1" 2> "$work/err"
}

status=0
calls sound || { echo "found in sound kernels:"; cat "$work/sound" "$work/err"; status=1; }
if HUSK_KERNEL_DIR="$work/cl" calls first; then
    echo "the planted mistake was not found"
    status=1
fi
HUSK_KERNEL_DIR="$work/cl" calls second || true
if ! grep -q '^finding: clbench verify softmax outer=1 axis=37 ' "$work/first"; then
    echo "the planted mistake was not made as small as it is:"
    status=1
fi
cat "$work/first" "$work/err"
grep -v ' s$' "$work/first" > "$work/one"
grep -v ' s$' "$work/second" > "$work/two"
cmp "$work/one" "$work/two" || { echo "the same seed makes other calls"; status=1; }
exit "$status"
