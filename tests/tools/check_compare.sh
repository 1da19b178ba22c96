#!/bin/sh
# SPDX-License-Identifier: MIT
# check_compare.sh CLBENCH LIBRARY COUNT [FOLDER]: what clbench compare makes of this machine's noise. COUNT times: two
# runs of the same build must come out without a regression (exit code 0), and against a run whose GEMM takes 15% longer
# (LIBRARY, of slow_gemm.c, is preloaded; SLOW_GEMM in the environment is another percentage) the code must be 4 and the
# verdict must name gemm. One in twenty of each may fail.
#
# What is slower is looked for where the machine was quiet: not where a quarter of a run's rounds or more had other work
# beside them, which the run tells by its sentinel, whatever compare makes of it. Where that was half of the pairs, and
# nothing else was wrong, the test is skipped (77).
#
# The runs are on one thread, so that other work on the machine finds another core; they are kept in FOLDER, if it is
# given, and those that are there already are not made again. MEASURE is put before each run, such as a lock that keeps
# other measurements away.
set -eu
clbench=$1
slow=$2
count=$3
folder=${4:-$(mktemp -d)}
mkdir -p "$folder"
[ $# -ge 4 ] || trap 'rm -rf "$folder"' EXIT

# Short ones, so that a sample is of many runs, and an operator has several.
cases="gemm m=128 n=768 k=768 gemm m=256 n=256 k=256 gemm m=64 n=1024 k=512 gemm m=16 n=1024 k=1024
conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1 conv c=128 h=28 w=28 k=128 r=1 s=1 conv c=32 h=28 w=28 k=64 r=3 s=3 stride=2
softmax outer=1536 axis=128 pool c=64 h=56 w=56 r=2 s=2 activation count=393216 act=gelu"

measure() { # measure FILE [ENVIRONMENT]
    [ -s "$1" ] && return
    # shellcheck disable=SC2086 # words
    ${MEASURE:-} env POCL_MAX_PTHREAD_COUNT=1 POCL_CPU_MAX_CU_COUNT=1 ${2:-A=} \
        "$clbench" run --no-history --quick --budget 0 --rounds 5 --baseline none -q --json "$1.new" $cases > "$1.txt"
    mv "$1.new" "$1"
}

compare() { # compare OLD NEW CODE WORDS: what came out wrong is said
    code=0
    "$clbench" compare "$1" "$2" > "$folder/compare.txt" || code=$?
    # The last paragraph: the verdict, and what to run to know more.
    verdict=$(awk '/^$/ { text = "" } { text = text $0 " " } END { print text }' "$folder/compare.txt")
    echo "$code $(basename "$1" .json) $(basename "$2" .json): $verdict"
    [ "$code" = "$3" ] && printf '%s' "$verdict" | grep -q "$4"
}

is_quiet() { # of the 50 rounds of either run that were compared last, less than a quarter ran beside other work
    beside=$(tr '\n' ' ' < "$folder/compare.txt" |
        sed -n 's/.*something else ran: \([0-9]*\) of the old, *\([0-9]*\) of the new.*/\1 \2/p')
    beside=${beside:-0 0} # where there were none, nothing is said
    [ "${beside% *}" -lt 13 ] && [ "${beside#* }" -lt 13 ]
}

same=0 slower=0 quiet=0 at=1
measure "$folder/same-0.json"
while [ "$at" -le "$count" ]; do
    measure "$folder/same-$at.json"
    measure "$folder/slow-$at.json" "LD_PRELOAD=$slow"
    compare "$folder/same-$((at - 1)).json" "$folder/same-$at.json" 0 '' && same=$((same + 1))
    found=0
    compare "$folder/same-$at.json" "$folder/slow-$at.json" 4 'Slower:.*gemm' && found=1
    if is_quiet; then
        quiet=$((quiet + 1))
        slower=$((slower + found))
    fi
    at=$((at + 1))
done
echo "the same build: no regression in $same of $count"
echo "GEMM ${SLOW_GEMM:-15}% slower: found in $slower of the $quiet pairs on a quiet machine"
[ $((count - same)) -le $((count / 20)) ] && [ $((quiet - slower)) -le $((count / 20)) ] || exit 1
[ $((2 * quiet)) -ge "$count" ] || {
    echo "Skipped: in half of the pairs or more, other work ran beside a quarter of a run's rounds."
    exit 77
}
