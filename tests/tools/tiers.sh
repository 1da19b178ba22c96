#!/bin/sh
# SPDX-License-Identifier: MIT
# tiers.sh run ROOT TIER BUILD COMMAND...    runs a tier, and adds a line on it to ROOT/build/tiers/TREE.jsonl
# tiers.sh table ROOT                        what the tiers have found on the present tree, here and elsewhere
# tiers.sh keep ROOT                         copies what was found here to ROOT/docs/tiers
# tiers.sh resume ROOT                       takes from there what tiers go on from: mutants, configurations, executions
#                                            of fuzz targets. Nothing does so by itself: a run on a new machine is
#                                            that machine's own
#
# TREE is a hash of everything but docs (tree_hash.sh). A line has the tier, when it began (UTC), its seconds, how many
# tests passed, failed and were not run, the exit status, the build, the commit that the tree was ("" where it was
# none), "whole" or what made less of it, and figures: lines "NAME=VALUE" that tests add to the file which
# HUSK_TIER_FIGURES names. COMMAND is ctest; another one says in the figures what passed, failed and was not run, or
# nothing, and then there is no line. HUSK_TIER_TREE is the tree's hash from before it was built.
#
# Of a tier that has not been run on the present tree the latest whole run on another one is shown, with its commit and
# the files that have changed since. docs/tiers/earlier.jsonl keeps these.
set -eu
LC_ALL=C
export LC_ALL
action=$1 root=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
tiers="default platform long oclgrind offline assembly devices intel dtypes fuzz faults attack valgrind soak
    configurations mutation builds train asan tsan"

quote() { # as the inside of a JSON string
    printf '%s' "$1" | tr '\n\t' '  ' | sed 's/[\\"]/\\&/g'
}

part_of() { # part_of ARGUMENTS: what makes less of a tier than it is, or "whole"
    for limit in HUSK_SOAK_SECONDS=3600 HUSK_FUZZ_SECONDS=120 HUSK_FUZZ_RUNS=1000000 HUSK_FUZZ_UNTIL=1000000 \
        HUSK_FUZZ_UNTIL_CALLS=10000; do
        value=$(printenv "${limit%=*}" || true)
        if [ -n "$value" ] && ! [ "$value" -ge "${limit#*=}" ] 2> /dev/null; then # 1e7 is less: libFuzzer reads 1
            printf '%s' "${limit%=*}=$value"
            return
        fi
    done
    # What makes another device, or other kernels and variants, of the one that is tested; what leaves tests out or
    # plants faults; and further options of libFuzzer, to which the last one counts.
    for name in $(cat "$here/other_device.txt") HUSK_TEST_ROWS HUSK_TEST_FAULTS CK_INCLUDE_TAGS CK_EXCLUDE_TAGS \
        HUSK_FUZZ_OPTIONS HUSK_FUZZ_PIECE; do
        value=$(printenv "$name" || true)
        if [ -n "$value" ]; then
            printf '%s=%s' "$name" "$value"
            return
        fi
    done
    if [ -n "${CK_RUN_CASE:-}${CK_RUN_SUITE:-}" ]; then
        printf 'CK_RUN_CASE=%s CK_RUN_SUITE=%s' "${CK_RUN_CASE:-}" "${CK_RUN_SUITE:-}"
        return
    fi
    for argument in "$@"; do
        case "$argument" in
        -R* | -E* | -L* | -I* | -F* | --rerun-failed | --tests-* | --label-* | --exclude-* | --fixture-* | --repeat* | \
            --se* | --co* | --on* | --si* | --fo* | --stop-*)
            printf '%s' "$*"
            return
            ;;
        esac
    done
    printf whole
}

number_of() { # number_of NAME: of the first element of CTest's XML
    sed -n "s/.*[[:space:]]$1=\"\\([0-9]*\\)\".*/\\1/p" "$work/junit.xml" | head -n 1
}

figure_of() {
    sed -n "s/^$1=//p" "$work/figures" | tail -n 1
}

# commit_of_tree: HEAD, where nothing that counts has been changed since
commit_of_tree() {
    commit=$(git -C "$root" rev-parse HEAD 2> /dev/null) || return 0
    if changed=$("$here/tree_hash.sh" "$root" "$commit" 2> /dev/null) && [ -z "$changed" ]; then
        printf '%s' "$commit"
    fi
}

