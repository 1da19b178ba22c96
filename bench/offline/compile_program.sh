#!/bin/sh
# SPDX-License-Identifier: MIT
# compile_program.sh PROGRAM HASH TARGET[,TARGET...]   compile one program for targets of one vendor
#
# PROGRAM is a file of list_programs, whose first line holds its options. What comes of it is the file
# HASH in the folder $RESULTS_<target>: a line for each kernel, with tabs: name, registers, bytes of spills, bytes of
# stack (or whatever a compiler calls its private memory), bytes of local memory; "-" is what nobody says. Or FAILED,
# a tab, and the compiler's first words. RESULTS_<target> and what find_tools finds come from offline.sh.
#
# The front end runs once for NVIDIA's targets. Before a compiler runs, the program is preprocessed: where that
# text has been compiled before, with the same options, its result counts.
set -u
here=$(dirname "$0")
. "$here/tools.sh"
program=$1
hash=$2
targets=$(echo "$3" | tr ',' ' ')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options=$(sed -n '1s,^// options: ,,p' "$program")

results_of() {
    eval "echo \"\$RESULTS_$1\""
}

# keep TARGET FILE: the result, under the hash of the program and that of its preprocessed text.
keep() {
    folder=$(results_of "$1")
    cp "$2" "$folder/$hash.new" && mv "$folder/$hash.new" "$folder/$hash"
    [ -z "$preprocessed" ] || ln -f "$folder/$hash" "$folder/preprocessed/$preprocessed"
}

# failed TARGET LOG: what the compiler said of it.
failed() {
    {
        printf 'FAILED\t'
        grep -vE '^(ShaderDump|Command was|Build (failed|succeeded)|Compilation from IR|$)' "$2" | head -n 4 |
            tr '\n\t' '  ' | cut -c 1-600
    } > "$work/failure"
    keep "$1" "$work/failure"
}

# The hash of what is left after preprocessing, into $preprocessed.
preprocess() { # preprocess FLAGS...
    preprocessed=$({
        echo "$options"
        "$CLANG" -E -P -x cl $options "$@" -Wno-unused-command-line-argument "$program" 2>&1
    } | sed '1s/-D[^ ]*//g' | sha256sum | cut -c 1-32)
}

# Whether the target's result is known from the same text.
is_known() {
    folder=$(results_of "$1")
    [ -e "$folder/preprocessed/$preprocessed" ] && ln -f "$folder/preprocessed/$preprocessed" "$folder/$hash"
}

