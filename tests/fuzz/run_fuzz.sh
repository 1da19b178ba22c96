#!/bin/sh
# SPDX-License-Identifier: MIT
# run_fuzz.sh run NAME PROGRAM ENGINE FOUND         one target
# run_fuzz.sh calls NAME PROGRAM ENGINE FOUND       random calls
# run_fuzz.sh results all PROGRAMS ENGINE FOUND     what the programs of a folder have been through:
#                                                   fuzz-results.json beside FOUND
#
# A target makes HUSK_FUZZ_RUNS executions (a million), random calls go on for HUSK_FUZZ_SECONDS (120). Or there is a
# sum to reach, to which all that this very program has done before counts: HUSK_FUZZ_UNTIL executions,
# HUSK_FUZZ_UNTIL_CALLS calls; HUSK_FUZZ_PIECE ends each after so many seconds (libFuzzer's targets and the calls), and
# what is missing then is another run's (exit status 77).
#
# FOUND/corpus is kept from run to run; FOUND/findings has the inputs that ended a program. Every run adds a line to
# FOUND/runs.txt: tree, name, engine, executions, findings, seconds, a hash of the program (and of what makes another
# device or other variants: tests/tools/other_device.sh), and when it began (UTC).
set -eu
export POCL_SIGFPE_HANDLER=0 # a whole number divided by zero is a finding (cmake/HuskTests.cmake)
here=$(cd "$(dirname "$0")" && pwd)
action=$1 name=$2 program=$3 engine=$4 found=$5
mkdir -p "$found/corpus" "$found/findings"

# What is measured is the tree that is checked out; with changes it has no name.
tree() {
    git -C "$here" rev-parse 'HEAD^{tree}' 2>/dev/null || echo unknown
}
changed() {
    [ -z "$(git -C "$here" status --porcelain 2>/dev/null)" ] || echo +
}

hash_of() {
    printf '%s%s\n' "$(sha256sum "$1" | cut -c 1-16)" "$("$here/../tools/other_device.sh")"
}

note() { # note EXECUTIONS FINDINGS SECONDS
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(tree)$(changed)" "$name" "$engine" "$1" "$2" "$3" \
        "$(hash_of "$program")" "$began" >> "$found/runs.txt"
}

check_number() { # check_number VARIABLE: 1e7 is 1 to libFuzzer
    value=$(printenv "$1" || true)
    case "$value" in
    *[!0-9]* | 0) echo "$1=$value is no number in digits, from 1 on"; exit 2 ;;
    esac
}

# What this program has done. One that had a finding begins anew: what it had stood was not enough.
sum_of_runs() {
    touch "$found/runs.txt"
    sort -s -t "$(printf '\t')" -k 8,8 "$found/runs.txt" |
        awk -F '\t' -v name="$name" -v hash="$(hash_of "$program")" '
            $2 == name && $7 == hash { sum = $5 > 0 ? 0 : sum + $4 }
            END { printf "%d\n", sum }'
}

nothing_to_do() { # nothing_to_do WANTED, of what this program has done in all
    before=$(sum_of_runs)
    [ "$before" -ge "$1" ] || return 1
    echo "$name: this program has done $before, and $1 are wanted"
}

begin() {
    began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    start=$(date +%s)
    log=$found/$name.log
    result=0
}

# What is left of the work was cut off by HUSK_FUZZ_PIECE.
is_a_piece() {
    [ -n "${HUSK_FUZZ_PIECE:-}" ] && [ "$seconds" -ge "$HUSK_FUZZ_PIECE" ]
}

run() {
    runs=${HUSK_FUZZ_RUNS:-1000000}
    if [ -n "${HUSK_FUZZ_UNTIL:-}" ]; then
        ! nothing_to_do "$HUSK_FUZZ_UNTIL" || exit 0
        runs=$((HUSK_FUZZ_UNTIL - before))
    fi
    # Inputs are small and many, and a finding is run again: one frame of a stack and a small quarantine are enough.
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:malloc_context_size=1:quarantine_size_mb=1:detect_stack_use_after_return=0"
    mkdir -p "$found/corpus/$name"
    begin
    if [ "$engine" = libFuzzer ]; then
        # shellcheck disable=SC2086 # options are words
        "$program" -runs="$runs" ${HUSK_FUZZ_PIECE:+-max_total_time="$HUSK_FUZZ_PIECE"} -dict="$here/$name.dict" \
            -artifact_prefix="$found/findings/$name-" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
            -verbosity=1 ${HUSK_FUZZ_OPTIONS:-} "$found/corpus/$name" "$here/seeds/$name" > "$log" 2>&1 || result=$?
    else
        "$program" -runs="$runs" -seed="$start" -input="$found/findings/$name-last" "$here/seeds/$name" > "$log" 2>&1 ||
            result=$?
    fi
    seconds=$(($(date +%s) - start))
    done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    findings=0
    [ "$result" -eq 0 ] || findings=1
    note "${done:-0}" "$findings" "$seconds"
    echo "$name: ${done:-0} executions in $seconds s, $engine"
    # libFuzzer's own exit status for a finding is 77, by which another run is to go on.
    [ "$result" -eq 0 ] || { tail -n 60 "$log"; echo "$name: exit status $result"; exit 1; }
    if [ "${done:-0}" -lt "$runs" ] && [ -z "${HUSK_FUZZ_OPTIONS:-}" ]; then
        ! is_a_piece || exit 77
        tail -n 60 "$log"
        echo "$name: it ended before its $runs executions"
        exit 1
    fi
}

