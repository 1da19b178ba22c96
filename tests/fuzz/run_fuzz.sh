#!/bin/sh
# SPDX-License-Identifier: MIT
# run_fuzz.sh run NAME PROGRAM ENGINE FOUND     one target, HUSK_FUZZ_RUNS executions (a million)
# run_fuzz.sh calls NAME PROGRAM ENGINE FOUND   random calls, for HUSK_FUZZ_SECONDS (120)
# run_fuzz.sh results all - - FOUND             what all runs on this tree came to: fuzz-results.json beside FOUND
#
# FOUND/corpus is kept from run to run; FOUND/findings has the inputs that ended a program. Every run adds a line to
# FOUND/runs.txt: tree, name, engine, executions, findings, seconds, and a hash of the program. Executions of
# the same program add up, also over trees.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
action=$1 name=$2 program=$3 engine=$4 found=$5
mkdir -p "$found/corpus/$name" "$found/findings"

# What is measured is the tree that is checked out; with changes it has no name.
tree() {
    git -C "$here" rev-parse 'HEAD^{tree}' 2>/dev/null || echo unknown
}
changed() {
    [ -z "$(git -C "$here" status --porcelain 2>/dev/null)" ] || echo +
}

note() { # note EXECUTIONS FINDINGS SECONDS
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(tree)$(changed)" "$name" "$engine" "$1" "$2" "$3" \
        "$(sha256sum "$program" | cut -c 1-16)" >> "$found/runs.txt"
}

run() {
    # Inputs are small and many: short stacks and a small quarantine are enough.
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:malloc_context_size=6:quarantine_size_mb=16:detect_stack_use_after_return=0"
    log=$found/$name.log
    runs=${HUSK_FUZZ_RUNS:-1000000}
    case "$runs" in # 1e7 is 1 to libFuzzer
    *[!0-9]*) echo "HUSK_FUZZ_RUNS=$runs is no number in digits"; exit 2 ;;
    esac
    start=$(date +%s)
    result=0
    if [ "$engine" = libFuzzer ]; then
        "$program" -runs="$runs" -dict="$here/$name.dict" -artifact_prefix="$found/findings/$name-" -timeout=20 \
            -rss_limit_mb=4096 -print_final_stats=1 -verbosity=1 ${HUSK_FUZZ_OPTIONS:-} "$found/corpus/$name" \
            "$here/seeds/$name" > "$log" 2>&1 || result=$?
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
    [ "$result" -eq 0 ] || { tail -n 60 "$log"; exit "$result"; }
    # A target that ended the program has an exit status of its own.
    if [ "${done:-0}" -lt "$runs" ] && [ -z "${HUSK_FUZZ_OPTIONS:-}" ]; then
        tail -n 60 "$log"
        echo "$name: it ended before its $runs executions"
        exit 1
    fi
}

calls() {
    log=$found/$name.log
    start=$(date +%s)
    result=0
    "$program" --seed "${HUSK_FUZZ_SEED:-$start}" --seconds "${HUSK_FUZZ_SECONDS:-120}" > "$log" 2>&1 || result=$?
    done=$(sed -n 's/^calls: *//p' "$log")
    findings=$(grep -c '^finding: ' "$log") || true
    note "${done:-0}" "$findings" $(($(date +%s) - start))
    tail -n 60 "$log"
    exit "$result"
}

# One object a target of the tree that was measured last, with all that its program has been through.
results() {
    last=$(tail -n 1 "$found/runs.txt" | cut -f 1)
    awk -F '\t' -v tree="$last" '
        FNR == NR { if ($1 == tree) now[$2] = $7; next }
        now[$2] != "" && $7 == now[$2] {
            if (!($2 in runs)) { order[++count] = $2 }
            runs[$2] += $4; findings[$2] += $5; seconds[$2] += $6; engine[$2] = $3
        }
        END {
            for (i = 1; i <= count; i++) {
                name = order[i]
                printf "%s\t%s\t%s\t%d\t%d\t%d\n", name, engine[name], now[name], runs[name], findings[name],
                    seconds[name]
            }
        }' "$found/runs.txt" "$found/runs.txt" > "$found/sums.txt"
    awk -F '\t' -v tree="$last" '
        BEGIN {
            changed = sub(/[+]$/, "", tree)
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
    ' "$found/sums.txt" >> "${HUSK_TIER_FIGURES:-/dev/null}"
}

"$action"
