#!/bin/sh
# SPDX-License-Identifier: MIT
# check_offline.sh TEST: run an operator's test here, keep every program that it builds, and compile those of the GPU
# family for vendors whose hardware is not here (compile_offline.sh).
set -eu
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
HUSK_PROGRAM_DIR=$programs CK_FORK=no CK_VERBOSITY=silent "$1" > "$programs/log" 2>&1 || {
    cat "$programs/log"
    exit 1
}
sh "$(dirname "$0")/compile_offline.sh" "$programs"
