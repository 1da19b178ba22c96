#!/bin/sh
# SPDX-License-Identifier: MIT
# check_oclgrind.sh CLBENCH FILE MODE: clbench verify on each line of FILE inside Oclgrind; a line is a case, and
# options if it needs any. Oclgrind exits with 0 whatever it finds: its log has to be empty, and clbench content.
#
#   races    data races, accesses out of bounds, use of the API
#   memory   uninitialised values, too
#
# Optimisations are off: Oclgrind 21.10 does not know all that LLVM's optimiser writes (freeze, noalias scopes).
set -u
clbench=$1
cases=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case "$3" in
races) set -- --data-races --check-api --build-options -cl-opt-disable ;;
memory) set -- --data-races --check-api --uninitialized --build-options -cl-opt-disable ;;
*) exit 2 ;;
esac
status=0
: > "$work/log"
# a line a case: each in a run, and so a log, of its own
grep -E '^[a-z]' "$cases" > "$work/cases"
while IFS= read -r line; do
    # shellcheck disable=SC2086 # words
    oclgrind "$@" --log "$work/log" "$clbench" verify $line --device oclgrind --quiet --max-time 900s \
        > "$work/out" 2> "$work/err" < /dev/null || { echo "failed: $line"; cat "$work/out"; status=1; }
    if [ -s "$work/log" ] || grep -q Oclgrind "$work/err"; then
        echo "Oclgrind has something to say: $line"
        cat "$work/log" "$work/err"
        status=1
    fi
done < "$work/cases"
echo "$(wc -l < "$work/cases") cases"
exit $status
