#!/bin/sh
# SPDX-License-Identifier: MIT
# Every kernel in every configuration, through the compilers of vendors whose hardware is not here: docs/offline.md.
#
#     offline.sh LIST_PROGRAMS [--update] [--programs FOLDER [--table FILE] [--allowed FILE]] [TARGET...]
#
# LIST_PROGRAMS is the program made of list_programs.c. Targets: those of tools.sh, nvidia, amd, intel, or all, which
# is the default. --update writes the targets' columns of the table docs/offline.tsv. --programs takes FOLDER's
# programs, as list_programs lays them out, instead of the library's, and compares with FILE.
# Exit 0: all is well; 1: something fails; 77: no compiler for any of the targets is here.
set -u
LC_ALL=C
export LC_ALL
tab=$(printf '\t')
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
compilers=$root/bench/offline
. "$compilers/tools.sh"
OFFLINE=${HUSK_OFFLINE_DIR:-$root/build/offline}
export OFFLINE
jobs=${HUSK_OFFLINE_JOBS:-$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)}
recipe=1 # another number forgets all results: for a change of what compile_program.sh asks of a compiler

list_programs=$1
shift
update=no programs="" wanted="" allowed=$here/allowed.txt kept=$root/docs/offline.tsv
while [ $# -gt 0 ]; do
    case $1 in
    --update) update=yes ;;
    --programs) programs=$2 kept="" && shift ;;
    --table) kept=$2 && shift ;;
    --allowed) allowed=$2 && shift ;;
    all) wanted=$known_targets ;;
    *)
        wanted="$wanted $(targets_named "$1")" || {
            echo "there is no target $1; targets: all nvidia amd intel $known_targets" >&2
            exit 2
        }
        ;;
    esac
    shift
done
wanted=${wanted:-$known_targets}
find_tools
work=$OFFLINE/work
rm -rf "$work"
mkdir -p "$work/plain" "$OFFLINE/results"
status=0

# ---- which targets can be compiled for ------------------------------------------------------------------

# Results are kept by target and tools.
begin_target() {
    target=$1
    missing=$(missing_for "$target")
    if [ -n "$missing" ]; then
        echo "$missing" | sed "s/^/MISSING $target: no /; s/\$/: nothing is compiled for it/"
        return 0
    fi
    targets="$targets $target"
    tools=$(tools_of "$target")
    echo "# $target: $tools" >> "$work/tools"
    folder=$OFFLINE/results/$target-$(echo "recipe $recipe, $tools" | sha256sum | cut -c 1-12)
    eval "RESULTS_$target=\$folder; export RESULTS_$target"
    mkdir -p "$folder/preprocessed"
    find "$folder" -maxdepth 1 -type f ! -name '*.new' | sed "s,^.*/,$target$tab," >> "$work/have"
    echo "$target$tab$(vendor_of "$target")$tab$folder" >> "$work/vendors"
    case $(vendor_of "$target"):$(ptxas_architecture "$target") in
    nvidia:) echo "MISSING $target: no ptxas, which comes with a CUDA toolkit alone: compiled to PTX, not assembled" ;;
    nvidia:"$target") ;;
    nvidia:*) echo "MISSING $target: this ptxas has dropped it; assembled for $(ptxas_architecture "$target")" ;;
    esac
}

targets=""
: > "$work/tools"
: > "$work/have"
: > "$work/vendors"
for target in $wanted; do
    begin_target "$target"
done
[ -n "$targets" ] || exit 77

# ---- the programs ---------------------------------------------------------------------------------------

make_programs() {
    programs=$OFFLINE/programs
    rm -rf "$programs"
    mkdir -p "$programs"
    "$list_programs" "$programs" || status=1
    for file in "$root"/cl/*/*.cl; do
        name=${file#"$root"/cl/}
        program=$(echo "${name%.cl}" | tr / _) # as the library names it, see src/runtime/program.c
        if ! ls "$programs"/*/"$program"-????????.cl > /dev/null 2>&1; then
            echo "FAILED cl/$name is in no program"
            status=1
        fi
    done
    check_dtypes > "$work/dtypes"
    cat "$work/dtypes"
    [ ! -s "$work/dtypes" ] || status=1
}

