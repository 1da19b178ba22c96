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
        { echo "// options: -cl-std=CL1.2 -cl-denorms-are-zero -DVW=4"; cat "$here/planted_$name.cl"; } \
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

# What is allowed passes, until it grows beyond the kept table.
if is_there gfx1100; then
    allowed=$HUSK_OFFLINE_DIR/allowed kept=$HUSK_OFFLINE_DIR/kept
    echo 'amd * planted_s* *; planted' > "$allowed"
    grow() {
        compile frame --allowed "$allowed" "$@" gfx1100
    }
    grow || { cat "$out"; wrong "what allowed.txt names fails"; }
    cp "$HUSK_OFFLINE_DIR/table.tsv" "$kept"
    grow --table "$kept" || { cat "$out"; wrong "the same table differs"; }
    sed 's,/1[0-9]*/0[^0-9],/16/0\t,' "$HUSK_OFFLINE_DIR/table.tsv" > "$kept"
    cmp -s "$kept" "$HUSK_OFFLINE_DIR/table.tsv" && wrong "the table has no stack frame to shrink: $(cat "$kept")"
    grow --table "$kept" && wrong "growth beyond the table passes"
    grep -q '^FAILED grown' "$out" || wrong "growth is not named"
    # A table that is made in pieces: each target's columns stay when another's are written.
    rm "$kept"
    grow --table "$kept" --update || { cat "$out"; wrong "the table is not written"; }
    cp "$kept" "$kept.first"
    compile frame --allowed "$allowed" --table "$kept" --update gfx942 || { cat "$out"; wrong "nor its other columns"; }
    grep -v '^#' "$kept.first" | cut -f 1-7 > "$kept.cut"
    grep -v '^#' "$kept" | cut -f 1-7 | cmp -s - "$kept.cut" || wrong "another target's columns are lost"
    [ "$(grep -c '^# gfx' "$kept")" -eq 2 ] || wrong "the tools of both are not named: $(grep '^#' "$kept")"
    cut -f 10 "$kept" | grep -q '/' || wrong "the second target has no column: $(cat "$kept")"
    grow --table "$kept" || { cat "$out"; wrong "the table in pieces differs"; }
fi
echo "$count targets: planted mistakes were looked for"
[ "$count" -gt 0 ] || exit 77
exit $status
