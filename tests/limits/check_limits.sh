#!/bin/sh
# SPDX-License-Identifier: MIT
# check_limits.sh CTEST BUILD SLOWNESS: on a machine three times as slow tests of every tier have three times as long,
# and what a machine is found to be is a number from 1 to 20.
set -eu
limit_of() { # limit_of SLOWNESS TEST
    HUSK_TEST_SLOWNESS=$1 "$ctest" --test-dir "$build" -R "^$2\$" --show-only=json-v1 | tr -d ' \n' |
        grep -oE '"name":"TIMEOUT","value":[0-9]+' | sed 's/.*://' | tail -n 1
}
ctest=$1 build=$2
found=$("$3")
case "$found" in [1-9] | 1[0-9] | 20) ;; *) echo "$3 says $found"; exit 1 ;; esac
for name in structure/house long/ops/softmax; do
    one=$(limit_of 1 "$name") three=$(limit_of 3 "$name")
    if [ -z "$one" ] || [ "$three" != $((one * 3)) ]; then
        echo "$name: $one seconds, and $three where it is three times as slow"
        exit 1
    fi
done
echo "a slowness of $found"
