#!/bin/sh
# SPDX-License-Identifier: MIT
# check_builds.sh begin FILE        empties the list that count_builds.c writes
# check_builds.sh total FILE LIMIT  prints who built how many different programs; exits 1 when they are more than LIMIT
#                                   together, or when a compiler has warned of a kernel; 77 when nothing was counted
#
# Programs built from source count, each once: who builds one again takes it from the driver's cache, where it has one.
# Those that were loaded from a binary are said beside them.
# The first is run before the tests of the default tier, the second after them (a CTest fixture). A part of the tier
# (ctest -R) is counted as what it is.
set -eu
LC_ALL=C
export LC_ALL
file=$2
if [ "$1" = begin ]; then
    mkdir -p "$(dirname "$file")"
    : > "$file"
    exit 0
fi
limit=$3
[ -f "$file" ] || : > "$file"
awk '$3 == "source" { print $1, $2 }' "$file" | sort -u | cut -d ' ' -f 1 | uniq -c | sort -rn
total=$(grep -c ' source$' "$file" || true)
different=$(awk '$3 == "source" { print $2 }' "$file" | sort -u | wc -l)
echo "$different different programs were built from source, at most $limit are wanted; $total times in all, and"
echo "$(grep -c ' binary$' "$file" || true) were loaded from binaries"
if ! [ -s "$file" ]; then
    echo "Nothing was counted: no test has loaded a program, or none has loaded count_builds.c."
    exit 77
fi
# That an extension needs no pragma is said of one that a test makes up; some of the compilers that have it want it.
warnings=$(awk '$3 == "warning:" && !/does not require pragma/ { $1 = $2 = ""; print }' "$file" | sort | uniq -c)
if [ -n "$warnings" ]; then
    echo "A compiler has warned of kernels (each user's process says so on its stderr):"
    echo "$warnings"
    exit 1
fi
[ "$different" -le "$limit" ]
