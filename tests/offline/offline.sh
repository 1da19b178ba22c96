#!/bin/sh
# SPDX-License-Identifier: MIT
# Every kernel in every configuration, through the compilers of vendors whose hardware is not here: docs/offline.md.
#
#     offline.sh LIST_PROGRAMS [--programs FOLDER [--allowed FILE]] [TARGET...]
#
# LIST_PROGRAMS is the program made of list_programs.c. Targets: those of tools.sh, nvidia, amd, intel, or all, which
# is the default. --programs takes FOLDER's programs, as list_programs lays them out, instead of the library's, and
# --allowed another list of known spills.
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
programs="" wanted="" allowed=$here/allowed.txt
while [ $# -gt 0 ]; do
    case $1 in
    --programs) programs=$2 && shift ;;
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
    echo "$target: $tools"
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
    # The limits beside the kernels, as the first program with them has them.
    grep -h '^// registers [a-z0-9]*_' ./*/*.cl | awk '!had[$0]++' > "$work/limits"
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

# ---- compiling, and what was found ----------------------------------------------------------------------------

awk -f "$here/jobs.awk" "$work/hashes" "$work/have" "$work/vendors" "$work/programs" "$work/pairs" |
    sort | cut -d ' ' -f 3- > "$work/jobs"
echo "$(wc -l < "$work/programs") programs, $(wc -l < "$work/pairs") pairs of program and target;" \
    "$(wc -l < "$work/jobs") programs to compile for a vendor, $jobs at a time"
xargs -r -P "$jobs" -n 3 sh "$compilers/compile_program.sh" < "$work/jobs"

awk -f "$here/cells.awk" "$work/hashes" "$work/vendors" "$work/programs" "$work/pairs" > "$work/cells"
{
    printf 'file\tkernel\toptions'
    for target in $all_targets; do printf '\t%s' "$target"; done
    echo
    awk -v targets="$all_targets" -f "$here/rows.awk" "$work/cells" | sort
} > "$OFFLINE/table.tsv"
sed "s/$tab/  /g" "$OFFLINE/table.tsv"
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

# Spills and stack frames beyond what is allowed.
grep -v '^#' "$allowed" | grep ';' > "$work/allowed"
: > "$work/needed"
awk -F '\t' '
    FNR == NR { vendor[$1] = $2; next }
    $5 == "gpu" && split($6, part, "/") == 4 && part[2] + part[3] > 0 {
        print vendor[$4] " " $4 " " $2 " " $3 "\t" (part[2] > part[3] ? part[2] : part[3]) "\t" \
            part[2] " bytes of spills, " part[3] " of stack: " $1
    }' "$work/vendors" "$work/cells" |
    while IFS=$tab read -r name bytes what; do
        most=""
        while IFS=';' read -r pattern limit reason; do
            # shellcheck disable=SC2254 # it is a pattern
            case $name in $pattern) most=$((limit)) && echo "$pattern" >> "$work/needed" && break ;; esac
        done < "$work/allowed"
        if [ -z "$most" ]; then
            echo "FAILED ${name#* }: $what"
        elif [ "$bytes" -gt "$most" ]; then
            echo "FAILED ${name#* }: $what, where $(basename "$allowed") allows $most"
        fi
    done >> "$work/failures"
if [ "$targets" = " $known_targets" ]; then
    cut -d ';' -f 1 "$work/allowed" | while read -r pattern; do
        grep -qxF -e "$pattern" "$work/needed" || echo "$(basename "$allowed"): nothing needs \"$pattern\""
    done
    is_whole=1
else
    is_whole=0
fi

# Registers beyond the limit beside the kernel.
awk -v whole=$is_whole -f "$here/limits.awk" "$work/limits" "$work/vendors" "$work/cells" | sort -u > "$work/judged"
grep -v '^FAILED' "$work/judged"
grep '^FAILED' "$work/judged" >> "$work/failures"
sort -u "$work/failures"
[ ! -s "$work/failures" ] || status=1
exit $status
