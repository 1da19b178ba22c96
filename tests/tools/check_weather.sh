#!/bin/sh
# SPDX-License-Identifier: MIT
# check_weather.sh CLBENCH: what clbench does on machines without a platform, with a broken one, with two, and with
# preferences that nothing fits. Exit codes and sentences are documented in docs/clbench.md.
set -u
clbench=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/none" "$work/broken" "$work/two"
unset HUSK_DEVICE HUSK_LIMITS
failures=0

# expect CODE WORDS COMMAND...: the exit code, and the words somewhere in the output
expect() {
    code=$1
    words=$2
    shift 2
    output=$("$@" 2>&1 < /dev/null)
    status=$?
    if [ $status -ne "$code" ]; then
        printf '%s\nexit code %d instead of %d: %s\n\n' "$output" "$status" "$code" "$*"
        failures=$((failures + 1))
    elif ! printf '%s\n' "$output" | grep -qF -- "$words"; then
        printf '%s\ndoes not say "%s": %s\n\n' "$output" "$words" "$*"
        failures=$((failures + 1))
    fi
}

small='softmax outer=2 axis=3'

# no platform: how to install one
for command in "" "devices" "run $small --baseline none" "verify $small"; do
    # shellcheck disable=SC2086 # words
    expect 6 pocl-opencl-icd env OCL_ICD_VENDORS="$work/none" "$clbench" $command
done
# what needs no device works without one
expect 0 standard env OCL_ICD_VENDORS="$work/none" "$clbench" list

# preferences that nothing fits: the list of what there is
expect 6 'no such device' env HUSK_DEVICE='no such device' "$clbench" verify "$small"
expect 6 '0:0' "$clbench" verify "$small" -d 97:0

# a broken platform beside a sound one is said, and skipped
cp /etc/OpenCL/vendors/*.icd "$work/broken/" 2> /dev/null
echo /no/such/libvendor.so > "$work/broken/gone.icd"
expect 0 gone.icd env OCL_ICD_VENDORS="$work/broken" "$clbench" devices
expect 0 right env OCL_ICD_VENDORS="$work/broken" "$clbench" verify "$small"

# two platforms
oclgrind=/usr/lib/oclgrind/liboclgrind-rt-icd.so
if [ -r $oclgrind ]; then
    cp /etc/OpenCL/vendors/*.icd "$work/two/" 2> /dev/null
    echo $oclgrind > "$work/two/oclgrind.icd"
    expect 0 Oclgrind env OCL_ICD_VENDORS="$work/two" "$clbench" devices
    expect 0 right env OCL_ICD_VENDORS="$work/two" "$clbench" verify "$small"
    expect 0 right env OCL_ICD_VENDORS="$work/two" "$clbench" verify "$small" -d oclgrind
    # both in one run; all does not take a simulator (programs that measure peaks alone are not counted)
    # shellcheck disable=SC2086 # words
    expect 0 'Oclgrind Simulator:' env HUSK_TEST_BUILDS= OCL_ICD_VENDORS="$work/two" \
        "$clbench" run $small --quick --baseline none -d 'Portable Computing' -d oclgrind
    # shellcheck disable=SC2086 # words
    expect 0 'All 1 results' env HUSK_TEST_BUILDS= OCL_ICD_VENDORS="$work/two" \
        "$clbench" run $small --quick --baseline none -d all
    if printf '%s\n' "$output" | grep -q Oclgrind; then
        echo '-d all measures a simulator'
        failures=$((failures + 1))
    fi
    # what was measured on one says nothing about the other
    for device in 'Portable Computing' oclgrind; do
        # shellcheck disable=SC2086 # words
        expect 0 'right' env HUSK_TEST_BUILDS= OCL_ICD_VENDORS="$work/two" "$clbench" run $small --quick \
            --baseline none --no-history -d "$device" --json "$work/${device%% *}.json"
    done
    expect 2 'not of the same device and driver' "$clbench" compare "$work/Portable.json" "$work/oclgrind.json"
    expect 2 '--force compares them' "$clbench" compare "$work/oclgrind.json" "$work/Portable.json"
fi

# bad spelling: the nearest valid one
expect 2 softmax "$clbench" verify sofmax outer=2 axis=3
expect 2 outer "$clbench" verify softmax outr=2 axis=3
expect 2 lstm "$clbench" verify rnn cell=lsmt t=1 b=1 input=1 hidden=1
expect 2 --suite "$clbench" run --siute standard
expect 2 standard "$clbench" run --suite standart

[ $failures -eq 0 ]