# The dtypes that docs/operators.md gives an operator are those that programs were made in: a word of the column.
check_dtypes() {
    awk 'FNR == NR { name = $1; $1 = ""; took[name] = $0 " "; next }
        /^\| [a-z0-9_]+ \|/ {
            split($0, column, " *[|] *")
            text = column[7]
            gsub(/[^a-z0-9]+/, " ", text)
            count = split(text, word, " ")
            for (i = 1; i <= count; ++i)
                if (word[i] ~ /^(f32|f16|bf16|f64)$/ && column[2] in took && !index(took[column[2]], " " word[i] " "))
                    print "FAILED " column[2] " ran with no tensor of " word[i] ", which docs/operators.md gives it"
        }' "$programs/dtypes.txt" "$root/docs/operators.md"
}

# Comments, the numbers of lines and indentation are no part of what is compiled: a hash of the rest names a result.
hash_programs() {
    ls -d -- */ | while read -r folder; do mkdir -p "$work/plain/$folder"; done
    awk -v plain="$work/plain/" '
        FNR == 1 { if (out) close(out); out = plain FILENAME; print > out
                   sub(/^\/\/ options: /, ""); print FILENAME "\t" $0; next }
        /^ *\/\// || /^#line/ || /^ *$/ { next }
        { sub(/^ +/, ""); print > out }' ./*/*.cl | sed 's,^\./,,' > "$work/programs"
    (cd "$work/plain" && find . -name '*.cl' -exec sha256sum {} + | sed "s, *\./,$tab,") > "$work/hashes"
}

# Which program for which targets: targets.txt, its names made targets first.
pair_programs() {
    grep -v '^#' "$here/targets.txt" | grep ';' | sed 's/ *#.*//; s/; */;/' | while IFS=';' read -r pattern names; do
        echo "$pattern;$(for name in $names; do targets_named "$name"; done | tr '\n' ' ')"
    done > "$work/rules"
    while IFS=$tab read -r program options; do
        name="${program%-????????.cl}.cl $options"
        while IFS=';' read -r pattern names; do
            # shellcheck disable=SC2254 # it is a pattern
            case $name in $pattern) echo "$program $names" && break ;; esac
        done < "$work/rules"
    done < "$work/programs" | awk -v targets="$targets" '
        BEGIN { n = split(targets, list, " "); for (i = 1; i <= n; ++i) is_wanted[list[i]] = 1 }
        { for (i = 2; i <= NF; ++i) if ($i in is_wanted) print $1 "\t" $i }'
}

[ -n "$programs" ] || make_programs
cd "$programs" || exit 1
hash_programs
pair_programs > "$work/pairs"

# ---- compiling and the table ----------------------------------------------------------------------------

awk -f "$here/jobs.awk" "$work/hashes" "$work/have" "$work/vendors" "$work/programs" "$work/pairs" |
    sort | cut -d ' ' -f 3- > "$work/jobs"
echo "$(wc -l < "$work/programs") programs, $(wc -l < "$work/pairs") pairs of program and target;" \
    "$(wc -l < "$work/jobs") programs to compile for a vendor, $jobs at a time"
xargs -r -P "$jobs" -n 3 sh "$compilers/compile_program.sh" < "$work/jobs"

awk -f "$here/cells.awk" "$work/hashes" "$work/vendors" "$work/programs" "$work/pairs" > "$work/cells"
{
    echo "# SPDX-License-Identifier: MIT"
    echo "# Made by ./run offline --update. Registers/bytes of spills/of stack/of local memory: see docs/offline.md."
    cat "$work/tools"
    printf 'file\tkernel\toptions'
    for target in $all_targets; do printf '\t%s' "$target"; done
    echo
    awk -v targets="$all_targets" -f "$here/rows.awk" "$work/cells" | sort
} > "$OFFLINE/table.tsv"
grep -v '^#' "$OFFLINE/table.tsv" | sed "s/$tab/  /g"
echo

