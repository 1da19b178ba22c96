#!/bin/sh
# SPDX-License-Identifier: MIT
# check_leaks.sh PROGRAM [ARGUMENT...]: a program built with AddressSanitizer. When all has been tested, and memory that
# is left is looked through, LeakSanitizer's own tracer crashes now and then (gcc 12's, which guesses where a driver's
# thread-local memory is by the place that it happens to lie at): that says nothing of the program, which is then run
# once more, from its beginning, with redzones of another size, so that memory lies elsewhere.
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for time in first last; do
    status=0
    "$@" > "$log" 2>&1 || status=$?
    cat "$log"
    if [ "$status" -eq 0 ] || [ "$time" = last ] || ! grep -q '^Tracer caught signal' "$log" ||
        ! grep -q 'LeakSanitizer has encountered a fatal error' "$log"; then
        exit "$status"
    fi
    echo "LeakSanitizer has failed; once more:"
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:redzone=64"
done
