#!/bin/sh
# SPDX-License-Identifier: MIT
# check_planted.sh TIER PROGRAM [CL]: what a tier looks with finds planted mistakes, with the tier's own options and
# suppressions (the environment that CTest gives, check_valgrind.sh), and has nothing to say of a sound program. PROGRAM
# is planted_race, for tsan, or planted_memory; CL, for valgrind, is the folder of the kernels.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tier=$1
program=$2
kernels=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
status=0

try() { # try HOW
    case "$tier" in
    asan) "$here/check_leaks.sh" "$program" "$1" ;; # as every program of the tier
    valgrind) "$here/check_valgrind.sh" "$program" "$1" ;;
    *) "$program" "$1" ;;
    esac > "$out" 2>&1
}

wrong() {
    echo "$*"
    cat "$out"
    status=1
}

find_it() { # find_it HOW STATUS "WHAT"...: the exit status, and what the report says, all of it
    how=$1 expected=$2 found=0
    shift 2
    try "$how" || found=$?
    [ "$found" -eq "$expected" ] || wrong "$tier, $how: exit status $found instead of $expected"
    for what in "$@"; do
        grep -q "$what" "$out" || wrong "$tier, $how: not said: $what"
    done
}

plant_read() { # plant_read NUMBERS: the last, partial vector is read so many numbers too far
    rm -rf "$work/cl"
    cp -R "$kernels" "$work/cl"
    sed -i "s/of(load_vf_part)((p) + (i), n)/of(load_vf_part)((p) + (i) + $1, n)/" "$work/cl/lib/map_vector.clh"
    cmp -s "$kernels/lib/map_vector.clh" "$work/cl/lib/map_vector.clh" &&
        wrong "lib/map_vector.clh has nothing to plant the mistake in: the test is out of date"
}

find_it sound 0 ': done'
case "$tier" in
tsan)
    race='WARNING: ThreadSanitizer: data race'
    find_it threads 66 "$race" 'SUMMARY: .*planted_race.c:.* in touch_number'
    find_it queue 66 "$race" 'SUMMARY: .*/src/runtime/.* in husk__'
    find_it event 66 "$race" 'SUMMARY: .*planted_race.c:.* in touch_number' ' event_ended '
    find_it memory 66 "$race" 'SUMMARY: .*planted_race.c:.* in touch_number' ' memory_ended '
    ;;
asan)
    find_it end 1 'ERROR: AddressSanitizer: heap-buffer-overflow' 'planted_memory.c'
    find_it freed 1 'ERROR: AddressSanitizer: heap-use-after-free' 'planted_memory.c'
    find_it overflow 1 'planted_memory.c:.*: runtime error: signed integer overflow'
    grep -q ': done' "$out" && wrong "asan: a signed overflow does not end the program"
    find_it lost 1 'ERROR: LeakSanitizer: detected memory leaks' ' 40 byte(s) leaked in 1 allocation'
    ;;
valgrind)
    find_it end 1 'Invalid read of size 4' ' 0 bytes after a block of size 40'
    find_it freed 1 'Invalid read of size 4' ' inside a block of size 40 free'
    find_it uninitialised 1 'Conditional jump or move depends on uninitialised value'
    find_it lost 1 ' 40 bytes in 1 blocks are definitely lost'
    # A kernel, with the limits that operators' programs have there: PoCL's blocks are multiples of 128 bytes; what is
    # read of the rest of one is uninitialised, and the 28th number on is outside.
    HUSK_LIMITS=pooled_memory=0
    export HUSK_LIMITS
    find_it kernel 0 ': done'
    HUSK_KERNEL_DIR=$work/cl
    export HUSK_KERNEL_DIR
    plant_read 1
    find_it kernel 1 'Conditional jump or move depends on uninitialised value'
    plant_read 28
    find_it kernel 1 'Invalid read of size' ' _pocl_kernel_husk_activation_vector'
    ;;
*) exit 2 ;;
esac
exit "$status"
