#!/bin/sh
# SPDX-License-Identifier: MIT
# check_offline.sh TESTS_DIR OP...: run the operators' tests here, keep every program that they build, and compile
# those of the GPU family for vendors whose hardware is not here (compile_offline.sh).
set -eu
tests=$1
shift
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
for op; do
    HUSK_PROGRAM_DIR=$programs CK_FORK=no CK_VERBOSITY=silent "$tests/test_ops_$op" > "$programs/log" 2>&1 || {
        cat "$programs/log"
        exit 1
    }
done
sh "$(dirname "$0")/compile_offline.sh" "$programs"
