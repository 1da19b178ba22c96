#!/bin/sh
# SPDX-License-Identifier: MIT
# check_kernels.sh run CL LIST CLBENCH SUITE   every kernel that the folder CL has is enqueued at least once while
#                                              CLBENCH verifies SUITE; LIST is the library made of list_kernels.c
# check_kernels.sh count CL TIMES FILE...      the FILEs, a line for each kernel and each case that enqueued it, have
#                                              every kernel at least TIMES times
#
# A kernel that nothing runs is a kernel that nobody has checked: give the operator's file, bench/cases/FAMILY/NAME.txt,
# a case that takes it under [smoke], and under the simulator's [races] and [memory].
set -eu
LC_ALL=C
export LC_ALL
mode=$1
folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The names of all kernels in the sources: the first function after each __kernel. What the runtime itself runs
# (cl/runtime/: is a feature there?) has its tests in tests/runtime.
# Those of engines alone are met in simulation, by soft ones; where the device has no engine the suite meets none
# (tests/ops/test_*_amx.c and test_*_matrix.c do).
case "$mode" in
run) amx='*cpu_matrix.cl' matrix='*/quantized/gemm_matrix.cl' async='*/async.cl' ;;
*) amx='none' matrix='none' async='none' ;;
esac
# shellcheck disable=SC2046 # names of files, without blanks
awk 'FNR == 1 { is_kernel = 0 }
     /__kernel/ { is_kernel = 1 }
     is_kernel && match($0, /void husk_[a-z0-9_]+/) { print substr($0, RSTART + 5, RLENGTH - 5); is_kernel = 0 }' \
    $(find "$folder" -name '*.cl' ! -path '*/runtime/*' ! -name "$amx" ! -path "$matrix" ! -path "$async") |
    sort -u > "$work/all"
count=$(wc -l < "$work/all")
[ "$count" -ge 100 ] || { echo "only $count kernels were found in $folder"; exit 1; }

case "$mode" in
run)
    : > "$work/ran"
    preload="$3:${LD_PRELOAD:-}"
    "$4" list --suite "$5" > "$work/cases" # a file's alone are verified, a suite's with generated ones beside them
    HUSK_TEST_KERNELS=$work/ran LD_PRELOAD=$preload "$4" verify --file "$work/cases" --quiet > "$work/out" 2>&1 || {
        cat "$work/out"
        exit 1
    }
    least=1
    ;;
count)
    least=$3
    shift 3
    cat "$@" > "$work/ran"
    ;;
*) exit 2 ;;
esac

# Macros make kernels, too: those that the programs said they have.
sed -n 's/^has //p' "$work/ran" | grep '^husk_' | grep -v '^husk_runtime_' | sort -u - "$work/all" > "$work/every"
grep -v '^has ' "$work/ran" | sort | uniq -c | awk '{ print $2, $1 }' > "$work/times"
join -a 1 -e 0 -o 0,2.2 "$work/every" "$work/times" | awk -v least="$least" '
    $2 < least { print $1 " was enqueued " $2 " times, " least " are asked for"; few++ }
    END { print NR " kernels, " few + 0 " of them too seldom"; exit few > 0 }'
