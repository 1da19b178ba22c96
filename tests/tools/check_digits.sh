#!/bin/sh
# SPDX-License-Identifier: MIT
# check_digits.sh MODE PROGRAM [MEMORY]: the example that learns handwritten digits.
#
#   short     forty steps: two runs of one seed have the same parameters, to the bit, another seed has others; the log
#             has a row, and the loss has fallen; wrong arguments are refused
#   whole     seeds 1, 2 and 3: 98.5% of the held-out images in 60 seconds of two cores at most; of seed 1 two runs are
#             the same to the bit
#   oclgrind  ten steps of small batches in the simulator, whose log has to be empty; MEMORY is the library made of
#             oclgrind_memory.c
set -u
mode=$1
program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

complain() {
    echo "$1"
    status=1
}

case "$mode" in
short)
    for wrong in "--dtype f8" "--steps many" "--batch -1" "--epochs 3" "--seed"; do
        # shellcheck disable=SC2086 # an option and its value
        "$program" $wrong 2> "$work/err"
        [ $? -eq 2 ] && grep -q -e 'no whole number' -e '--log FILE' "$work/err" || complain "$wrong is not refused"
    done
    "$program" --seed 1 --steps 40 --log "$work/log" > "$work/first" || complain "the first run fails"
    "$program" --seed 1 --steps 40 > "$work/second" || complain "the second run fails"
    "$program" --seed 2 --steps 40 > "$work/third" || complain "the third run fails"
    cat "$work/first" "$work/log"
    grep -q '^40 steps, parameters [0-9a-f]\{16\}$' "$work/first" || complain "there is no digest of the parameters"
    cmp "$work/first" "$work/second" || complain "two runs of one seed are not the same"
    cmp -s "$work/first" "$work/third" && complain "the seed does not matter"
    # Chance is ln 10 = 2.3.
    awk '!/^#/ { rows++; loss = $2 } END { exit !(rows == 1 && loss > 0 && loss < 2) }' "$work/log" ||
        complain "the loss has not fallen"
    ;;
whole)
    for seed in 1 2 3; do
        began=$(date +%s)
        "$program" --seed $seed > "$work/$seed" || complain "seed $seed knows too few"
        seconds=$(($(date +%s) - began))
        cat "$work/$seed"
        echo "$seconds s"
        [ $seconds -le 60 ] || complain "seed $seed took longer than 60 s"
    done
    "$program" --seed 1 > "$work/again"
    cmp "$work/1" "$work/again" || complain "two runs of one seed are not the same"
    ;;
oclgrind)
    memory=$3
    # shellcheck disable=SC2016 # the inner shell's variables
    HUSK_LIMITS="pooled_memory=0" HUSK_CACHE=0 HUSK_DEVICE=oclgrind \
        oclgrind --data-races --check-api --log "$work/log" sh -c 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$memory" \
        "$program" --steps 10 --batch 4 > "$work/out" 2> "$work/err" || complain "it fails"
    cat "$work/out"
    grep -q '^10 steps' "$work/out" || complain "there were no ten steps"
    if [ -s "$work/log" ] || grep -q Oclgrind "$work/err"; then
        complain "Oclgrind has something to say"
        head -n 100 "$work/log"
    fi
    [ $status -eq 0 ] || cat "$work/err"
    ;;
*) exit 2 ;;
esac
exit $status
