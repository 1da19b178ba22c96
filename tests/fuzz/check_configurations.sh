#!/bin/sh
# SPDX-License-Identifier: MIT
# check_configurations.sh CONFIGURATIONS ROOT: what it makes of a file: distinct calls count once, a line that was cut
# off does not count, and wrong, inconclusive and missing ones have their exit status. Then which file configurations.sh
# gives it.
set -eu
program=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

line() { # line VERDICT FORM COUNT
    printf 'activation\t%s\t0.5\t%s\tactivation count=%s\t\n' "$1" "$2" "$3"
}

expect() { # expect WHAT STATUS TEXT, of the file
    status=0
    "$program" --file "$work/file" --summary --op activation --others 3 > "$work/out" || status=$?
    if [ "$status" -ne "$2" ] || ! grep -q "$3" "$work/out"; then
        echo "$1: exit status $status instead of $2, or not said: $3"
        cat "$work/out"
        failed=1
    fi
}

: > "$work/file"
expect 'no file yet' 3 '1 operators and gradients to go'
{ line right - 5; line right - 5; line right vector 5; } > "$work/file"
expect 'a call that is there twice' 3 '^activation  *3  *2  *1 '
line right - 7 | tr -d '\n' >> "$work/file"
expect 'a line that was cut off' 3 '^2 configurations of 1 cases right'
{ line right - 5; line right vector 5; printf 'activation\tright\t0.5\t-\tactivation count=7\n'; } > "$work/file"
expect 'a line that was cut off, and ended by the next run' 3 '^2 configurations of 1 cases right'
{ line right - 5; line right vector 5; line empty - 0; } > "$work/file"
expect 'one without an output' 3 '^2 configurations of 1 cases right'
{ line right - 5; line right - 6; line right vector 6; line refused grid 6; } > "$work/file"
expect 'as many as are wanted' 0 '^3 configurations of 2 cases right, 0 over the bound, .* 1 refused'
line wrong grid 5 >> "$work/file"
expect 'one over the bound' 1 ' 1 over the bound'
{ line right - 5; line right - 6; line right vector 6; line crashed grid 6; } > "$work/file"
expect 'one that crashed' 1 ' 1 over the bound'
{ line right - 5; line right - 6; line right vector 6; line inconclusive - 1; } > "$work/file"
expect 'too much that proves nothing' 1 ' 1 of which too much is inconclusive'

# Another seed, device or program has a file of its own; the same ones go on with theirs.
mkdir -p "$work/tree/tests/fuzz"
cp -r "$root/tests/tools" "$work/tree/tests/tools"
cat > "$work/program" <<'END'
#!/bin/sh
echo a line >> "$2"
END
chmod +x "$work/program"
# shellcheck disable=SC2046 # names are words
unset HUSK_CONFIGURATIONS_SEED HUSK_CONFIGURATIONS_SECONDS $(cat "$root/tests/tools/other_device.txt")

configurations() { # configurations FILES LINES: how many there are then, and lines in all
    "$root/tests/fuzz/configurations.sh" "$work/program" "$work/tree" > "$work/out"
    set -- "$@" "$work/tree/build/configurations"/*.tsv
    if [ $(($# - 2)) -ne "$1" ] || [ "$(cat "$work/tree/build/configurations"/*.tsv | wc -l)" -ne "$2" ]; then
        echo "instead of $1 files with $2 lines there are:"
        wc -l "$work/tree/build/configurations"/*
        failed=1
    fi
}

configurations 1 1
configurations 1 2
HUSK_CONFIGURATIONS_SEED=7 configurations 2 3
HUSK_CONFIGURATIONS_SEED=2026 configurations 2 4
HUSK_LIMITS=f64=0 configurations 3 5
POCL_DEVICES=basic configurations 4 6
POCL_DEVICES=basic HUSK_CONFIGURATIONS_SEED=7 configurations 5 7
configurations 5 8
echo '# another program' >> "$work/program"
configurations 6 9
grep -q 'by another program' "$work/out" || failed=1
exit "$failed"
