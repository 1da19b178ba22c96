#!/bin/sh
# SPDX-License-Identifier: MIT
# check_silence.sh LIST_PROGRAMS BUILD_PROGRAMS
#
# Programs for a CPU with vectors of 8 floats are built from source, as a user's first call does it, and the platform
# has to be silent: every log empty, and nothing on stderr, where PoCL counts a compiler's warnings. PoCL compiles
# them for a CPU with AVX2 and without AVX-512, where this one has more; other platforms for their own CPU. The default
# tier builds every 60th program, the tier long all. On a device that is no CPU: 77.
set -eu
list=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
every=60
[ "${HUSK_TEST_TIER:-default}" != long ] || every=1
mkdir "$work/cache"
HUSK_TEST_BUILDS="" LD_PRELOAD="" "$list" "$work" cpu8
rm "$work"/cpu8/runtime_* # made where a device advertises their feature: BUILD_PROGRAMS asks Husk
set -- "$work"/cpu8/*.cl
[ $# -ge 300 ] || { echo "only $# programs were listed"; exit 1; }
if [ "$(uname -m)" = x86_64 ] && grep -qw avx2 /proc/cpuinfo 2> /dev/null; then
    export POCL_KERNELLIB_NAME=avx2 POCL_LLVM_CPU_NAME=haswell
fi
status=0
HUSK_TEST_BUILDS="" POCL_CACHE_DIR=$work/cache "$build" "$every" "$@" 2> "$work/said" || status=$?
if [ "$status" -ne 77 ] && [ -s "$work/said" ]; then
    echo "On stderr:"
    cat "$work/said"
    status=1
fi
exit "$status"