# The architecture is written into every function by the front end; without it the back end's counts.
nvidia() {
    todo=
    preprocess -target nvptx64--nvidiacl -D__NV_CL_C_VERSION=120
    for target in $targets; do
        is_known "$target" || todo="$todo $target"
    done
    [ -n "$todo" ] || return 0
    set -- $todo
    if ! "$CLANG" -x cl $options -target nvptx64--nvidiacl -march="$1" -O3 -S -emit-llvm -D__NV_CL_C_VERSION=120 \
        -Xclang -finclude-default-header -Xclang -fdeclare-opencl-builtins \
        -Xclang -mlink-builtin-bitcode -Xclang "$CLC/nvptx64--nvidiacl.bc" -Wno-linker-warnings \
        -Wno-unknown-attributes -Wno-unused-command-line-argument -include "$here/nvidia.h" "$program" \
        -o "$work/all.ll" > "$work/log" 2>&1; then
        for target in $todo; do failed "$target" "$work/log"; done
        return 0
    fi
    sed -E 's/"target-(cpu|features)"="[^"]*"//g' "$work/all.ll" > "$work/any.ll"
    for target in $todo; do
        architecture=$(ptxas_architecture "$target")
        if ! { "$CLANG" -x ir -target nvptx64--nvidiacl -march="$target" -O3 -Xclang -disable-llvm-passes -S \
            -Wno-unused-command-line-argument -Wno-override-module "$work/any.ll" -o "$work/out.ptx" &&
            { [ -z "$architecture" ] ||
                "$PTXAS" -v -arch="$architecture" "$work/out.ptx" -o "$work/out.cubin"; }; } \
            > "$work/log" 2>&1; then
            failed "$target" "$work/log"
            continue
        fi
        if [ -n "$architecture" ]; then
            awk "/Compiling entry function/ { split(\$0, part, \"'\"); name = part[2] }
                / bytes stack frame/ { stack = \$1; spill = \$5 > \$9 ? \$5 : \$9 }
                / Used [0-9]+ registers/ {
                    for (i = 1; i < NF; ++i) if (\$i == \"Used\") registers = \$(i + 1)
                    local = match(\$0, /[0-9]+ bytes smem/) ? substr(\$0, RSTART) + 0 : 0
                    print name \"\t\" registers \"\t\" spill \"\t\" stack \"\t\" local
                }" "$work/log" | sort > "$work/rows"
        else
            sed -n 's/^\.visible \.entry \([A-Za-z0-9_]*\).*/\1\t-\t-\t-\t-/p' "$work/out.ptx" | sort > "$work/rows"
        fi
        finish "$target"
    done
}

# A log without kernels proves nothing.
finish() {
    if [ -s "$work/rows" ]; then
        keep "$1" "$work/rows"
    else
        echo "no kernel was found in the compiler's output" > "$work/log"
        failed "$1" "$work/log"
    fi
}

# Scalar registers spill into lanes of vector registers, which costs no memory and is not counted: where it does cost
# memory it shows as scratch.
amd() {
    for target in $targets; do
        preprocess -target amdgcn--amdhsa -mcpu="$target" -nogpulib
        is_known "$target" && continue
        if ! "$CLANG" -x cl $options -target amdgcn--amdhsa -mcpu="$target" -nogpulib -O3 -c \
            -Xclang -finclude-default-header -Xclang -fdeclare-opencl-builtins \
            -Xclang -mlink-builtin-bitcode -Xclang "$CLC/amdgcn--amdhsa.bc" -Wno-linker-warnings \
            -Rpass-analysis=kernel-resource-usage -fno-caret-diagnostics "$program" -o "$work/out.o" \
            > "$work/log" 2>&1; then
            failed "$target" "$work/log"
            continue
        fi
        awk 'function value(  text) { text = $0; sub(/ \[-Rpass.*/, "", text); sub(/.*: /, "", text); return text }
            /remark: Function Name: / { name = value() }
            /remark: +VGPRs: / { registers = value() }
            /remark: +ScratchSize / { stack = value() }
            /remark: +VGPRs Spill: / { spill = 4 * value() }
            /remark: +LDS Size / {
                print name "\t" registers "\t" spill "\t" (stack > spill ? stack - spill : 0) "\t" value() }' \
            "$work/log" | sort > "$work/rows"
        finish "$target"
    done
}

# The binary itself says what a kernel takes: the section .ze_info. A unit that a device does not have ("INVALID opcode
# dpas") is at most warned of, in the log of a success.
intel() {
    preprocessed=
    # Its header has the functions of this extension under the extension's name, which it defines for no target.
    case "$options" in
    *-DENGINE_INTEL_DPAS*) options="$options -Dcl_intel_subgroup_matrix_multiply_accumulate" ;;
    esac
    for target in $targets; do
        rm -rf "$work/out"
        LD_LIBRARY_PATH=$OCLOC_LIBRARIES${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$OCLOC" compile -file "$program" \
            -device "$target" -out_dir "$work/out" -options "$options" -internal_options -ze-allow-zebin \
            > "$work/log" 2>&1
        code=$?
        binary=$(find "$work/out" -name '*.bin' 2> /dev/null | head -n 1)
        if [ $code -ne 0 ] || [ -z "$binary" ] || grep -qiE 'invalid opcode|error|internal comp' "$work/log"; then
            failed "$target" "$work/log"
            continue
        fi
        readelf -p .ze_info "$binary" > "$work/info"
        if grep -q has_dpas "$work/info" && { [ "$target" = skl ] || [ "$target" = tgllp ]; }; then
            echo "INVALID opcode dpas: $target has no matrix unit" > "$work/log"
            failed "$target" "$work/log"
            continue
        fi
        sed -E 's/^ *\[ *[0-9a-f]+\] {2}//; s/^ {12}//; s/\\n$//' "$work/info" | awk '
            function put() {
                if (name != "" && name !~ /^Intel_Symbol/)
                    print name "\t" registers "x" lanes "\t" spill "\t" stack "\t" local
                name = ""
            }
            /kernels_misc_info:|^functions:/ { put(); exit }
            /^ *- name: +/ { put(); name = $3; registers = lanes = "-"; spill = stack = local = 0; kind = "" }
            $1 == "grf_count:" { registers = $2 }
            $1 == "simd_size:" { lanes = $2 }
            $1 == "slm_size:" { local = $2 }
            /- type: / { kind = "" }
            $1 == "usage:" { kind = $2 }
            $1 == "size:" && kind ~ /spill|single_space/ { spill += $2 }
            $1 == "size:" && kind ~ /private/ { stack += $2 }
            END { put() }' | sort > "$work/rows"
        finish "$target"
    done
}

# clang-14 puts an initialiser of zeros where SPIR-V has no room for it, into no address space; later versions put it
# among the constants, as this does.
constants() {
    from='@llvm\.memcpy\.p0i8\.p0i8\.i64\((.*), i8\* align ([0-9]+)'
    from="$from"' bitcast \((\[[^]]*\])\* (@constinit[.0-9]*) to i8\*\)'
    to='@llvm.memcpy.p0i8.p2i8.i64(\1, i8 addrspace(2)* align \2 bitcast (\3 addrspace(2)* \4 to i8 addrspace(2)*)'
    sed -E "/^@constinit/s/private global/private addrspace(2) constant/; /@constinit/s/$from/$to/" "$1"
    if grep -q '^@constinit' "$1" && ! grep -q '^declare void @llvm.memcpy.p0i8.p2i8.i64' "$1"; then
        echo 'declare void @llvm.memcpy.p0i8.p2i8.i64(i8*, i8 addrspace(2)*, i64, i1 immarg)'
    fi
}

spirv() {
    if [ -n "$CLANG" ]; then
        preprocess -target spir64-unknown-unknown
        is_known spirv && return 0
    else
        preprocessed=
    fi
    if "$CLANG_SPIRV" -x cl $options -target spir64-unknown-unknown -Xclang -finclude-default-header \
        -Xclang -fdeclare-opencl-builtins -O0 -Xclang -disable-O0-optnone -S -emit-llvm "$program" -o "$work/out.ll" \
        > "$work/log" 2>&1 && constants "$work/out.ll" > "$work/constants.ll" &&
        "$CLANG_SPIRV" -x ir -target spir64-unknown-unknown -O0 -emit-llvm -c "$work/constants.ll" -o "$work/out.bc" \
            > "$work/log" 2>&1 &&
        "$LLVM_SPIRV" --spirv-max-version=1.2 "$work/out.bc" -o "$work/out.spv" > "$work/log" 2>&1 &&
        "$SPIRV_VAL" --target-env opencl2.2 "$work/out.spv" > "$work/log" 2>&1; then
        sed -n 's/^define .*spir_kernel void @\([A-Za-z0-9_]*\)(.*/\1\t-\t-\t-\t-/p' "$work/out.ll" |
            sort > "$work/rows"
        finish spirv
    else
        failed spirv "$work/log"
    fi
}

# For CPUs' engines, whose instructions an assembler has to know. What a CPU's OpenCL makes of the rest is tested.
x86() {
    preprocess -target x86_64-linux-gnu -march="$targets"
    is_known "$targets" && return 0
    if "$CLANG" -x cl $options -target x86_64-linux-gnu -march="$targets" -O2 -c -Xclang -finclude-default-header \
        -Xclang -fdeclare-opencl-builtins "$program" -o "$work/out.o" > "$work/log" 2>&1; then
        readelf -sW "$work/out.o" | awk '$4 == "FUNC" && $5 == "GLOBAL" && $8 ~ /^husk_/ { print $8 "\t-\t-\t-\t-" }' |
            sort > "$work/rows"
        finish "$targets"
    else
        failed "$targets" "$work/log"
    fi
}

set -- $targets
"$(vendor_of "$1")"
