#!/bin/sh
# SPDX-License-Identifier: MIT
# tree_hash.sh ROOT   a hash of all that decides what a test finds: sources, kernels, examples, tests and how they are
#                     built; not documents, nor what draws mutants. Files that git does not know yet take part. Long
#                     tiers keep what they have found under build/ by it, to go on from there.
set -eu
LC_ALL=C
export LC_ALL
cd "$1"
set -- CMakeLists.txt CMakePresets.json cmake include src cl examples tests bench tuning docs/operators.md

files() {
    if git rev-parse --git-dir > /dev/null 2>&1; then
        git ls-files -co --exclude-standard "$@"
    else # a copy without its history
        find "$@" -type f 2> /dev/null || true
    fi
}

files "$@" | grep -vE '^tests/(mutation/|tools/tree_hash[.]sh$)' | sort -u | while IFS= read -r file; do
    if [ -f "$file" ]; then
        printf '%s\n' "$file"
    fi
done | xargs sha256sum | sha256sum | cut -c 1-16
