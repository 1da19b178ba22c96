#!/bin/sh
# SPDX-License-Identifier: MIT
# check_house.sh ROOT: the rules of the house, as docs/architecture.md states them. Prints one line for each
# breach, "file:line: rule", and exits 1 if there was any. self_test.sh proves that it catches them.
set -eu
LC_ALL=C
export LC_ALL
cd "$1"

failures=$(mktemp)
trap 'rm -f "$failures"' EXIT

# husk_add_op(FAMILY NAME [GRADIENT...])
rows=$(sed -n 's/^husk_add_op(\([^)]*\)).*/\1/p' CMakeLists.txt)
ops=$(printf '%s\n' "$rows" | awk '{ print $2 }' | tr '\n' ' ')
families=$(printf '%s\n' "$rows" | awk '{ print $1 }' | sort -u | tr '\n' ' ')
rooms=""
for directory in include src cl bench tests examples cmake docs .ci; do
    if [ -d "$directory" ]; then
        rooms="$rooms $directory"
    fi
done
# shellcheck disable=SC2086 # a list of words
files=$(find . $rooms -maxdepth 1 -type f -path './*' 2>/dev/null; find $rooms -type f)
files=$(printf '%s\n' "$files" | sed 's|^\./||' | sort -u)

select_files() {
    printf '%s\n' "$files" | grep -E "$1" || true
}

# Every source file says its licence first, where its language allows a comment.
check_licence() {
    checked=$(select_files '(\.(c|h|h\.in|cl|clh|cmake|sh|py|supp)|CMakeLists\.txt|\.ci/run)$|^run$')
    # shellcheck disable=SC2086 # a list of files
    awk '
        FNR == 1 { marker = "# SPDX-License-Identifier: MIT" }
        FNR == 1 && FILENAME ~ /\.(c|cl|clh)$/ { marker = "// SPDX-License-Identifier: MIT" }
        FNR == 1 && FILENAME ~ /\.(h|h\.in)$/ { marker = "/* SPDX-License-Identifier: MIT */" }
        FNR == 1 && /^#!/ { next }
        $0 != marker { print FILENAME ":1: the first line is not: " marker }
        { nextfile }
    ' $checked
    # shellcheck disable=SC2086
    find $checked -maxdepth 0 -size 0 | sed 's/$/:1: the file is empty/'
}

# No tabs, no blanks at the end, no line past 120, a newline at the end.
check_lines() {
    checked=$(select_files '\.(c|h|h\.in|cl|clh|cmake|sh|py|supp|md|txt|json)$|^run$|\.ci/run$')
    # shellcheck disable=SC2086 # a list of files
    awk '
        FNR == 1    { wide = FILENAME ~ /\.(md|json|txt)$/ ? 100000 : 120 }
        /\t/        { print FILENAME ":" FNR ": a tab" }
        /[ \r]$/    { print FILENAME ":" FNR ": blanks at the end of the line" }
        length($0) > wide { print FILENAME ":" FNR ": " length($0) " columns, the limit is " wide }
    ' $checked
    # Of each file the last byte: "==> NAME <==", then nothing where it is a newline.
    # shellcheck disable=SC2086
    tail -v -c 1 $checked | awk '
        /^==> .* <==$/ { file = substr($0, 5, length($0) - 8); next }
        $0 != "" { print file ":1: no newline at the end of the file" }
    '
}

