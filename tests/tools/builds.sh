#!/bin/sh
# SPDX-License-Identifier: MIT
# builds.sh ROOT JOBS [CTEST ARGUMENTS...]: the tier "builds". Each build below is made of everything in
# ROOT/build/builds/NAME, with warnings as errors, and the tests of the default tier that its option touches run in it;
# with arguments those that they name. A build whose compiler is not here is said and counted as not run.
#
# What cannot be built, or has a warning, counts as one test that has failed.
set -eu
root=$1 jobs=$2
shift 2
passed=0 failed=0 absent=0 bad=""

# Newer compilers warn of more; the newest that is here.
newest() { # newest NAME: NAME-23 before NAME-22 ... before NAME
    for number in $(seq 40 -1 11); do
        ! command -v "$1-$number" > /dev/null 2>&1 || { echo "$1-$number"; return; }
    done
    command -v "$1" > /dev/null 2>&1 && echo "$1"
}

count_of() { # count_of NAME: of the first element of CTest's XML
    sed -n "s/.*[[:space:]]$1=\"\\([0-9]*\\)\".*/\\1/p" "$folder/junit.xml" | head -n 1
}

add_counts() {
    fell=$(count_of failures) out=$(($(count_of skipped) + $(count_of disabled)))
    failed=$((failed + fell)) absent=$((absent + out)) passed=$((passed + $(count_of tests) - fell - out))
}

make() { # make [CMAKE ARGUMENTS...]: what it said is in $folder/log
    mkdir -p "$folder"
    cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHUSK_WERROR=ON "$@" > "$folder/log" 2>&1 &&
        cmake --build "$folder" -j "$jobs" -- -k 0 >> "$folder/log" 2>&1
}

# try NAME TESTS CTEST-ARGUMENTS... -- CMAKE-ARGUMENTS...
try() {
    name=$1 tests=$2 folder=$root/build/builds/$1
    shift 2
    arguments=""
    while [ "$1" != -- ]; do
        arguments="$arguments $1"
        shift
    done
    shift
    echo "---- $name: $*"
    if ! make "$@"; then
        grep -E 'warning:|error:|CMake Error|FAILED' "$folder/log" | sort -u | head -n 40
        echo "$name was not built: $folder/log"
        failed=$((failed + 1)) bad="$bad $name"
        return
    fi
    rm -f "$folder/junit.xml"
    status=0
    # shellcheck disable=SC2086 # words
    ctest --test-dir "$folder" -L '^default$' -E '^builds/' ${arguments:--R "$tests"} -j "$jobs" --output-on-failure \
        --no-tests=error --output-junit "$folder/junit.xml" || status=$?
    [ "$status" -eq 0 ] || bad="$bad $name"
    if [ -f "$folder/junit.xml" ]; then
        add_counts
    else # it was ended, or there was no such test
        failed=$((failed + 1))
    fi
}

gcc=$(newest gcc) || gcc=""
clang=$(newest clang) || clang=""
try clblast '^(ops/gemm|ops/rnn$|select/|consumer/|structure/|bench/(every_op|clbench|baselines)$)' "$@" -- \
    -DHUSK_CLBLAST=ON
try no-baselines '^(bench/|consumer/|structure/)' "$@" -- -DHUSK_BASELINES=OFF
try dist '^(train/|consumer/|structure/)' "$@" -- -DHUSK_DIST=ON
try plain '^(train/|consumer/|structure/|ops/gemm|select/)' "$@" -- -DHUSK_CLBLAST=OFF -DHUSK_DIST=OFF
for compiler in "$gcc" "$clang"; do
    [ -n "$compiler" ] || { echo "a compiler is not here"; absent=$((absent + 1)); continue; }
    try "$compiler" '^(runtime/|select/|ops/gemm|ref/|train/graph|consumer/|structure/)' "$@" -- \
        -DCMAKE_C_COMPILER="$compiler"
done

echo "$passed tests passed, $failed failed, $absent were not run"
[ -z "$bad" ] || { echo "Failed:$bad"; exit 1; }