# ---- judgement ------------------------------------------------------------------------------------------

for target in $targets; do
    awk -F '\t' -v target="$target" '
        $4 != target { next }
        { ++kernels; failed += $6 ~ /^FAILED/ }
        $5 == "gpu" && split($6, part, "/") == 4 { spills += part[2] > 0; stacks += part[3] > 0 }
        END { printf "%-8s %5d kernels, %d do not compile; of the GPU family %d spill, %d have a stack frame\n",
                  target, kernels, failed, spills, stacks }' "$work/cells"
done
awk -F '\t' 'sub(/^FAILED /, "", $6) { print "FAILED " $4 ": " $5 "/" $1 " " $3 ": " $6 }' "$work/cells" \
    > "$work/failures"

# Spills and stack frames, less those that are allowed.
grep -v '^#' "$allowed" | grep ';' | sed 's/ *;.*//' > "$work/allowed"
: > "$work/needed"
awk -F '\t' '
    FNR == NR { vendor[$1] = $2; next }
    $5 == "gpu" && split($6, part, "/") == 4 && part[2] + part[3] > 0 {
        print vendor[$4] " " $4 " " $2 " " $3 "\t" part[2] " bytes of spills, " part[3] " of stack: " $1
    }' "$work/vendors" "$work/cells" |
    while IFS=$tab read -r name what; do
        is_allowed=no
        while read -r pattern; do
            # shellcheck disable=SC2254 # it is a pattern
            case $name in $pattern) is_allowed=yes && echo "$pattern" >> "$work/needed" ;; esac
        done < "$work/allowed"
        [ $is_allowed = yes ] || echo "FAILED ${name#* }: $what" >> "$work/failures"
    done
if [ "$targets" = " $known_targets" ]; then
    sort -u "$work/allowed" | while read -r pattern; do
        grep -qxF -e "$pattern" "$work/needed" || echo "$(basename "$allowed"): nothing needs \"$pattern\""
    done
fi

if [ -n "$kept" ] && [ -e "$kept" ]; then
    grep '^# [a-z0-9_]*: ' "$kept" > "$work/kept-tools"
    grep -v '^# sapphirerapids: ' "$work/tools" | # the processor has no column
        grep -vxF -f "$work/kept-tools" | sed 's/^# /the kept table was made with other tools than /'
    awk -v targets="$targets" -f "$here/compare.awk" "$kept" "$OFFLINE/table.tsv" | sort > "$work/changes"
    grep '^FAILED' "$work/changes" >> "$work/failures"
    grep -v '^FAILED' "$work/changes" | head -n 200
    count=$(grep -cv '^FAILED' "$work/changes")
    [ "$count" -eq 0 ] || echo "$count cells differ from $(basename "$kept"): ./run offline --update keeps the new ones"
fi
if [ -n "$kept" ] && [ ! -e "$kept" ]; then
    echo "MISSING $(basename "$kept"): nothing is compared with; ./run offline --update makes it"
fi
sort -u "$work/failures"
[ ! -s "$work/failures" ] || status=1

# The kept table's columns of these targets; of the others it stays as it is.
if [ "$update" = yes ]; then
    [ -e "$kept" ] || : > "$kept"
    for target in $all_targets; do
        case " $targets " in
        *" $target "*) grep "^# $target: " "$OFFLINE/table.tsv" ;;
        *) grep "^# $target: " "$kept" ;;
        esac
    done > "$work/merged-tools"
    {
        grep '^# [A-Z]' "$OFFLINE/table.tsv"
        cat "$work/merged-tools"
        grep '^file' "$OFFLINE/table.tsv"
        awk -v targets="$targets" -f "$here/merge.awk" "$kept" "$OFFLINE/table.tsv" | sort
    } > "$work/merged" && mv "$work/merged" "$kept"
    echo "$(basename "$kept") is written:$targets"
fi
exit $status
