#!/bin/sh
# SPDX-License-Identifier: MIT
# results.sh FAILED    FAILED is CTest's LastTestsFailed.log. Where it names no test whose failure counts as a wrong
#                      result, these names are printed. Exit 1: it names one, or nothing at all
# results.sh --kinds   names of tests come in, a line each: prints KIND NAME of each. A failure of the kind "result"
#                      counts, of the kind "other" does not; "unlisted" is what stands in neither list, and counts
#
# A name may follow a tier and a device: devices/narrow/ops/conv. A new test, or one with a new name, has to be listed:
# check_results.sh fails until it is.
set -eu

kinds() {
    while IFS= read -r name; do
        case "/$name" in
        # Operators and gradients, the choice of variants, training, clbench verify; the reference.
        */ops/* | */select/* | */train/* | */verify/* | */ref/* | */dist/* | */examples/*) kind=result ;;
        /configurations/* | /soak/* | /fuzz/random_calls | /long/kernels | /same_bits) kind=result ;;
        /oclgrind/races | /oclgrind/memory) kind=result ;;
        */bench/ragged | */bench/verify | */bench/verify_linear | */bench/planted_writes) kind=result ;;
        # What drivers, compilers and tools say or do besides.
        */runtime/* | */machine/* | */bench/* | */weather | */planted | /silence | /long/silence) kind=other ;;
        /oclgrind/kernels) kind=other ;;
        /assembly/* | /offline/* | /fuzz/* | /replay/* | /long/compare | /long/default_run | /long/report) kind=other ;;
        # The house, its builds and its own tools.
        /structure/* | /long/structure/* | /consumer/* | /builds/* | /mutation/* | /long/mutation/*) kind=other ;;
        /kernels/* | /platforms/*) kind=other ;;
        */training_arguments | */limits | */lessons/*) kind=other ;;
        *) kind=unlisted ;;
        esac
        printf '%s %s\n' "$kind" "$name"
    done
}

if [ "$1" = --kinds ]; then
    kinds
    exit
fi
found=$(sed 's/^[0-9]*://' "$1" | kinds)
if printf '%s\n' "$found" | grep -qv '^other '; then # where it is empty, too
    exit 1
fi
echo "These failed. None is among the tests whose failure counts as a wrong result (tests/platforms/results.sh):"
printf '%s\n' "$found" | sed 's/^other /    /'
