#!/bin/sh
# SPDX-License-Identifier: MIT
# coverage.sh SOURCE BUILD [LINES BRANCHES]: what of src/ the tests have run through since BUILD was made with gcc's
# --coverage, or since its *.gcda were deleted: lines, and branches taken at least once, by folder; and the files with
# the most that was not run. A file of which nothing was run has no *.gcda: its *.gcno says what lines it has. LINES and
# BRANCHES: so many percent of all are wanted, and with less the exit status is 1.
set -eu
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
cd "$source"
# A line for each file: its name, lines, lines run, branches, branches taken.
[ -n "$(find "$build/src" -name '*.gcda' | head -n 1)" ] || { echo "no test has run in $build"; exit 1; }
find "$build/src" -name '*.gcno' -exec gcov -n -b -r -s "$source" {} + 2>/dev/null | awk '
    function number(line) { sub(/.* of /, "", line); return line + 0 }
    function share(line) { sub(/.*:/, "", line); return line / 100 }
    function flush() {
        if (file ~ /^src\/.*\.c$/ && lines) {
            printf "%s %d %d %d %d\n", file, lines, run + 0.5, branches, taken + 0.5
        }
    }
    /^File / { flush(); file = $0; gsub(/^File .|.$/, "", file); lines = run = branches = taken = 0 }
    /^Lines executed/ && !lines { lines = number($0); run = lines * share($0) }
    /^Taken at least once/ { branches = number($0); taken = branches * share($0) }
    END { flush() }' | sort -u > "$build/coverage.txt"
[ -s "$build/coverage.txt" ] || { echo "no test has run in $build"; exit 1; }
status=0
awk -v least_lines="${3:-0}" -v least_branches="${4:-0}" '
    function percent(part, whole) { return whole ? sprintf("%5.1f%%", 100 * part / whole) : "    - " }
    function row(name, i) {
        printf "%-14s %7d %s %9d %s\n", name, lines[i], percent(run[i], lines[i]), branches[i],
            percent(taken[i], branches[i])
    }
    {
        folder = $1
        sub(/\/[^\/]*$/, "", folder)
        split(folder " all", name, " ")
        for (i = 1; i <= 2; i++) {
            lines[name[i]] += $2; run[name[i]] += $3; branches[name[i]] += $4; taken[name[i]] += $5
        }
    }
    END {
        printf "%-14s %7s %6s %9s %6s\n", "", "lines", "run", "branches", "taken"
        count = split("src/os src/base src/runtime src/select src/ops src/train src/dist src/ref", order, " ")
        for (i = 1; i <= count; i++) {
            if (lines[order[i]]) { row(order[i], order[i]) }
        }
        row("src", "all")
        if (100 * run["all"] < least_lines * lines["all"] ||
            100 * taken["all"] < least_branches * branches["all"]) {
            printf "too little: %s%% of the lines and %s%% of the branches are wanted\n", least_lines, least_branches
            exit 1
        }
    }' "$build/coverage.txt" || status=1
echo
echo "most lines not run:"
awk '{ printf "%6d of %5d  %s\n", $2 - $3, $2, $1 }' "$build/coverage.txt" | sort -rn | head -n 12
exit $status
