#!/bin/sh
# SPDX-License-Identifier: MIT
# The tier itself: kernels that spill, have a stack frame, do not compile or need a unit that the device lacks are found
# on every target whose compiler is here, and a kernel that does none of this passes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
main=${HUSK_OFFLINE_DIR:-$root/build/offline}
HUSK_OFFLINE_DIR=$main/planted
export HUSK_OFFLINE_DIR
mkdir -p "$HUSK_OFFLINE_DIR"
ln -sfn "$main/intel" "$HUSK_OFFLINE_DIR/intel"
OFFLINE=$HUSK_OFFLINE_DIR
compilers=$root/bench/offline
. "$compilers/tools.sh"
find_tools
out=$HUSK_OFFLINE_DIR/out
status=0
count=0

wrong() {
    echo "$*"
    status=1
}

plant() { # plant FOLDER NAME...: programs as list_programs lays them out
    folder=$HUSK_OFFLINE_DIR/$1/gpu
    rm -rf "$folder"
    mkdir -p "$folder"
    shift
    for name in "$@"; do
        { echo "// options: -cl-std=CL1.2 -cl-denorms-are-zero -DVW=4 -DSIDE=1"; cat "$here/planted_$name.cl"; } \
            > "$folder/planted_$name-00000000.cl"
    done
}

compile() { # compile FOLDER ARGUMENTS...
    folder=$1
    shift
    "$here/offline.sh" - --programs "$HUSK_OFFLINE_DIR/$folder" "$@" > "$out" 2>&1
}

is_there() { # is_there TARGET: its compiler, and one that says what a kernel takes
    [ -z "$(missing_for "$1")" ] && { [ "$(vendor_of "$1")" != nvidia ] || [ -n "$PTXAS" ]; }
}

plant mistakes spills stack error right
plant unit dpas
plant frame stack
for target in $all_targets; do
    if ! is_there "$target"; then
        echo "MISSING $target: no compiler, so nothing is planted for it"
        continue
    fi
    count=$((count + 1))
    compile mistakes "$target" && wrong "$target: planted mistakes pass"
    grep -q "^FAILED $target: gpu/planted_error.cl" "$out" || wrong "$target: what does not compile is not found"
    grep -q '^FAILED .*planted_right' "$out" && wrong "$target: a kernel without mistakes fails"
    [ "$target" != spirv ] || continue
    grep -q "^FAILED $target planted_spills .* bytes of spills" "$out" || wrong "$target: spills are not found"
    grep -q "^FAILED $target planted_stack .* of stack" "$out" || wrong "$target: a stack frame is not found"
done

if is_there skl; then
    compile unit skl && wrong "skl: a unit that it does not have is not missed"
    grep -qi '^FAILED skl: gpu/planted_dpas.cl.*invalid opcode' "$out" || wrong "skl: INVALID opcode is not found"
    compile unit dg2 || { cat "$out"; wrong "dg2: the unit that it has is missed"; }
fi

# What is allowed passes, until it grows beyond that.
if is_there gfx1100; then
    allowed=$HUSK_OFFLINE_DIR/allowed
    echo 'amd * planted_s*; 4096; planted' > "$allowed"
    compile frame --allowed "$allowed" gfx1100 || { cat "$out"; wrong "what allowed.txt names fails"; }
    echo 'amd * planted_s*; 8; planted' > "$allowed"
    compile frame --allowed "$allowed" gfx1100 && wrong "growth beyond what is allowed passes"
    grep -q '^FAILED gfx1100 planted_stack .* allows 8$' "$out" || wrong "what allowed.txt allows is not named"
fi

# Registers beyond the limit beside the kernel, a limit that is missing, and one that is no limit.
for target in sm_80 gfx1100; do
    is_there "$target" || continue
    registers() { # registers LIMITS...: planted_right's program with these limits
        plant limits right
        program=$folder/planted_right-00000000.cl
        {
            sed 1q "$program"
            printf '// registers %s\n' "$@"
            sed '1d; /^\/\/ registers/d' "$program"
        } > "$folder/changed"
        mv "$folder/changed" "$program"
        compile limits "$target"
    }
    registers "planted_right: nvidia 0, amd 0" && wrong "$target: registers beyond the limit pass"
    grep -qE "^FAILED $target planted_right .*: [0-9]+ registers, where the limit is 0$" "$out" ||
        { cat "$out"; wrong "$target: registers beyond the limit are not found"; }
    registers "planted_wrong: nvidia 64, amd 64" && wrong "$target: a kernel without a limit passes"
    grep -q "^FAILED $target planted_right .*no limit for" "$out" || wrong "$target: no limit, and it is not said"
    registers "planted_right: nvidia 63, amd 63" && wrong "$target: a limit that is no multiple of 8 passes"
    registers "planted_right SIDE=2: nvidia 0, amd 0" "planted_right SIDE=1: nvidia 64, amd 64" ||
        { cat "$out"; wrong "$target: the limit of another configuration counts"; }
done
echo "$count targets: planted mistakes were looked for"
[ "$count" -gt 0 ] || exit 77
exit $status
