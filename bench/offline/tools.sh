# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Sourced by offline.sh and compile_program.sh: the targets, the compilers for them, and where they are.

nvidia_targets="sm_70 sm_80 sm_90"
amd_targets="gfx1100 gfx1201 gfx90a gfx942"
intel_targets="skl tgllp dg2 pvc"
all_targets="$nvidia_targets $amd_targets $intel_targets spirv" # of portable programs
known_targets="$all_targets sapphirerapids"

vendor_of() {
    case $1 in
    sm_*) echo nvidia ;;
    gfx*) echo amd ;;
    spirv) echo spirv ;;
    sapphirerapids) echo x86 ;;
    *) echo intel ;;
    esac
}

# The targets that a name stands for; fails where it is none.
targets_named() {
    case $1 in
    all) echo "$all_targets" ;;
    nvidia) echo "$nvidia_targets" ;;
    amd) echo "$amd_targets" ;;
    intel) echo "$intel_targets" ;;
    none) ;;
    *) case " $known_targets " in *" $1 "*) echo "$1" ;; *) return 1 ;; esac ;;
    esac
}

# CLC: libclc's folder. PTXAS: NVIDIA's assembler, "" where there is none. OCLOC: Intel's compiler, OCLOC_LIBRARIES
# its folder where ./run has only unpacked it.
find_tools() {
    CLANG=$(command -v clang-19 || true)
    CLC=
    for folder in /usr/lib/clc /usr/lib/clc-19 /usr/share/clc; do
        [ -e "$folder/nvptx64--nvidiacl.bc" ] && [ -e "$folder/amdgcn--amdhsa.bc" ] && CLC=$folder
    done
    PTXAS=$(command -v ptxas || true)
    for folder in /usr/local/cuda/bin /opt/cuda/bin /usr/lib/nvidia-cuda-toolkit/bin; do
        [ -z "$PTXAS" ] && [ -x "$folder/ptxas" ] && PTXAS=$folder/ptxas
    done
    OCLOC=$(command -v ocloc || true)
    OCLOC_LIBRARIES=
    if [ -z "$OCLOC" ] && [ -x "$OFFLINE/intel/usr/bin/ocloc" ]; then
        OCLOC=$OFFLINE/intel/usr/bin/ocloc
        OCLOC_LIBRARIES=$(dirname "$(find "$OFFLINE/intel/usr/lib" -name libocloc.so | head -n 1)")
    fi
    CLANG_SPIRV=$(command -v clang-14 || true)
    LLVM_SPIRV=$(command -v llvm-spirv-14 || true)
    SPIRV_VAL=$(command -v spirv-val || true)
    export CLANG CLC PTXAS OCLOC OCLOC_LIBRARIES CLANG_SPIRV LLVM_SPIRV SPIRV_VAL
}

# The architecture that ptxas assembles a target for: the next one where it has dropped the target's own, with as many
# registers. Empty where there is no ptxas.
ptxas_architecture() {
    [ -n "$PTXAS" ] || return 0
    for architecture in "$1" sm_75 sm_80; do
        if "$PTXAS" --help 2>&1 | grep -q "'$architecture'"; then
            echo "$architecture"
            return 0
        fi
    done
}

# What is missing for a target, "" for nothing.
missing_for() {
    case $(vendor_of "$1") in
    nvidia | amd)
        [ -n "$CLANG" ] || echo "clang-19 (package clang-19)"
        [ -n "$CLC" ] || echo "libclc for nvptx and amdgcn (package libclc-19)"
        ;;
    x86) [ -n "$CLANG" ] || echo "clang-19 (package clang-19)" ;;
    intel) [ -n "$OCLOC" ] || echo "ocloc (package intel-opencl-icd; ./run unpacks it into build/offline)" ;;
    spirv)
        [ -n "$CLANG_SPIRV" ] || echo "clang-14 (package clang-14)"
        [ -n "$LLVM_SPIRV" ] || echo "llvm-spirv-14 (package llvm-spirv-14)"
        [ -n "$SPIRV_VAL" ] || echo "spirv-val (package spirv-tools)"
        ;;
    esac
}

# Tools and their versions in a line: a kept result is another tool's where this differs.
tools_of() {
    case $(vendor_of "$1") in
    nvidia)
        if [ -n "$PTXAS" ]; then
            version=$("$PTXAS" --version | sed -n 's/^Cuda compilation tools, //p')
            echo "$("$CLANG" --version | head -n 1), ptxas $version for $(ptxas_architecture "$1")"
        else
            echo "$("$CLANG" --version | head -n 1), not assembled"
        fi
        ;;
    amd | x86) "$CLANG" --version | head -n 1 ;;
    intel) echo "ocloc $(cksum < "${OCLOC_LIBRARIES:-/usr/lib/x86_64-linux-gnu}/libigc.so.1" | tr ' ' '-')" ;;
    spirv) echo "$("$CLANG_SPIRV" --version | head -n 1), $("$SPIRV_VAL" --version | head -n 1)" ;;
    esac
}
