#!/bin/sh
# SPDX-License-Identifier: MIT
# compile_kernels.sh FOLDER TARGET...   compile the programs FOLDER/*.cl for GPUs that are not here
#
# The first line of each program holds its options: "// options: ...". Targets: nvidia, amd, intel, all, or one of
# tools.sh by name. Printed are lines with tabs:
#
#     PROGRAM  TARGET  KERNEL  REGISTERS  BYTES OF SPILLS  OF STACK  OF LOCAL MEMORY      "-" is what nobody says
#     PROGRAM  TARGET  FAILED  the compiler's first words
#     MISSING  TARGET  the compiler that is not installed
#     UNKNOWN  NAME    no target is called this
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tools.sh"
programs=$1
shift
OFFLINE=${HUSK_OFFLINE_DIR:-$programs}
export OFFLINE
find_tools

compile() { # compile TARGET
    missing=$(missing_for "$1")
    if [ -n "$missing" ]; then
        printf 'MISSING\t%s\t%s\n' "$1" "$(echo "$missing" | tr '\n' ',' | sed 's/,$//; s/,/, /g')"
        return
    fi
    results=$programs/results-$1
    mkdir -p "$results/preprocessed"
    eval "RESULTS_$1=\$results"
    export "RESULTS_$1"
    for program in "$programs"/*.cl; do
        name=$(basename "$program" .cl)
        sh "$here/compile_program.sh" "$program" "$name" "$1"
        awk -v start="$name\t$1\t" '{ print start $0 }' "$results/$name"
    done
}

for wanted in "$@"; do
    targets=$(targets_named "$wanted") || {
        printf 'UNKNOWN\t%s\n' "$wanted"
        continue
    }
    for target in $targets; do
        compile "$target"
    done
done
