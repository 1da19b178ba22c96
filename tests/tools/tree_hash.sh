#!/bin/sh
# SPDX-License-Identifier: MIT
# tree_hash.sh ROOT           a hash of all that decides what a test finds: sources, kernels, examples, tests, how they
#                             are built, and the two documents that tiers are judged by; not other docs, and neither the
#                             tool that draws mutants nor those that write down what tiers have found. Files that git
#                             does not know yet take part. What long tiers find is kept by it.
# tree_hash.sh ROOT COMMIT    the files of it that are not as they were in that commit, a line each
set -eu
LC_ALL=C
export LC_ALL
cd "$1"
commit=${2:-}
set -- CMakeLists.txt CMakePresets.json cmake include src cl examples tests bench tuning docs/offline.tsv \
    docs/operators.md

files() {
    if git rev-parse --git-dir > /dev/null 2>&1; then
        git ls-files -co --exclude-standard "$@"
    else # a copy without its history
        find "$@" -type f 2> /dev/null || true
    fi
}

changed() {
    git diff --name-only --no-renames --relative "$commit" -- "$@"
    git ls-files -o --exclude-standard "$@"
}

those_that_count() {
    grep -vE '^tests/(mutation/|tools/(tiers|check_tiers|tree_hash)[.]sh$)' | sort -u
}

if [ -n "$commit" ]; then
    all=$(changed "$@")
    printf '%s\n' "$all" | those_that_count | sed '/^$/d'
    exit
fi
files "$@" | those_that_count | while IFS= read -r file; do
    if [ -f "$file" ]; then
        printf '%s\n' "$file"
    fi
done | xargs sha256sum | sha256sum | cut -c 1-16
