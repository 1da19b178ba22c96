#!/bin/sh
# SPDX-License-Identifier: MIT
# check_oclgrind.sh CLBENCH MEMORY LIST MODE FILE [RAN]: clbench verify on each line of FILE inside Oclgrind; a line is
# a case, and options if it needs any. FILE - stands for what operators' files have under [MODE]
# (bench/cases/op_lists.h). Oclgrind exits with 0 whatever it finds: its log has to be empty, and clbench content.
# MEMORY is the library made of oclgrind_memory.c, which says why it is needed; LIST that of list_kernels.c: RAN becomes
# a file with a line for each kernel and each case that enqueued it.
#
#   races     data races, accesses out of bounds, use of the API. The list has the suite smoke's operators, options and
#             ways through the kernels, at sizes that a simulator gets through. It has no gradients of max and min, as
#             the simulator makes 255 of a true lane in optimised code (zext of vectors); memory has them
#   memory    uninitialised values, too, of which the check crashes on vectors' .even (rows of stride 2 in CPU kernels):
#             those are in races alone
#   planted   the same on kernels with mistakes, FILE being the folder of the kernels: each has to be found
#
# Every buffer is memory of its own (pooled_memory=0): one that was used before would count as initialised, and what
# passes the end of a small buffer would still be inside its block.
#
# Uninitialised values are looked for without optimisation: Oclgrind 21.10 has no shadow for all that LLVM's optimiser
# writes (freeze). Nor may functions be inlined, which makes copies of structs that crash the check: -Dalways_inline=
# takes the attribute away. The other checks need neither, and take a quarter of the time on optimised code.
set -u
clbench=$1
memory=$2
list=$3
mode=$4
from=$5
ran=${6:-/dev/null}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HUSK_LIMITS="pooled_memory=0"
# Binaries are not kept: Husk's key knows nothing of --build-options, so one check would be handed the other's code.
export HUSK_CACHE=0
races="--data-races --check-api"
unoptimised="-cl-opt-disable -Dalways_inline="
uninitialised="$races --uninitialized"

# simulate "CHECKS" "CASE": clbench's status; $work/log is Oclgrind's log.
simulate() {
    : > "$work/log"
    checks=$1 case=$2
    shift 2
    case "$checks" in
    *uninitialized*) set -- --build-options "$unoptimised" ;;
    esac
    # shellcheck disable=SC2016,SC2086 # the inner shell's variables; words
    HUSK_TEST_KERNELS=$work/kernels \
        oclgrind $checks "$@" --log "$work/log" sh -c 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$memory:$list" \
        "$clbench" verify $case --device oclgrind --quiet --max-time 900s > "$work/out" 2> "$work/err" < /dev/null
}

# A line a case: each in a run, and so a log, of its own. The slowest are named: what the tier's time is made of.
check_cases() {
    if [ "$from" = - ]; then
        "$clbench" --generate "$mode"
    else
        cat "$from"
    fi | grep -E '^[a-z]' > "$work/cases"
    : > "$ran"
    while IFS= read -r line; do
        : > "$work/kernels"
        # Matrix engines by plain arithmetic. Of AMX' probe the check of uninitialised values finds things that are not
        # there.
        case "$1:$line" in
        *:*"--variant matrix"*) export HUSK_ENGINES=soft_nv_mma ;;
        "$races":*) export HUSK_ENGINES=soft_amx ;;
        *) unset HUSK_ENGINES ;;
        esac
        began=$(date +%s)
        simulate "$1" "$line" || { echo "failed: $line"; cat "$work/out" "$work/err"; status=1; }
        if [ -s "$work/log" ] || grep -q Oclgrind "$work/err"; then
            echo "Oclgrind has something to say: $line"
            head -n 100 "$work/log"
            cat "$work/err"
            status=1
        fi
        sort -u "$work/kernels" >> "$ran"
        echo "$(($(date +%s) - began)) s: $line" >> "$work/times"
    done < "$work/cases"
    echo "$(wc -l < "$work/cases") cases; the slowest:"
    sort -rn "$work/times" | head -n 12
    [ -s "$work/cases" ] || status=1
}

# plant FILE "SED" "CHECKS" "CASE" "WHAT": the changed kernel makes Oclgrind say WHAT.
plant() {
    rm -rf "$work/cl"
    cp -R "$from" "$work/cl"
    sed -i "$2" "$work/cl/$1"
    if cmp -s "$from/$1" "$work/cl/$1"; then
        echo "$1 has nothing that '$2' would change: the planted mistake is out of date"
        status=1
        return
    fi
    HUSK_KERNEL_DIR="$work/cl" simulate "$3" "$4"
    if ! grep -q "$5" "$work/log"; then
        echo "a planted mistake was not found: $1, $2"
        cat "$work/out" "$work/err"
        status=1
    fi
}

status=0
case "$mode" in
races) check_cases "$races" ;;
memory) check_cases "$uninitialised" ;;
planted)
    plant softmax/workgroup.cl 's/barrier(CLK_LOCAL_MEM_FENCE);//' "$races" \
        "softmax outer=3 axis=37 --variant workgroup" "data race"
    plant lib/map_vector.clh 's/of(load_vf_part)((p) + (i), n)/of(load_vf_part)((p) + (i) + 1, n)/' "$races" \
        "activation count=70 act=relu --variant vector" "Invalid read"
    plant lib/tile.clh 's/(j)\] = (vf)(0.0f);/(j)];/' "$uninitialised" \
        "gemm m=7 n=9 k=11 --variant packed" "Uninitialized value"
    ;;
*) exit 2 ;;
esac
exit $status
