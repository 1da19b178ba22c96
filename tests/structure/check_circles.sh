#!/bin/sh
# SPDX-License-Identifier: MIT
# check_circles.sh ROOT BUILD: no circles in src and bench. A unit is a stem, its .c and .h together. An arrow goes
# from a unit to what it includes and, within a folder, to the unit that defines a symbol which it uses; the objects of
# BUILD say which.
# Prints the arrows of each circle, "from -> to: why", and exits 1 if there was any.
set -eu
LC_ALL=C
export LC_ALL
cd "$1"
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find src bench -name '*.[ch]' 2> /dev/null | sort > "$work/files"
# FROM TO WHY: an include is looked for beside src and beside bench, as the compiler does.
xargs awk '
    FNR == NR { sub(/\.[ch]$/, "", $0); is_unit[$0] = 1; next }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
        from = FILENAME; sub(/\.[ch]$/, "", from)
        to = header; sub(/\.h$/, "", to)
        if (FILENAME ~ /^bench\// && ("bench/" to) in is_unit) {
            to = "bench/" to
        } else if (("src/" to) in is_unit) {
            to = "src/" to
        } else {
            next
        }
        if (from != to) print from, to, header
    }' "$work/files" < "$work/files" > "$work/arrows"

find "$build" -name '*.c.o' -path '*/CMakeFiles/*.dir/*' > "$work/objects"
if [ -s "$work/objects" ]; then
    xargs nm -A < "$work/objects" > "$work/symbols" 2> /dev/null
    # .../src/train/CMakeFiles/husk_train_objects.dir/graph/run.c.o:0000 T husk__run -> src/train/graph/run
    awk '
        FNR == NR { if (sub(/\.c$/, "", $0)) is_unit[$0] = 1; next } # objects of files that are gone may be there
        {
            unit = $1
            sub(/\.c\.o:.*/, "", unit)
            sub(/\/CMakeFiles\/[^\/]*\.dir\//, "/", unit)
            if (!match(unit, /\/(src|bench)\/[^:]*$/)) next
            unit = substr(unit, RSTART + 1)
            while (!(unit in is_unit) && match(substr(unit, 2), /\/(src|bench)\//)) unit = substr(unit, RSTART + 2)
            if (!(unit in is_unit)) next
            if ($(NF - 1) ~ /^[TDRBC]$/) defines[$NF] = unit
            else if ($(NF - 1) == "U") uses[unit " " $NF] = 1
        }
        END {
            for (pair in uses) {
                split(pair, part, " ")
                from = part[1]; to = defines[part[2]]
                folder = from; sub(/\/[^\/]*$/, "", folder)
                other = to; sub(/\/[^\/]*$/, "", other)
                if (to != "" && to != from && folder == other) print from, to, part[2]
            }
        }' "$work/files" "$work/symbols" > "$work/used"
    # Objects for link-time optimisation show nm no symbols: nothing would be looked at.
    [ -s "$work/used" ] || { echo "the objects of $build use no symbol of each other"; exit 1; }
    cat "$work/used" >> "$work/arrows"
fi

cut -d ' ' -f 1,2 "$work/arrows" | sort -u > "$work/pairs"
if tsort "$work/pairs" > /dev/null 2> "$work/loops"; then
    units=$(sed 's/\.[ch]$//' "$work/files" | sort -u | wc -l)
    echo "no circles: $(wc -l < "$work/pairs") arrows between $units units"
    exit 0
fi
# tsort names the units of each loop, a line each.
awk '
    FNR == NR { if (!(($1, $2) in why)) why[$1, $2] = $3; next }
    /contains a loop/ { if (count) finish(); count = 0; next }
    { unit[++count] = $NF }
    function finish(    i, from, to) {
        print "a circle:"
        for (i = 1; i <= count; i++) {
            from = unit[i]; to = unit[i % count + 1]
            if ((from, to) in why) print "    " from " -> " to ": " why[from, to]
            else if ((to, from) in why) print "    " to " -> " from ": " why[to, from]
        }
    }
    END { finish() }' "$work/arrows" "$work/loops"
exit 1
