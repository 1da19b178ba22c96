#!/bin/sh
# SPDX-License-Identifier: MIT
# check_globals.sh LIBRARY.a: no process-wide mutable state. Whatever the library keeps in .data or .bss is
# listed here with its reason, or it is a breach.
#
# opened_by, was_forked: the process that opened OpenCL first, and whether this is a child of it, whatever contexts it
# makes: the driver's own state is process-wide (src/runtime/fork.c).
set -eu
LC_ALL=C
export LC_ALL
allowed='^(opened_by|was_forked)([.][0-9]+)?$'

# Of names that are not exported, which all but husk_* are, objdump says ".hidden" before the name; __odr_asan.* are
# AddressSanitizer's.
found=$(objdump -t "$1" | awk -v allowed="$allowed" '
    { sub(/[ \t]\.(hidden|internal|protected)[ \t]+/, " ") }
    NF >= 5 && $(NF - 2) ~ /^(\.(data|bss|tdata|tbss)(\.|$)|\*COM\*)/ && $(NF - 2) !~ /^\.data\.rel\.ro/ &&
        $NF !~ /^(\.|__odr_asan)/ && $NF !~ allowed { print $NF }' | sort -u)
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    echo "the variables above are process-wide and mutable: keep them in a context, or make them const"
    exit 1
fi
