#!/bin/sh
# SPDX-License-Identifier: MIT
# Compile every program that Husk has built here for vendors whose hardware is not here:
#
#     compile_offline.sh PROGRAM_DIR
#
# PROGRAM_DIR holds what HUSK_PROGRAM_DIR collected. Needs clang-19 and libclc-19 (NVIDIA: ptxas too, where a CUDA
# toolkit has it). NVIDIA must assemble without spills, and the GPU family's kernels without a stack frame, which
# would be an array that did not become registers. AMD must compile; its register use is printed.
# Exit 77 (skipped) without the compilers.
set -u
programs=$1
clang=$(command -v clang-19 || true)
if [ -z "$clang" ] || [ ! -e /usr/lib/clc/nvptx64--nvidiacl.bc ] && [ ! -e /usr/lib/clc-19/nvptx64--nvidiacl.bc ]; then
    echo "skipped: clang-19 and libclc-19 are not installed (apt-get install clang-19 libclc-19)"
    exit 77
fi
ptxas=$(command -v ptxas || true)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# libclc lacks these for nvptx; the vendor's compiler has them.
cat >"$work/shim.h" <<'SHIM'
float __attribute__((overloadable)) native_exp2(float x);
float __attribute__((overloadable)) native_exp(float x);
float __attribute__((overloadable)) native_log2(float x);
float __attribute__((overloadable)) native_log(float x);
SHIM

failed=0
count=0
fail() {
    failed=$((failed + 1))
    echo "FAILED $1"
    head -n 12 "$2"
}

# The explicit vectors of the CPU family are wider than a GPU's registers: only the GPU family is judged there.
is_gpu_family() {
    case $(basename "$1") in
    *tiled* | *rnn_*tile* | *workgroup* | *grid* | pool_*direct* | runtime_probe*) return 0 ;;
    esac
    return 1
}

definitions() {
    sed -n '1s,^// options: ,,p' "$1" | tr ' ' '\n' | grep '^-D' | tr '\n' ' '
}

compile_nvidia() {
    # shellcheck disable=SC2046
    "$clang" -x cl -cl-std=CL1.2 -target nvptx64--nvidiacl -march=sm_80 -O3 -S -cl-denorms-are-zero \
        -Xclang -finclude-default-header -Xclang -mlink-builtin-bitcode -Xclang "$clc/nvptx64--nvidiacl.bc" \
        -Wno-linker-warnings -Wno-unknown-attributes $(definitions "$1") -include "$work/shim.h" "$1" \
        -o "$work/out.ptx" >"$work/log" 2>&1 || { fail "nvidia $1" "$work/log"; return; }
    [ -n "$ptxas" ] || return
    "$ptxas" -v -arch=sm_80 "$work/out.ptx" -o "$work/out.cubin" >"$work/log" 2>&1 ||
        { fail "nvidia (ptxas) $1" "$work/log"; return; }
    if is_gpu_family "$1" && grep -E '[1-9][0-9]* bytes (stack frame|spill)' "$work/log" >/dev/null; then
        fail "nvidia (stack or spill) $1" "$work/log"
    fi
    grep -E 'registers' "$work/log" | sed "s,^.*Used,nvidia $(basename "$1"): used,"
}

compile_amd() {
    for processor in gfx90a gfx1100; do
        # shellcheck disable=SC2046
        "$clang" -x cl -cl-std=CL1.2 -target amdgcn--amdhsa -mcpu=$processor -nogpulib -O3 -c -cl-denorms-are-zero \
            -Xclang -finclude-default-header -Xclang -mlink-builtin-bitcode -Xclang "$clc/amdgcn--amdhsa.bc" \
            -Wno-linker-warnings $(definitions "$1") -Rpass-analysis=kernel-resource-usage "$1" -o "$work/out.o" \
            >"$work/log" 2>&1 || { fail "amd $processor $1" "$work/log"; continue; }
        spills=$(grep -oE 'ScratchSize \[bytes/lane\]: [1-9][0-9]*' "$work/log" | head -n 1)
        if [ -n "$spills" ] && is_gpu_family "$1"; then
            echo "amd $processor $(basename "$1"): $spills"
        fi
    done
}

clc=/usr/lib/clc
[ -e "$clc/nvptx64--nvidiacl.bc" ] || clc=/usr/lib/clc-19
for program in "$programs"/*.cl; do
    [ -e "$program" ] || { echo "no program in $programs"; exit 1; }
    is_gpu_family "$program" || continue
    count=$((count + 1))
    compile_nvidia "$program"
    compile_amd "$program"
done
echo "$count programs for NVIDIA and AMD, $failed failures"
[ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