note() { # note TIER BUILD PART BEGAN SECONDS STATUS
    if [ -f "$work/junit.xml" ]; then
        failed=$(number_of failures)
        not_run=$(($(number_of skipped) + $(number_of disabled)))
        passed=$(($(number_of tests) - failed - not_run))
    else
        passed=$(figure_of passed) failed=$(figure_of failed) not_run=$(figure_of 'not run')
        [ -n "$passed" ] || return 0
    fi
    figures=$(grep -vE '^(passed|failed|not run)=' "$work/figures" | sed 's/[\\"]/\\&/g' | awk -F '=' '
        NF > 1 {
            value = substr($0, length($1) + 2)
            quote = value ~ /^-?[0-9]+([.][0-9]+)?$/ ? "" : "\""
            printf "%s\"%s\": %s%s%s", count++ ? ", " : "", $1, quote, value, quote
        }') || true
    printf '{"tier": "%s", "when": "%s", "seconds": %d, "passed": %d, "failed": %d, "not_run": %d, "exit": %d, ' \
        "$1" "$4" "$5" "$passed" "$failed" "$not_run" "$6" > "$work/line"
    printf '"build": "%s", "commit": "%s", "tests": "%s", "figures": {%s}}\n' "$2" "$(commit_of_tree)" "$(quote "$3")" \
        "$figures" >> "$work/line"
    cat "$work/line" >> "$root/build/tiers/$tree.jsonl" # in one write: tiers may end at the same time
}

run_tier() { # run_tier TIER BUILD COMMAND...
    tier=$1 build=$2
    shift 2
    tree=${HUSK_TIER_TREE:-$("$here/tree_hash.sh" "$root")}
    unset HUSK_TIER_TREE
    mkdir -p "$root/build/tiers"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    : > "$work/figures"
    HUSK_TIER_FIGURES=$work/figures
    export HUSK_TIER_FIGURES
    began=$(date -u +%Y-%m-%dT%H:%M:%SZ) start=$(date +%s) status=0
    part=$(part_of "$@")
    if [ "$(basename "$1")" = ctest ]; then
        set -- "$@" --output-junit "$work/junit.xml"
    fi
    "$@" || status=$?
    sed "s/=/: /; s/^/$tier: /" "$work/figures"
    if [ "$("$here/tree_hash.sh" "$root")" != "$tree" ]; then
        echo "The tree was changed meanwhile: build/tiers says nothing of this run." >&2
    else
        note "$tier" "$build" "$part" "$began" $(($(date +%s) - start)) "$status"
    fi
    exit "$status"
}

# The present tree's files of docs/tiers and of build that a tier goes on from, a pair a line. Executions of fuzz
# targets count by the target's program, and are of no tree.
pairs() {
    printf '%s %s\n' "docs/tiers/$1.mutation.jsonl" "build/mutation/$1.jsonl" \
        "docs/tiers/$1.configurations.tsv" "build/configurations/$1.tsv" \
        "docs/tiers/fuzz.tsv" "build/fuzz/fuzz/runs.txt"
}

whole_lines() { # but the last one where it has no end: a run that was ended may have left half of it
    last='$!p'
    [ -n "$(tail -c 1 "$1")" ] || last=p
    sed -n "$last" "$1"
}

add_lines() { # add_lines FROM TO: the lines that TO lacks
    [ -s "$1" ] || return 0
    mkdir -p "$(dirname "$2")"
    touch "$2"
    whole_lines "$1" | awk -v to="$2" '
        BEGIN { while ((getline line < to) > 0) { known[line] = 1 } }
        !($0 in known) { known[$0] = 1; print }' > "$2.more"
    if [ -s "$2.more" ]; then
        whole_lines "$2" | cat - "$2.more" > "$2.new"
        mv "$2.new" "$2"
    fi
    rm -f "$2.more"
}

lines_of() {
    if [ -f "$1" ]; then
        wc -l < "$1"
    else
        echo 0
    fi
}

# Of configurations there is a file beside each, with the hash of the program that has found them; another program's are
# not added to them.
is_of_another_program() { # is_of_another_program FILE FILE
    [ -e "${1%.tsv}.program" ] && [ -e "${2%.tsv}.program" ] && ! cmp -s "${1%.tsv}.program" "${2%.tsv}.program"
}

copy_program() { # copy_program FROM TO
    [ ! -e "${1%.tsv}.program" ] || [ ! -e "$2" ] || cp "${1%.tsv}.program" "${2%.tsv}.program"
}

resume() {
    tree=$("$here/tree_hash.sh" "$root")
    pairs "$tree" | while read -r kept built; do
        if is_of_another_program "$root/$kept" "$root/$built"; then
            echo "$built: another program than that of $kept has found it, of which nothing is taken"
            continue
        fi
        before=$(lines_of "$root/$built")
        add_lines "$root/$kept" "$root/$built"
        copy_program "$root/$kept" "$root/$built"
        more=$(($(lines_of "$root/$built") - before))
        [ "$more" -eq 0 ] || echo "$built: $more lines of $kept"
    done
}

# The latest whole run of every tier on another tree that is a commit. What was cut off by the clock (exit 3) is not
# whole, and where all was skipped nothing was run.
earlier_lines() {
    for file in "$root"/docs/tiers/*.jsonl "$root"/build/tiers/*.jsonl; do
        case "$file" in
        */"$tree".jsonl | *.mutation.jsonl | *'*'*) ;;
        *) whole_lines "$file" ;;
        esac
    done | grep '"tests": "whole"' | grep '"commit": "[0-9a-f]' | grep -vE '"exit": 3,|"passed": 0, "failed": 0,' |
        sed 's/"tier": "\([^"]*\)", "when": "\([^"]*\)"/\1 \2 &/; s/^{\([^ ]* [^ ]*\) /\1 {/' |
        sort -s -k 2,2 |
        awk '
            { latest[$1] = substr($0, index($0, "{")) }
            END { for (tier in latest) { print latest[tier] } }' | sort
}

