#!/bin/sh
# SPDX-License-Identifier: MIT
# tree_hash.sh ROOT: a hash of all that decides what a test finds: sources, kernels, examples, tests, how they are
# built, and the two documents that tiers are judged by; not other docs, and not the tool that draws mutants. Files that
# git does not know yet take part. What long tiers find is kept by it.
set -eu
LC_ALL=C
export LC_ALL
cd "$1"

files() {
    set -- CMakeLists.txt CMakePresets.json cmake include src cl examples tests bench tuning docs/offline.tsv \
        docs/operators.md
    if git rev-parse --git-dir > /dev/null 2>&1; then
        git ls-files -co --exclude-standard "$@"
    else # a copy without its history
        find "$@" -type f 2> /dev/null || true
    fi
}

files | grep -v '^tests/mutation/' | sort -u | while IFS= read -r file; do
    if [ -f "$file" ]; then
        printf '%s\n' "$file"
    fi
done | xargs sha256sum | sha256sum | cut -c 1-16
