#!/bin/sh
# SPDX-License-Identifier: MIT
# configurations.sh PROGRAM ROOT: so many configurations of every operator (./run test --tier configurations), for
# HUSK_CONFIGURATIONS_SECONDS at most (0: to the end). What was found is added to build/configurations/TREE.tsv, and the
# next run on the same tree goes on from there; while there is more to do, the test is said to be skipped. TREE.program
# has the hash of the program that found it: what another one found, built of another tree, is put aside. What another
# device, or other kernels and variants, have computed (tests/tools/other_device.sh), or another seed has
# drawn (HUSK_CONFIGURATIONS_SEED, 2026), is in a file of its own.
set -eu
export POCL_SIGFPE_HANDLER=0 # a whole number divided by zero is a finding (cmake/HuskTests.cmake)
program=$1 root=$2
tree=$("$root/tests/tools/tree_hash.sh" "$root")
mkdir -p "$root/build/configurations"
file=$root/build/configurations/$tree
seed=${HUSK_CONFIGURATIONS_SEED:-2026}
[ "$seed" = 2026 ] || file=$file-seed-$seed
file=$file$("$root/tests/tools/other_device.sh")
hash=$(sha256sum "$program" | cut -c 1-16)
if [ -f "$file.tsv" ] && [ -f "$file.program" ] && [ "$(cat "$file.program")" != "$hash" ]; then
    echo "What is known of this tree was found by another program: it is put aside, and begun anew."
    mv "$file.tsv" "$file-$(cat "$file.program").tsv"
fi
echo "$hash" > "$file.program"
status=0
"$program" --file "$file.tsv" --seconds "${HUSK_CONFIGURATIONS_SECONDS:-0}" \
    --seed "$seed" || status=$?
[ "$status" -ne 3 ] || { echo "There is more to do; the same command goes on from here."; exit 77; }
exit "$status"