# changes_since COMMIT: "N files have changed since: some of them", or what is to be said instead
changes_since() {
    if ! git -C "$root" rev-parse -q --verify "$1^{commit}" > /dev/null 2>&1; then
        echo "which this copy does not have"
        return
    fi
    "$here/tree_hash.sh" "$root" "$1" | awk '
        { count++ }
        count <= 8 { names = names ", " $0 }
        END {
            if (!count) { print "nothing has changed since"; exit }
            if (count > 8) { names = names ", ..." }
            printf "%d %s changed since: %s\n", count, count == 1 ? "file has" : "files have", substr(names, 3)
        }'
}

# Of every target what its latest program has been through.
drop_old_programs() {
    [ -f "$1" ] || return 0
    sort -s -t "$(printf '\t')" -k 8,8 "$1" | awk -F '\t' '
        $7 ~ /-of-/ { next } # on another device
        { line[++count] = $0; name[count] = $2; program[count] = $7; latest[$2] = $7 }
        END { for (i = 1; i <= count; i++) { if (latest[name[i]] == program[i]) { print line[i] } } }' > "$1.new"
    mv "$1.new" "$1"
}

# Other trees' files go, but for the latest whole run of every tier: git has them.
keep() {
    tree=$("$here/tree_hash.sh" "$root")
    earlier=$(earlier_lines)
    mkdir -p "$root/docs/tiers"
    add_lines "$root/build/tiers/$tree.jsonl" "$root/docs/tiers/$tree.jsonl"
    pairs "$tree" | while read -r kept built; do
        if is_of_another_program "$root/$kept" "$root/$built"; then
            rm "$root/$kept"
        fi
        add_lines "$root/$built" "$root/$kept"
        copy_program "$root/$built" "$root/$kept"
    done
    drop_old_programs "$root/docs/tiers/fuzz.tsv"
    [ -z "$earlier" ] || printf '%s\n' "$earlier" > "$root/docs/tiers/earlier.jsonl"
    for file in "$root"/docs/tiers/*; do
        case "$file" in
        */"$tree".* | */fuzz.tsv | */earlier.jsonl) printf 'kept: %s\n' "${file#"$root"/}" ;;
        *) rm -f "$file" ;;
        esac
    done
}

