#!/bin/sh
# SPDX-License-Identifier: MIT
# check_same_bits.sh CLBENCH SUITE: every variant gives the same bits with one thread and with two, and in two processes
# that compute at the same time and so disturb each other.
#
# The device says that it has one compute unit in all of them, so that it is the same computation that is compared.
set -eu
clbench=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HUSK_LIMITS="compute_units=1"
"$clbench" list --suite "$2" > "$work/cases" # a suite itself would have generated ones beside them

digests() { # digests NAME THREADS
    POCL_MAX_PTHREAD_COUNT=$2 POCL_CPU_MAX_CU_COUNT=$2 \
        "$clbench" verify --file "$work/cases" --digests "$work/$1" --quiet > "$work/$1.out" 2>&1
}

fail() {
    cat "$work/$1.out"
    exit 1
}

digests one 1 || fail one
digests two 2 &
first=$!
digests loaded 2 || fail loaded
wait $first || fail two

count=$(wc -l < "$work/one")
[ "$count" -ge 200 ] || { echo "only $count results"; exit 1; }
# Variants agree to the bit where they only move numbers; cases do not.
different=$(cut -f 3 "$work/one" | sort -u | wc -l)
[ "$different" -ge $((count / 4)) ] || { echo "only $different different digests among $count"; exit 1; }
for other in two loaded; do
    if ! cmp -s "$work/one" "$work/$other"; then
        echo "these differ from one thread's:"
        diff "$work/one" "$work/$other" | head -n 20
        exit 1
    fi
done
echo "$count results, $different different ones, each with the same bits three times"