calls() {
    set -- --seconds "${HUSK_FUZZ_SECONDS:-120}"
    if [ -n "${HUSK_FUZZ_UNTIL_CALLS:-}" ]; then
        if [ -n "${HUSK_FUZZ_SEED:-}" ]; then
            echo "HUSK_FUZZ_SEED makes the same calls again, which do not add up to HUSK_FUZZ_UNTIL_CALLS"
            exit 2
        fi
        ! nothing_to_do "$HUSK_FUZZ_UNTIL_CALLS" || exit 0
        set -- --calls $((HUSK_FUZZ_UNTIL_CALLS - before)) ${HUSK_FUZZ_PIECE:+--seconds "$HUSK_FUZZ_PIECE"}
    fi
    begin
    "$program" --seed "${HUSK_FUZZ_SEED:-$start}" "$@" > "$log" 2>&1 || result=$?
    seconds=$(($(date +%s) - start))
    done=$(sed -n 's/^calls: *//p' "$log")
    findings=$(grep -c '^finding: ' "$log") || true
    case $result in # 3: somebody has stopped it
    0 | 3) ;;
    *) [ "$findings" -gt 0 ] || findings=1 ;;
    esac
    note "${done:-0}" "$findings" "$seconds"
    tail -n 60 "$log"
    [ "$result" -eq 0 ] || { echo "$name: exit status $result"; exit 1; }
    if [ -n "${HUSK_FUZZ_UNTIL_CALLS:-}" ] && [ "$((before + ${done:-0}))" -lt "$HUSK_FUZZ_UNTIL_CALLS" ]; then
        ! is_a_piece || exit 77
        echo "$name: it ended before its calls"
        exit 1
    fi
}

# One object a program, with all that it has been through.
results() {
    : > "$found/sums.txt"
    for program in "$program"/fuzz_* "$program"/random_calls; do
        if ! [ -x "$program" ] || ! [ -f "$program" ]; then
            continue
        fi
        name=$(basename "$program")
        name=${name#fuzz_}
        awk -F '\t' -v name="$name" -v hash="$(hash_of "$program")" -v engine="$engine" '
            $2 == name && $7 == hash { runs += $4; findings += $5; seconds += $6; engine = $3 }
            END { printf "%s\t%s\t%s\t%d\t%d\t%d\n", name, engine, hash, runs, findings, seconds }
        ' "$found/runs.txt" >> "$found/sums.txt"
    done
    awk -F '\t' -v tree="$(tree)" -v changed="$(changed)" '
        BEGIN {
            printf "{\"tree\": \"%s\", \"changed\": %s,\n \"targets\": [", tree, changed ? "true" : "false"
        }
        {
            printf "%s\n  {\"name\": \"%s\", \"engine\": \"%s\", \"program\": \"%s\", ", (NR > 1 ? "," : ""), $1, $2, $3
            printf "\"executions\": %d, \"findings\": %d, \"seconds\": %d}", $4, $5, $6
        }
        END { print "\n ]}" }' "$found/sums.txt" > "$found/../fuzz-results.json"
    cat "$found/../fuzz-results.json"
    awk -F '\t' '
        $1 == "random_calls" { calls += $4 }
        $1 != "random_calls" { runs += $4; targets++; engine = $2; least = targets == 1 || $4 < least ? $4 : least }
        { findings += $5 }
        END {
            printf "engine=%s\ntargets=%d\nexecutions=%d\nleast of a target=%d\n", engine, targets, runs, least
            printf "calls=%d\nfindings=%d\n", calls, findings
        }
    ' "$found/sums.txt"
}

for variable in HUSK_FUZZ_RUNS HUSK_FUZZ_SECONDS HUSK_FUZZ_UNTIL HUSK_FUZZ_UNTIL_CALLS HUSK_FUZZ_PIECE; do
    check_number "$variable"
done
"$action"