# The last whole run of a tier decides, and a part that has failed since; without one, parts are said to be parts. What
# has failed stays so until the whole has passed: a part that passes does not hide it.
print_table() {
    tree=$("$here/tree_hash.sh" "$root")
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    earlier_lines > "$work/earlier"
    sed -n 's/.*"commit": "\([0-9a-f]*\)".*/\1/p' "$work/earlier" | sort -u | while read -r commit; do
        printf '%s %s\n' "$commit" "$(changes_since "$commit")"
    done > "$work/changes"
    for file in "$root/docs/tiers/$tree.jsonl" "$root/build/tiers/$tree.jsonl"; do
        [ ! -f "$file" ] || whole_lines "$file"
    done | awk '!known[$0]++' | sed 's/.*"when": "\([^"]*\)".*/\1 &/' | sort -s -k 1,1 | cut -d ' ' -f 2- |
        awk -v here="$root/build/tiers/$tree.jsonl" -v earlier="$work/earlier" -v changes="$work/changes" \
            -v tiers="$tiers" -v tree="$tree" '
        function text(key) {
            if (!match($0, "\"" key "\": \"([^\"\\\\]|\\\\.)*\"")) { return "" }
            return substr($0, RSTART + length(key) + 5, RLENGTH - length(key) - 6)
        }
        function number(key) {
            if (!match($0, "\"" key "\": [0-9]+")) { return 0 }
            return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) + 0
        }
        function row(state, note) {
            return sprintf("%-9s %6d %6d %7d %8d  %s  %s", state, number("passed"), number("failed"),
                number("not_run"), number("seconds"), text("when"), note)
        }
        function figures_of() {
            figures = $0
            sub(/.*"figures": [{]/, "", figures); sub(/[}][}]$/, "", figures); gsub(/\\?"/, "", figures)
            return figures
        }
        {
            tier = text("tier"); tests = text("tests"); is_whole = tests == "whole"
            is_cut = number("exit") == 3 || number("passed") == 0 # time was up
            good = number("failed") == 0 && (number("exit") == 0 || number("exit") == 3)
            state = !good ? "failed" : is_cut ? "to go on" : is_whole ? "passed" : "in part"
            # What was whole, or failed, stays so; a whole run in which nothing has passed tells no more than a part.
            if (!is_whole && good && whole[tier]) { next }
            if ((!is_whole || number("passed") == 0) && good && failed[tier]) { next }
            whole[tier] = is_whole && good
            failed[tier] = !good
            shown[tier] = row(state, tests)
            source[tier] = $0
            said[tier] = figures_of()
        }
        END {
            while ((getline < changes) > 0) { since[$1] = substr($0, length($1) + 2) }
            while ((getline < earlier) > 0) {
                tier = text("tier"); commit = text("commit")
                if (tier in shown) { continue }
                state = number("failed") || number("exit") ? "failed" : "earlier"
                shown[tier] = row(state, "on " substr(commit, 1, 12))
                source[tier] = $0
                is_own[$0] = 1
                said[tier] = figures_of()
                below[tier] = since[commit]
            }
            while ((getline line < here) > 0) { is_own[line] = 1 }
            printf "%-15s %-9s %6s %6s %7s %8s  %-20s  %s\n", "tier", "", "passed", "failed", "not run", "seconds",
                "when", "tests"
            count = split(tiers, names, /[[:space:]]+/)
            for (i = 1; i <= count; i++) {
                printf "%-15s %s%s\n", names[i], names[i] in shown ? shown[names[i]] : "never run",
                    names[i] in shown && !is_own[source[names[i]]] ? " (kept, not run here)" : ""
                if (below[names[i]] != "") { printf "%15s %s\n", "", below[names[i]] }
                if (said[names[i]] != "") { printf "%15s %s\n", "", said[names[i]] }
            }
            printf "tree %s\n", tree
        }'
}

case "$action" in
run) run_tier "$@" ;;
table) print_table ;;
keep) keep ;;
resume) resume ;;
*)
    echo "usage: tiers.sh run ROOT TIER BUILD COMMAND... | tiers.sh table|keep|resume ROOT" >&2
    exit 2
    ;;
esac
