#!/bin/sh
# SPDX-License-Identifier: MIT
# check_valgrind.sh PROGRAM [ARGUMENT...]: a program, and what it starts of its kind, under memcheck: no error and no
# lost memory. What others do is in tests/support/valgrind.supp; the log decides, and has to be empty.
#
# It runs twice. The first time, without Valgrind, compiles the OpenCL programs into PoCL's cache, from where the
# second takes them: a compiler inside Valgrind is fifty times slower, and nothing of ours. Valgrind 3.19 has no
# AVX-512, so both runs ask PoCL for code of a CPU that it knows, and have kernels for its vectors: what PoCL says of
# them goes by the CPU that it sees, which inside Valgrind is another one, with other programs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
if [ "$(uname -m)" = x86_64 ]; then
    POCL_LLVM_CPU_NAME=haswell
    POCL_KERNELLIB_NAME=avx2
    HUSK_LIMITS=${HUSK_LIMITS:+$HUSK_LIMITS,}vector_width=8
    export POCL_LLVM_CPU_NAME POCL_KERNELLIB_NAME HUSK_LIMITS
fi

if ! "$@" > "$work/output" 2>&1; then
    cat "$work/output"
    echo "it fails without Valgrind, too"
    exit 1
fi
valgrind --tool=memcheck -q --log-file="$work/%p.log" --leak-check=full --show-leak-kinds=definite \
    --num-callers=30 --fair-sched=yes --gen-suppressions=all --suppressions="$here/../support/valgrind.supp" \
    --trace-children=yes --trace-children-skip='/bin/*,/usr/*' "$@" || status=$?
cat "$work"/*.log > "$work/all"
if [ -s "$work/all" ]; then
    head -n 200 "$work/all"
    echo "memcheck has something to say"
    status=1
fi
exit $status
