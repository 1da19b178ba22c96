#!/bin/sh
# SPDX-License-Identifier: MIT
# self_test.sh SOAK: a short soak passes, and fails by name with a wrong result, with host memory that is lost, and with
# an OpenCL object that is.
set -eu
soak=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

run() { # run ARGUMENTS: on cases whose programs other tests build, too
    "$soak" --threads 4 --case 'softmax outer=4 axis=50' --case 'activation count=100' --case 'reduce outer=2 axis=64' \
        --case 'softmax outer=3 axis=40 dir=bwd' "$@" > "$out" 2>&1
}

expect() { # expect WHAT STATUS TEXT: of the last run, whose status is in $status
    if [ "$status" -ne "$2" ] || ! grep -q "$3" "$out"; then
        echo "$1: exit status $status instead of $2, or not said: $3"
        cat "$out"
        failed=1
    fi
}

status=0; run --seconds 3 || status=$?
expect 'a sound library' 0 ' 0 mismatches; seed'
if grep -q 'knows no layers' "$out"; then
    echo "this OpenCL loader knows no layers: faults of the driver are not planted"
else
    status=0; HUSK_TEST_FAULTS='corrupt clEnqueueReadBuffer after=activation nth=50' run --seconds 2 || status=$?
    expect 'a wrong result' 1 '^mismatch: '
    status=0; HUSK_TEST_FAULTS='skip clReleaseKernel nth=40' run --seconds 2 || status=$?
    expect 'a kernel that is kept' 1 '^memory: 1 references to a kernel were not given back'
fi
status=0; run --seconds 2 --leak 262144 || status=$?
expect 'lost memory' 1 '^memory: the resident memory grows'
exit "$failed"
