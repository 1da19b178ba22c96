#!/bin/sh
# SPDX-License-Identifier: MIT
# check_builds.sh begin FILE            empties the list that count_builds.c writes
# check_builds.sh total FILE LIMIT MOST prints who built how many programs; exits 1 when different ones are more than
#                                       LIMIT, or all more than MOST: two tests that want one at once both build it;
#                                       77 when nothing was counted
#
# Programs compiled from source count; those that were loaded from a binary are said beside them.
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
most=$4
[ -f "$file" ] || : > "$file"
awk '$3 == "source" { print $1 }' "$file" | sort | uniq -c | sort -rn
total=$(grep -c ' source$' "$file" || true)
different=$(awk '$3 == "source" { print $2 }' "$file" | sort -u | wc -l)
echo "$total programs were built from source, $different different ones, and $(grep -c ' binary$' "$file" || true) were"
echo "loaded from binaries; the limits are $most and $limit"
if ! [ -s "$file" ]; then
    echo "Nothing was counted: no test has loaded a program, or none has loaded count_builds.c."
    exit 77
fi
[ "$total" -le "$most" ] && [ "$different" -le "$limit" ]
