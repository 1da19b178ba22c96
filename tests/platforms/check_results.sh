#!/bin/sh
# SPDX-License-Identifier: MIT
# check_results.sh BUILD: results.sh takes the failures of the right tests for wrong results, and knows every test that
# CTest has in the folder BUILD.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

are() { # are KIND NAME...
    kind=$1
    shift
    for name in "$@"; do
        said=$(printf '%s\n' "$name" | "$here/results.sh" --kinds)
        [ "$said" = "$kind $name" ] || { echo "not \"$kind\": $said"; failed=1; }
    done
}

for place in '' long/ devices/narrow/ devices/index_64/ devices/narrow_dtypes/ valgrind/ intel/ a/new/place/; do
    are result "${place}ops/gemm" "${place}select/plan" "${place}train/graph" "${place}verify/smoke"
done
are result train/train/whole train/dist/four platform/verify/smoke faults/train/graph_sweep bench/ragged \
    dtypes/bench/ragged bench/verify bench/verify_linear long/bench/planted_writes fuzz/random_calls long/kernels \
    same_bits configurations/operators soak/soak soak/short oclgrind/races oclgrind/memory \
    oclgrind/examples/train_digits examples/packed_lstm dist/alike ref/golden_conv
are other runtime/queue valgrind/runtime/queue devices/runtime/platforms bench/clbench faults/bench/fault_sweep \
    weather devices/weather silence assembly/kernels offline/kernels oclgrind/kernels fuzz/planted fuzz/case \
    replay/case structure/house consumer/train consumer/dist builds/total
are unlisted ops train kernel kernels bench '' 'shops/gemm' 'bench ragged'

# judged NAME STATUS LINE...: what a run with these lines in LastTestsFailed.log comes to
judged() {
    what=$1 expected=$2
    shift 2
    printf '%s\n' "$@" > "$work/log"
    status=0
    "$here/results.sh" "$work/log" > "$work/said" || status=$?
    [ "$status" -eq "$expected" ] || { echo "$what: exit status $status instead of $expected"; failed=1; }
    if [ "$expected" -eq 0 ] && [ "$(sed 1d "$work/said")" != "$(printf '%s\n' "$@" | sed 's/^[0-9]*:/    /')" ]; then
        echo "$what: other tests are listed than have failed"
        failed=1
    fi
}
judged 'no wrong result' 0 3:runtime/queue 12:structure/house 120:bench/clbench
judged 'one among others' 1 3:runtime/queue 12:devices/narrow/ops/conv 120:bench/clbench
judged 'a test that nobody has listed' 1 3:runtime/queue 4:something/new
judged 'an empty list' 1 ''
: > "$work/log"
! "$here/results.sh" "$work/log" || { echo "an empty file is no reason to pass"; failed=1; }
! "$here/results.sh" "$work/absent" 2> /dev/null || { echo "a missing file is no reason to pass"; failed=1; }

# All that are registered. CMake writes add_test(NAME, add_test("NAME" or add_test([=[NAME]=].
find "$build" -name CTestTestfile.cmake -exec sed -nE 's/^add_test\((\[=*\[|")?([^]" ]+).*/\2/p' {} + > "$work/names"
grep -qx ops/gemm "$work/names" || { echo "no tests are found in $build"; failed=1; }
"$here/results.sh" --kinds < "$work/names" > "$work/kinds"
if grep '^unlisted ' "$work/kinds"; then
    echo "Does their failure count as a wrong result? tests/platforms/results.sh has to know."
    failed=1
fi
cut -d ' ' -f 1 "$work/kinds" | sort | uniq -c
exit "$failed"
