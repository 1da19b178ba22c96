#!/bin/sh
# SPDX-License-Identifier: MIT
# check_default_run.sh CLBENCH [SECONDS]: clbench without an argument, once to fill the caches and once by the clock.
# The second run has to end within SECONDS (90, if none are given) and with exit code 0, say in its last lines that the
# results are right and how fast they are, and name the command that makes a report of them, which has to work. For the
# release build, on a machine without other work.
set -eu
clbench=$1
limit=${2:-90}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Its own history, so that "last" is this run; the caches stay where they are.
XDG_DATA_HOME=$work
export XDG_DATA_HOME

fail() {
    tail -n 30 "$work/said.txt"
    echo "$*"
    exit 1
}

echo "filling the caches"
"$clbench" -q > "$work/said.txt" 2>&1 || fail "the first run left with $?"
start=$(date +%s)
code=0
"$clbench" > "$work/said.txt" 2>&1 < /dev/null || code=$?
took=$(($(date +%s) - start))
echo "clbench took $took s"
[ "$code" = 0 ] || fail "it left with $code"
[ "$took" -le "$limit" ] || fail "that is more than $limit s; is there other work on this machine?"

# The end: from the empty line before the verdict on.
awk '/^$/ { text = "" } { text = text $0 "\n" } END { printf "%s", text }' "$work/said.txt" > "$work/end.txt"
said() {
    grep -qE -- "$1" "$work/end.txt" || fail "the last lines do not say: $1"
}
said '^All [0-9]+ results are right|results are right, none is wrong'
said '% of the measured peak is reached|of what copying or reading'
said 'times as fast'
said 'clbench report last -o report.html'
(cd "$work" && "$clbench" report last -o report.html) > /dev/null || fail "the report could not be made"
grep -q '</html>' "$work/report.html" || fail "the report is not whole"
echo "its end has a verdict, and the report that it names can be made"
