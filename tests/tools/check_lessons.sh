#!/bin/sh
# SPDX-License-Identifier: MIT
# check_lessons.sh WHAT SOURCE...: the lessons of docs/ are true.
#
#   quotes SOURCE                   their code is the examples', word for word; the README and each other lead to
#                                   them, and the site has them in this order
#   prints SOURCE EXAMPLE PROGRAM   an example prints what its page says
#   commands SOURCE PAGE CLBENCH    a page's commands, run as they stand there, end as it says
#   installed SOURCE                the commands that build the examples against an installed Husk, which the
#                                   environment finds
#
# A page marks what is run by a comment above a block: <!-- test: run -->, <!-- test: run, exit code 3 -->,
# <!-- test: run in the tier long -->, <!-- test: installed -->. The exit code is that of the block's last command.
set -eu
what=$1
source=$2
lessons="quick-start first-call first-network write-a-kernel use-in-ci verify-kernels" # in the order of reading
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

complain() {
    echo "$*"
    status=1
}

# page_of EXAMPLE.c
page_of() {
    case "$1" in
    first_call.c) echo first-call ;;
    first_network.c) echo first-network ;;
    own_kernel.c) echo write-a-kernel ;;
    ci.yml) echo use-in-ci ;;
    *) echo "$1 is the example of no lesson" >&2; exit 2 ;;
    esac
}

# quoted PAGE LANGUAGE: the lines of its blocks in this language, one after the other, without empty ones.
quoted() {
    awk -v fence="\`\`\`$2" '$0 == fence { inside = 1; next } /^```$/ { inside = 0 } inside && NF' \
        "$source/docs/$1.md"
}

# blocks PAGE MARK: each block that is so marked becomes a file in $work/blocks, named by number and exit code.
blocks() {
    rm -rf "$work/blocks"
    mkdir "$work/blocks"
    awk -v folder="$work/blocks" -v wanted="$2" '
        /^<!-- test: / {
            mark = $0
            gsub(/^<!-- test: | -->$/, "", mark)
            code = 0
            if (match(mark, /, exit code [0-9]+$/)) {
                code = substr(mark, RSTART + 12) + 0
                mark = substr(mark, 1, RSTART - 1)
            }
            if (mark !~ /^(run|run in the tier long|installed)$/ || (getline line) <= 0 || line != "```sh") {
                print FILENAME ":" FNR ": this marks no block: " $0
                exit 1
            }
            inside = mark == wanted
            if (inside) {
                file = sprintf("%s/%02d.%d", folder, ++count, code)
            }
            next
        }
        /^```$/ { inside = 0 }
        inside  { print > file }' "$source/docs/$1.md"
}

# run_blocks FOLDER: all that `blocks` has found, in the folder.
run_blocks() {
    for block in "$work/blocks"/*; do
        [ -f "$block" ] || continue
        cat "$block"
        code=0
        (cd "$1" && sh -eu "$block") > "$work/said" 2>&1 || code=$?
        cat "$work/said"
        [ "$code" -eq "${block##*.}" ] || complain "exit code $code instead of ${block##*.}"
        cat "$work/said" >> "$work/said.all"
    done
}

quotes() {
    for example in first_call.c first_network.c own_kernel.c ci.yml; do
        page=$(page_of "$example")
        language=${example##*.}
        [ "$language" = c ] || language=yaml
        quoted "$page" "$language" > "$work/quote"
        grep -v '^$' "$source/examples/$example" | diff -u - "$work/quote" ||
            complain "docs/$page.md: its code differs from examples/$example"
    done
    before=""
    for page in $lessons; do
        blocks "$page" run || status=1
        grep -qF "(docs/$page.md)" "$source/README.md" || complain "README.md does not lead to docs/$page.md"
        [ -z "$before" ] || grep -q "Next: \[.*]($page.md)" "$source/docs/$before.md" ||
            complain "docs/$before.md does not lead to docs/$page.md"
        before=$page
    done
    listed=$(sed -n 's|.*/docs/\([a-z-]*\)\.md .*|\1|p' "$source/docs/Doxyfile.in" | tr '\n' ' ')
    [ "$lessons " = "$listed" ] ||
        complain "docs/Doxyfile.in has not these pages in this order: $lessons"
}

# What depends on the device stands there for one of them: its name, and how many steps the network takes.
prints() {
    example=$1
    page=$source/docs/$(page_of "$example").md
    (cd "$work" && "$2") > "$work/said"
    cat "$work/said"
    while IFS= read -r line; do
        case "$line" in
        "device: "*) continue ;;
        "after "*)
            echo "$line" | grep -qE '^after [0-9]+ steps the loss is 0\.0[0-4]' || complain "the loss is not small"
            continue
            ;;
        esac
        grep -qxF -- "    $line" "$page" || complain "$page does not say: $line"
    done < "$work/said"
    [ "$(wc -l < "$work/said")" -ge 2 ] || complain "it prints next to nothing"
}

commands() {
    page=$1
    folder=$work/clone
    mkdir -p "$folder/build/release" "$folder/build/husk" "$folder/cl"
    cp -R "$source/cl/." "$folder/cl"
    ln -s "$source/bench" "$folder/bench"
    ln -s "$source" "$folder/husk"
    ln -s "$2" "$folder/build/release/clbench"
    ln -s "$2" "$folder/build/husk/clbench"
    XDG_DATA_HOME=$work/data # the history of what is measured
    export XDG_DATA_HOME
    : > "$work/said.all"
    blocks "$page" run || exit 1
    run_blocks "$folder"
    if [ "${HUSK_TEST_TIER:-default}" = long ]; then
        blocks "$page" "run in the tier long"
        run_blocks "$folder"
    fi
    case "$page" in
    quick-start)
        says '^0:0 \|^[0-9]*:[0-9]* '
        says ' 0 wrong, 0 ended with an error'
        ;;
    write-a-kernel)
        says '^1 configurations right, 0 wrong'
        says '^failed  vector  y: [0-9]* of 1000 outputs wrong'
        ;;
    use-in-ci)
        says ' 0 wrong, 0 ended with an error'
        says 'It would take about'
        grep -q '<testcase ' "$folder/verify.xml" || complain "verify.xml has no case"
        grep -q '"schema": "clbench-verify/2"' "$folder/verify.json" || complain "verify.json is none"
        ;;
    esac
}

says() {
    grep -q -- "$1" "$work/said.all" || complain "it does not say: $1"
}

installed() {
    for example in first_call.c first_network.c own_kernel.c; do
        page=$(page_of "$example")
        mkdir "$work/$page"
        cp "$source/examples/$example" "$work/$page/"
        quoted "$page" cmake > "$work/$page/CMakeLists.txt"
        blocks "$page" installed || exit 1
        [ -f "$work/blocks/01.0" ] || complain "docs/$page.md: nothing in it is built against an installed Husk"
        run_blocks "$work/$page"
    done
}

shift 2
case "$what" in
quotes) quotes ;;
prints) prints "$@" ;;
commands) commands "$@" ;;
installed) installed ;;
*) exit 2 ;;
esac
exit $status