# A file is at most 600 lines, a function of src and bench at most 75, from its first line to its closing brace: what is
# longer wants a part with a name of its own.
check_sizes() {
    # shellcheck disable=SC2046 # a list of files
    awk '
        FNR == 601 { print FILENAME ":601: a file has at most 600 lines" }
        FILENAME !~ /\.[ch]$/ { next }
        FNR == 1 { start = 0; is_inside = 0 }
        /^[{]/ { is_inside = start > 0; next }
        /^[}]/ {
            if (is_inside && FNR - start >= 75) {
                print FILENAME ":" start ": a function has at most 75 lines, this one " FNR - start + 1
            }
            start = 0
            is_inside = 0
            next
        }
        is_inside { next }
        /^[A-Za-z_].*[(]/ { start = FNR }
        /;$/ { start = 0 }
    ' $(select_files '^(src|cl|bench)/.*\.(c|h|h\.in|cl|clh|py)$') /dev/null
}

# OpenCL C 1.2 has no macros with a variable number of arguments; NVIDIA's compiler refuses them.
check_macros() {
    # shellcheck disable=SC2046 # a list of files
    awk '/^[ \t]*#[ \t]*define[ \t].*\.\.\.\)/ { print FILENAME ":" FNR ": OpenCL C has no variadic macros" }' \
        $(select_files '^cl/.*\.(cl|clh)$') /dev/null
}

# Kernels keep to what every compiler takes (docs/architecture.md, "What kernels avoid"). runtime/quirks.cl shows what
# some do not take.
check_kernels() {
    # shellcheck disable=SC2046 # a list of files
    awk '
        FNR == 1 { is_waiting = 0; is_inside = 0 }
        is_inside && NF {
            if ($0 !~ /ONE_ITEM\(\);/) {
                print FILENAME ":" FNR ": a kernel whose work-groups are one work-item begins with ONE_ITEM();"
            }
            is_inside = 0
        }
        /reqd_work_group_size\(1, 1, 1\)/ { is_waiting = 1 }
        is_waiting && /[{][ \t\\]*$/ { is_waiting = 0; is_inside = 1 }
        /CONCAT\(v(load|store), *VW\)/ && FILENAME !~ /lib\/vector\.clh$/ {
            print FILENAME ":" FNR ": vectors are read by LOAD_VECTOR and written by STORE_VECTOR"
        }
    ' $(select_files '^cl/.*\.(cl|clh)$' | grep -v '^cl/runtime/quirks\.cl$') /dev/null
}

# Who may include whom: os <- base <- runtime <- machine <- select <- ops; train and dist, as users do, see public
# headers; the rest sees those, ref and what is its own. The folders of train and of clbench are in an order, too.
check_includes() {
    # shellcheck disable=SC2046 # a list of files
    awk '
    function family_of(path) { sub(/^(src\/)?ops\//, "", path); sub(/\/.*/, "", path); return path }
    function folder_of(path) { sub(/^(src\/)?train\//, "", path); return sub(/\/.*/, "", path) ? path : "" }
    function complain(rule) { print FILENAME ":" FNR ": " rule ": " $0 }
    function check_bench(header, floor,    own) {
        own = FILENAME
        sub(/^bench\//, "", own)
        if (!sub(/\/.*/, "", own)) { own = "" }
        if (floor == "") {
            if (header !~ /^(bench|baseline)_ops\.h$/) {
                complain("clbench includes its headers by the path from bench/")
            }
        } else if (own != "" && !(own in place)) {
            complain("bench/" own " has no place among the folders of clbench")
        } else if (own != "" && floor in place && place[floor] > place[own]) {
            complain("bench/" own " may include nothing of bench/" floor ", which lies above it")
        }
    }
    function check_quoted(header,    floor, other) {
        if (header ~ /\.\./) { complain("no include climbs with .."); return }
        floor = header
        if (!sub(/\/.*/, "", floor)) { floor = "" }
        if (FILENAME ~ /^cl\//) {
            if (floor != "lib") { complain("a kernel includes only lib/") }
        } else if (FILENAME ~ /^src\//) {
            if (room == "src" || index(allowed[room], " " floor " ") == 0) {
                complain("src/" room " may include only" allowed[room])
            }
            if (room == "ops" && floor == "ops") {
                other = family_of(header)
                if (other != "shared" && other != family_of(FILENAME)) {
                    complain("a family of operators includes no private header of another one")
                }
            }
            if (room == "train" && floor == "train" && folder_of(header) != "" &&
                index(below[folder_of(FILENAME)], " " folder_of(header) " ") == 0) {
                complain("src/train/" folder_of(FILENAME) " may include only" below[folder_of(FILENAME)])
            }
        } else if (FILENAME ~ /^include\// || FILENAME ~ /^examples\//) {
            complain("only <husk/...> and standard headers")
        } else if (floor ~ /^(os|base|runtime|machine|select|ops|train|dist)$/ &&
                   FILENAME !~ /^tests\/(runtime|machine|select|support|offline|assembly|fuzz|train|dist)\//) {
            complain("the inside of the library is for src/ and white-box tests")
        } else if (FILENAME ~ /^bench\//) {
            check_bench(header, floor)
        }
    }
    function check_angled(header) {
        if (header ~ /^CL\// && FILENAME !~ /^(src\/runtime\/|include\/husk\/(verify_)?opencl\.h$)/ &&
            FILENAME !~ /^(src\/ops\/gemm|bench\/baseline)\/clblast\.c$/ &&
            FILENAME !~ /^(src\/verify\/opencl|tests\/support\/layer\/opencl_layer)\.c$/) {
            complain("only src/runtime, husk/opencl.h and husk/verify_opencl.h name CL/")
        }
        if (header ~ /^husk\/opencl\.h/ && FILENAME ~ /^src\// &&
            FILENAME !~ /^src\/(runtime\/|ops\/gemm\/clblast\.c)/) {
            complain("only src/runtime sees OpenCL")
        }
        if (header ~ /^husk\/train/ && FILENAME ~ /^(src|include)\// &&
            FILENAME !~ /^(src\/(train|dist)\/|include\/husk\/(train|dist))/) {
            complain("the operators know nothing of networks")
        }
        if (header ~ /^husk\/dist/ && FILENAME ~ /^(src|include)\// &&
            FILENAME !~ /^(src\/dist\/|include\/husk\/dist)/) {
            complain("nothing stands on several processes")
        }
        if (header ~ /^husk\/verify/ && FILENAME ~ /^(src|include)\// &&
            FILENAME !~ /^(src\/verify\/|include\/husk\/verify)/) {
            complain("no other library stands on libhusk_verify")
        }
        if (header ~ /^husk\/verify_opencl/ && FILENAME ~ /^src\// && FILENAME != "src/verify/opencl.c") {
            complain("of libhusk_verify only opencl.c sees OpenCL")
        }
        if (header ~ /^mpi/ && FILENAME !~ /^(src|tests)\/dist\//) { complain("only src/dist names MPI") }
        if (header ~ /^clblast/ && FILENAME !~ /^(src\/ops\/gemm\/clblast\.c|bench\/baseline\/clblast\.c)$/) {
            complain("CLBlast has one file in the library and one in clbench")
        }
        if (header ~ /^xxhash/ && FILENAME !~ /^src\/(base|train|dist)\//) { complain("hashes come from base/hash.h") }
        if (header ~ /^(dirent|dlfcn|fcntl|poll|sched|signal|time|unistd|sys\/.*)\.h$/ &&
            FILENAME ~ /^src\/(base|runtime|machine|select|ops|ref|verify)\//) {
            complain("only src/os asks the system")
        }
        if (header ~ /^husk\// && FILENAME ~ /^src\/os\//) { complain("src/os knows nothing of Husk") }
        if (header ~ /^(jansson|check|dnnl|oneapi\/|cblas)/ && FILENAME ~ /^(src|include|examples)\// &&
            FILENAME != "examples/verify_check.c") {
            complain("the library and its examples do not need this")
        }
    }
    BEGIN {
        allowed["os"] = " os "
        allowed["base"] = " os base "
        allowed["runtime"] = " os base runtime "
        allowed["machine"] = " os base runtime machine "
        allowed["select"] = " os base runtime machine select "
        allowed["ops"] = " os base runtime machine select ops "
        allowed["ref"] = " base ref "
        allowed["verify"] = " base ref verify "
        allowed["train"] = " train "
        allowed["dist"] = " dist "
        folders = "common system cases spec cli worker baseline measure record compare report run verify tune doctor"
        count = split(folders, order)
        for (i = 1; i <= count; i++) { place[order[i]] = i }
        below[""] = " what lies beside it"
        below["data"] = " data "
        below["graph"] = " graph "
        below["check"] = " graph check "
        below["nodes"] = " graph check nodes "
        below["step"] = " graph check nodes step "
        below["files"] = " data graph check nodes step files "
        below["compress"] = " data graph check nodes step files compress "
        below["loop"] = " data graph check nodes step loop "
    }
    FNR == 1 { room = FILENAME; sub(/^src\//, "", room); if (!sub(/\/.*/, "", room)) { room = "src" } }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
        check_quoted(header)
    }
    /^[ \t]*#[ \t]*include[ \t]*</ {
        header = $0; sub(/^[^<]*</, "", header); sub(/>.*/, "", header)
        check_angled(header)
    }
    ' $(select_files '^(include|src|cl|bench|tests|examples)/.*\.(c|h|h\.in|cl|clh)$') /dev/null
}

# An operator has its files on every floor, in its family's folder (cmake/HuskOps.cmake), and all folders are families';
# src/train has its own.
check_rooms() {
    printf '%s\n' "$rows" | while read -r family op gradients; do
        lacks="CMakeLists.txt:1: husk_add_op($family $op) lacks"
        for row in $op $gradients; do
            stem=${row#"${family}_"}
            own="src/ops/$family/${op#"${family}_"}.c"
            # A gradient may share forward's files, which have its row then, and calls of it.
            if [ "$row" != "$op" ] && grep -qs "husk__op_$row = " "$own"; then
                stem=${op#"${family}_"}
                grep -qs "husk_$row(" "tests/ops/$family/test_$row.c" "tests/ops/$family/test_$op.c" ||
                    echo "$lacks tests/ops/$family/test_$row.c, or a test of it in test_$op.c"
                set --
            else
                set -- "src/ops/$family/$stem.c" "tests/ops/$family/test_$row.c"
            fi
            [ "$row" != "$op" ] || set -- "$@" "include/husk/ops/$op.h" "src/ref/$family/$stem.c" \
                "bench/cases/$family/$stem.c" "bench/cases/$family/$stem.txt"
            for file in "$@"; do
                [ -f "$file" ] || echo "$lacks $file"
            done
            [ "$stem" != "$family" ] || stem='[a-z0-9_]+'
            [ -n "$(select_files "^cl/$family/$stem(_[a-z0-9_]+)?\.cl\$")" ] || echo "$lacks a kernel of $row"
        done
    done
    select_files '^include/husk/ops/.*\.h$' | grep -vE "/($(printf '%s' "${ops% }" | tr ' ' '|'))\.h\$" |
        sed 's/$/:1: no operator of this name is registered/' || true
    pattern=$(printf '%s' "${families% }" | tr ' ' '|')
    select_files '^(src/ops|cl|tests/ops|bench/cases|src/ref)/.*/' |
        grep -vE "^((src/ops|cl|tests/ops|bench/cases|src/ref)/($pattern)|src/ops/shared|cl/(lib|runtime))/[^/]*\$" |
        sed 's/$/:1: the folder is no family of operators/' || true
    select_files '^(src/ops|cl)/[^/]*\.(c|h|cl|clh)$' | sed 's/$/:1: no file of a family/' || true
    pattern='data|graph|check|nodes|step|files|compress|loop'
    select_files '^src/train/' |
        grep -vE "^src/train/(($pattern)/[^/]*\.[ch]|(error|random|convert)\.[ch]|CMakeLists\.txt)\$" |
        sed 's/$/:1: no file of a folder of src\/train/' || true
}

# A file that comments or pages name is there. NAME and the like stand for a name, tile for an operator to be written.
check_names() {
    printf '%s\n' "$files" > "$failures.files"
    # shellcheck disable=SC2046 # a list of files
    awk '
        BEGIN {
            pattern = "(^|[^A-Za-z0-9_/.${}-])(bench|cl|docs|include|src|tests)/[A-Za-z0-9_/.-]*[.](clh?|c|h|md|sh|py)"
        }
        FILENAME ~ /\.files$/ { is_there[$0] = 1; next }
        {
            rest = $0
            while (match(rest, pattern)) {
                name = substr(rest, RSTART, RLENGTH)
                after = substr(rest, RSTART + RLENGTH, 1)
                rest = substr(rest, RSTART + RLENGTH)
                sub(/^[^a-z]/, "", name)
                if (after !~ /[A-Za-z0-9_*]/ && name !~ /[A-Z][A-Z]|\/(test_)?tile/ && !(name in is_there)) {
                    print FILENAME ":" FNR ": there is no file " name
                }
            }
        }' "$failures.files" $(select_files '^(src|cl|include|bench|docs|examples)/.*\.(c|h|cl|clh|md)$|^[A-Z]*\.md$') \
        $(select_files '^tests/.*\.(c|h)$')
    rm -f "$failures.files"
}

# Nothing in the library ends the process or prints; but for libhusk_dist, which ends a run that has failed
# (husk/dist.h), for progress on a stream that the program has given, and for the lines that HUSK_VERBOSE asks for.
check_manners() {
    ends='abort|_?exit|_Exit|quick_exit|raise|assert|MPI_Abort'
    prints='v?d?printf|v?fprintf|puts|fputs|putchar|putc|fputc|fwrite|perror'
    allowed='^src/dist/progress\.c:[0-9]*: *(dprintf\(STDERR_FILENO|MPI_Abort\()'
    allowed="$allowed|^src/os/standard_error\.c:[0-9]*: *\(void\)fprintf\(stderr,"
    allowed="$allowed|^src/train/loop/progress\.c:[0-9]*: *f(putc|puts|write)\(.*stream\);"
    # shellcheck disable=SC2046 # a list of files
    grep -nHE "(^|[^a-z_>.])($ends|$prints) *\(" $(select_files '^src/.*\.c$') | grep -vE "$allowed" |
        sed 's|^\([^:]*:[0-9]*\):.*|\1: the library neither prints nor ends the process|' || true
}

# What lists have of an operator is in its own file, bench/cases/FAMILY/NAME.txt (bench/cases/op_lists.h): its row and
# those of its gradients, cases, and for each row a write past its output. Every direction that the suite smoke has is
# in the simulator's list, too.
check_lists() {
    printf '%s\n' "$rows" | while read -r family op gradients; do
        file="bench/cases/$family/${op#"${family}_"}.txt"
        if [ -f "$file" ]; then
            awk -v op="$op" -v rows="$op $gradients" '
                function complain(rule) { print FILENAME ":" FNR ": " rule }
                function stands(kernel, text,    found, line) {
                    while ((getline line < ("cl/" kernel)) > 0) { found += index(line, text) > 0 }
                    close("cl/" kernel)
                    return found
                }
                BEGIN { count = split("operators smoke ragged races memory writes zeros", lists) }
                /^#/ || !NF { next }
                /^\[/ {
                    split("", inside)
                    heading = $0
                    gsub(/[][]/, "", heading)
                    words = split(heading, word, " ")
                    for (i = 1; i <= words; i++) { inside[word[i]] = 1 }
                    for (name in inside) {
                        known = 0
                        for (i = 1; i <= count; i++) { known += lists[i] == name }
                        if (!known) { complain("there is no list of the name " name) }
                    }
                    next
                }
                {
                    direction = match($0, / dir=[a-z_]+/) ? substr($0, RSTART, RLENGTH) : ""
                    for (name in inside) {
                        has[name] = 1
                        has[name, $1] = 1
                        has[name, direction, "dir"] = 1
                        if (name !~ /^(operators|writes|zeros)$/ && $1 != op) { complain("a case of another operator") }
                    }
                    directions[direction] = 1
                    if ("writes" in inside && split($0, column, / [|] /) >= 5 && !stands(column[4], column[5])) {
                        complain("cl/" column[4] " has no \"" column[5] "\"")
                    }
                }
                END {
                    for (i = 1; i <= count; i++) {
                        if (lists[i] != "zeros" && !has[lists[i]]) { complain("[" lists[i] "] has nothing of " op) }
                    }
                    row_count = split(rows, row, " ")
                    for (i = 1; i <= row_count; i++) {
                        if (!has["operators", row[i]]) { complain("[operators] has no row of " row[i]) }
                        if (!has["writes", row[i]]) { complain("[writes] has nothing of " row[i]) }
                    }
                    for (direction in directions) {
                        if (has["smoke", direction, "dir"] != has["races", direction, "dir"]) {
                            complain("\"" op direction "\" is not in both [smoke] and [races]")
                        }
                    }
                }' "$file"
        fi
    done
}

{
    check_licence
    check_lines
    check_sizes
    check_macros
    check_kernels
    check_includes
    check_rooms
    check_names
    check_manners
    check_lists
} > "$failures"
if [ -s "$failures" ]; then
    cat "$failures"
    exit 1
fi
echo "the house is in order: $(printf '%s\n' "$files" | wc -l) files"
