#!/bin/sh
# SPDX-License-Identifier: MIT
# check_swept.sh ROOT: every function of the ABI's records that answers a status is under test in a sweep of faults (by
# SWEPT and its like, or as swept_call), or is called by one of clbench's operators, which are swept by
# tests/bench/test_fault_sweep.c, or not_swept.txt says why not.
set -eu
cd "$1"
exceptions=tests/structure/not_swept.txt
swept=$(grep -rhoE 'SWEPT[A-Z_]*\(husk_[a-z0-9_]+|swept_call = [^;]*"husk_[a-z0-9_]+"' tests/runtime tests/machine \
    tests/select tests/train | grep -oE 'husk_[a-z0-9_]+' | sort -u)
failed=0

fail() {
    echo "$1"
    failed=1
}

is_swept() {
    printf '%s\n' "$swept" | grep -qx "$1" || grep -qwr "$1" bench/cases
}

functions=$(cat tests/structure/husk.abi tests/structure/husk_train.abi |
    sed -n 's/^function husk_status \(husk_[a-z0-9_]*\)(.*/\1/p')
count=0
for function in $functions; do
    count=$((count + 1))
    reason=$(sed -n "s/^$function: *//p" "$exceptions")
    if is_swept "$function"; then
        [ -z "$reason" ] || fail "$function: not_swept.txt has it, and a sweep calls it"
    elif [ -z "$reason" ]; then
        fail "$function: no sweep of faults calls it, and not_swept.txt does not say why"
    fi
done
for function in $(sed -n 's/^\(husk_[a-z0-9_]*\):.*/\1/p' "$exceptions"); do
    printf '%s\n' "$functions" | grep -qx "$function" || fail "$function: not_swept.txt has it, and the ABI has not"
done
[ "$count" -gt 0 ] || fail "the records of the ABI have no function that answers a status"
[ "$failed" -ne 0 ] || echo "swept or excepted: $count functions that answer a status"
exit "$failed"
