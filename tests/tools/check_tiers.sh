#!/bin/sh
# SPDX-License-Identifier: MIT
# check_tiers.sh: tiers.sh on a made-up tree with made-up results. A stand-in for ctest writes them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
# shellcheck disable=SC2046 # names are words
unset HUSK_TIER_TREE HUSK_SOAK_SECONDS HUSK_FUZZ_SECONDS HUSK_FUZZ_RUNS HUSK_FUZZ_UNTIL HUSK_FUZZ_UNTIL_CALLS \
    HUSK_FUZZ_PIECE CK_RUN_CASE CK_RUN_SUITE CK_INCLUDE_TAGS CK_EXCLUDE_TAGS HUSK_TEST_ROWS HUSK_TEST_FAULTS \
    HUSK_FUZZ_OPTIONS $(cat "$here/other_device.txt")
trap 'rm -rf "$work"' EXIT
failed=0
root=$work/tree
mkdir -p "$root/src" "$root/docs" "$work/bin"
echo 'int a;' > "$root/src/a.c"

# ctest TESTS FAILURES SKIPPED EXIT FIGURES [-R ...] --output-junit FILE
cat > "$work/bin/ctest" <<'END'
#!/bin/sh
tests=$1 failures=$2 skipped=$3 status=$4 figures=$5
while [ $# -gt 1 ] && [ "$1" != --output-junit ]; do shift; done
printf '<?xml version="1.0"?>\n<testsuite name="x"\n\ttests="%d"\n\tfailures="%d"\n\tdisabled="0"\n\tskipped="%d"\n' \
    "$tests" "$failures" "$skipped" > "$2"
printf '\ttime="1">\n\t<testcase name="tests=&quot;9&quot;"/>\n</testsuite>\n' >> "$2"
printf '%b' "$figures" >> "$HUSK_TIER_FIGURES"
exit "$status"
END
chmod +x "$work/bin/ctest"

tier() { # tier NAME ARGUMENTS OF CTEST...
    name=$1
    shift
    "$here/tiers.sh" run "$root" "$name" build/release "$work/bin/ctest" "$@" || true
}

expect() { # expect WHAT PATTERN, in the table
    "$here/tiers.sh" table "$root" > "$work/table"
    if ! grep -qE "$2" "$work/table"; then
        echo "$1: the table lacks $2"
        cat "$work/table"
        failed=1
    fi
}

expect 'nothing' '^soak  *never run$'
tier soak 3 0 1 0 'calls=12\nworst=softmax "a\\b" c=1\n' > "$work/said"
printf '%s\n' 'soak: calls: 12' 'soak: worst: softmax "a\b" c=1' | cmp - "$work/said" || failed=1
expect 'what passed' '^soak  *passed  *2  *0  *1 .* whole$'
expect 'its figures' '^ *calls: 12, worst: softmax '
tier long 9 1 0 8 ''
expect 'what failed' '^long  *failed  *8  *1  *0 .* whole$'
tier long 9 0 0 0 ''
expect 'what passes in the end' '^long  *passed  *9  *0  *0 '
tier long 2 0 0 0 '' -R gemm
expect 'a part after the whole' '^long  *passed  *9 .* whole$'
tier long 2 1 0 8 '' -R gemm
expect 'a part that fails after the whole' '^long  *failed  *1  *1  *0 .* -R gemm'
tier long 2 0 0 0 '' -R conv
expect 'another part that passes then' '^long  *failed  *1  *1  *0 .* -R gemm'
tier intel 9 2 0 8 ''
tier intel 2 0 0 0 '' -R gemm
expect 'a part that passes after the whole has failed' '^intel  *failed  *7  *2  *0 .* whole$'
tier attack 2 0 0 0 '' -R 'a "quoted" b'
expect 'a part alone' '^attack  *in part  *2  *0  *0 .* -R a .*quoted'
tier configurations 1 0 1 0 'configurations=7\n'
HUSK_SOAK_SECONDS=60 tier soak 1 0 0 0 ''
expect 'a short run after the whole' '^soak  *passed  *2 .* whole$'
HUSK_FUZZ_RUNS=1000 tier fuzz 9 0 0 0 ''
expect 'a short run' '^fuzz  *in part .* HUSK_FUZZ_RUNS=1000$'
expect 'what is to go on' '^configurations  *to go on  *0  *0  *1 '
HUSK_FUZZ_RUNS=1e7 tier fuzz 9 0 0 0 ''
expect 'a number that some read as 1' '^fuzz  *in part .* HUSK_FUZZ_RUNS=1e7$'
HUSK_FUZZ_PIECE=600 tier fuzz 9 0 0 0 ''
expect 'a piece' '^fuzz  *in part .* HUSK_FUZZ_PIECE=600$'
HUSK_FUZZ_OPTIONS=-runs=10 tier fuzz 9 0 0 0 ''
expect 'options that make less of it' '^fuzz  *in part .* HUSK_FUZZ_OPTIONS=-runs=10$'
tier train 9 0 0 0 '' --stop-time 12:00
expect 'a run that ends by the clock' '^train  *in part  *9 '
tier intel 2 0 2 0 ''
expect 'a whole that was skipped after it has failed' '^intel  *failed  *7  *2  *0 .* whole$'
HUSK_LIMITS=f64=0 tier devices 5 0 0 0 ''
expect 'a smaller device' '^devices  *in part .* HUSK_LIMITS=f64=0$'
POCL_DEVICES=basic tier valgrind 5 0 0 0 ''
expect 'another device of PoCL' '^valgrind  *in part .* POCL_DEVICES=basic$'
OCL_ICD_VENDORS=/elsewhere tier oclgrind 5 0 0 0 ''
expect 'another driver' '^oclgrind  *in part .* OCL_ICD_VENDORS=/elsewhere$'
tier dtypes 5 0 2 8 ''
expect 'tests that could not be run' '^dtypes  *failed '
"$here/tiers.sh" run "$root" mutation build/mutation sh -c \
    'printf "passed=3\nfailed=1\nnot run=4\nkilled=3\n" >> "$HUSK_TIER_FIGURES"; exit 1' || true
expect 'another command than ctest' '^mutation  *failed  *3  *1  *4 '
"$here/tiers.sh" run "$root" offline build/mutation sh -c \
    'printf "passed=3\nfailed=0\nnot run=0\n" >> "$HUSK_TIER_FIGURES"' sh --count=3
expect 'an argument with its value' '^offline  *in part  *3  *0  *0 .* --count=3$'
"$here/tiers.sh" run "$root" asan build/asan true
"$here/tiers.sh" run "$root" mutation build/mutation sh -c \
    'printf "passed=3\nfailed=0\nnot run=4\n" >> "$HUSK_TIER_FIGURES"; exit 3' || true
expect 'another command that has more to do' '^mutation  *to go on  *3  *0  *4 '
expect 'a command that says nothing' '^asan  *never run$'
status=0
"$here/tiers.sh" run "$root" tsan build/tsan "$work/bin/ctest" 2 1 0 8 '' || status=$?
[ "$status" -eq 8 ] || { echo "the exit status is $status instead of ctest's, 8"; failed=1; }
"$here/tiers.sh" run "$root" faults build/release sh -c \
    "echo 'int c;' >> '$root/src/a.c'; echo passed=1 >> \"\$HUSK_TIER_FIGURES\"" 2> /dev/null
sed -i '$d' "$root/src/a.c"
HUSK_TIER_TREE=0123456789abcdef "$here/tiers.sh" run "$root" faults build/release "$work/bin/ctest" 2 0 0 0 '' \
    2> /dev/null
expect 'a tree that was changed while it was built' '^faults  *never run$'
expect 'a tree that was changed meanwhile' '^faults  *never run$'
if command -v python3 > /dev/null 2>&1; then
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    json.loads(line)' "$root"/build/tiers/*.jsonl || { echo "a line is not JSON"; failed=1; }
fi

# What is kept is known where there is no build folder, as what was not run there; it is gone on from when that is
# asked for, and is kept once.
cp -r "$root" "$work/elsewhere"
tree=$("$here/tree_hash.sh" "$root")
mkdir -p "$root/build/mutation" "$root/build/configurations" "$root/build/fuzz/fuzz" "$root/docs/tiers"
run_of() { # run_of TARGET PROGRAM WHEN
    printf 'tree\t%s\tlibFuzzer\t1000\t0\t1\t%s\t%s\n' "$1" "$2" "$3"
}
{
    run_of case a1-of-b 2026-01-04
    run_of case a1 2026-01-03
    run_of idx b1 2026-01-01
    run_of case a2 2026-01-01
    run_of case a1 2026-01-02
} > "$root/build/fuzz/fuzz/runs.txt"
echo '{"id": 1}' > "$root/build/mutation/$tree.jsonl"
printf 'conv\tright\n' > "$root/build/configurations/$tree.tsv"
echo program > "$root/build/configurations/$tree.program"
echo old > "$root/docs/tiers/0123456789abcdef.jsonl"
"$here/tiers.sh" keep "$root" > "$work/kept"
printf '{"id": 2' >> "$root/build/mutation/$tree.jsonl" # a run that is being ended
"$here/tiers.sh" keep "$root" | cmp - "$work/kept" || failed=1
[ "$(grep -c "^kept: docs/tiers/$tree" "$work/kept")" -eq 4 ] || { cat "$work/kept"; failed=1; }
[ "$(cut -f 2,7 "$root/docs/tiers/fuzz.tsv" | tr '\t\n' ': ')" = 'idx:b1 case:a1 case:a1 ' ] ||
    { echo "executions of an old program are kept, or others are not"; cat "$root/docs/tiers/fuzz.tsv"; failed=1; }
cmp "$root/docs/tiers/$tree.jsonl" "$root/build/tiers/$tree.jsonl" || failed=1
[ ! -e "$root/docs/tiers/0123456789abcdef.jsonl" ] || { echo "another tree's results are kept"; failed=1; }
rm -rf "$work/elsewhere/build"
cp -r "$root/docs/tiers" "$work/elsewhere/docs"
mkdir -p "$work/elsewhere/build/mutation"
printf '{"id": 3' > "$work/elsewhere/build/mutation/$tree.jsonl" # here, too
"$here/tiers.sh" table "$root" > "$work/here"
"$here/tiers.sh" table "$work/elsewhere" | sed 's/ (kept, not run here)$//' | cmp - "$work/here" || failed=1
here_root=$root root=$work/elsewhere
expect 'what was run elsewhere' '^soak  *passed .* whole [(]kept, not run here[)]$'
tier soak 3 1 0 8 ''
expect 'what fails here' '^soak  *failed  *2  *1 .* whole$'
[ ! -e "$root/build/configurations/$tree.tsv" ] || { echo "a tier goes on from elsewhere unasked"; failed=1; }
"$here/tiers.sh" resume "$root" > "$work/said"
grep -q '^build/configurations/.*: 1 lines' "$work/said" || { echo "resume does not say what it took"; failed=1; }
root=$here_root
for file in "configurations/$tree.program" fuzz/fuzz/runs.txt; do
    [ -s "$work/elsewhere/build/$file" ] || { echo "build/$file was not taken"; failed=1; }
done
cmp "$root/build/configurations/$tree.tsv" "$work/elsewhere/build/configurations/$tree.tsv" || failed=1
printf 'gemm\tright\n' > "$work/elsewhere/build/configurations/$tree.tsv"
echo another > "$work/elsewhere/build/configurations/$tree.program"
"$here/tiers.sh" resume "$work/elsewhere" > "$work/said"
grep -q 'another program' "$work/said" || { echo "another program is not spoken of"; failed=1; }
"$here/tiers.sh" keep "$work/elsewhere" > "$work/said"
for file in "build/configurations/$tree" "docs/tiers/$tree.configurations"; do
    [ "$(cat "$work/elsewhere/$file.tsv" "$work/elsewhere/$file.program" | tr '\t\n' ': ')" = \
        'gemm:right another ' ] || { echo "two programs' configurations are mixed"; failed=1; }
done
[ "$(cat "$work/elsewhere/build/mutation/$tree.jsonl")" = '{"id": 1}' ] || { echo "half a line is kept"; failed=1; }

echo text > "$root/docs/a.md"
expect 'docs that have changed' '^soak  *passed '
echo 'int b;' >> "$root/src/a.c"
expect 'another tree' '^soak  *never run$'

# In a repository: what has been run on an earlier commit, and what has changed since.
if command -v git > /dev/null 2>&1; then
    unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
    root=$work/repository
    mkdir -p "$root/src" "$root/docs"
    printf '/build\n' > "$root/.gitignore"
    echo 'int a;' > "$root/src/a.c"
    in_git() {
        git -C "$root" -c user.name=a -c user.email=a@b -c commit.gpgsign=false "$@"
    }
    commit_all() {
        in_git add -A
        in_git commit -q -m text
        in_git rev-parse HEAD
    }
    in_git init -q
    first=$(commit_all)
    short=$(printf '%.12s' "$first")
    tier soak 3 0 1 0 'calls=12\n' > "$work/said"
    tier long 3 1 0 8 ''
    tier intel 3 0 0 0 '' -R gemm
    tier asan 3 0 0 3 ''
    tier offline 2 0 2 0 ''
    echo text > "$root/docs/a.md"
    tier attack 1 0 0 0 ''
    echo 'int b;' > "$root/src/b.c"
    tier train 2 0 0 0 ''
    tier valgrind 2 0 0 0 ''
    expect 'a commit that others follow' "^soak  *earlier  *2  *0  *1 .* on $short\$"
    expect 'a file that has come' '^  *1 file has changed since: src/b.c$'
    echo 'int c;' >> "$root/src/a.c"
    expect 'a run of no commit' '^train  *never run$'
    expect 'two files' '^  *2 files have changed since: src/a.c, src/b.c$'
    expect 'figures from before' '^  *calls: 12$'
    expect 'a failure on an earlier commit' "^long  *failed  *2  *1  *0 .* on $short\$"
    expect 'docs of that commit that were changed' "^attack  *earlier .* on $short\$"
    expect 'a part, earlier' '^intel  *never run$'
    expect 'what was cut, earlier' '^asan  *never run$'
    expect 'what was skipped, earlier' '^offline  *never run$'
    "$here/tiers.sh" keep "$root" > "$work/said"
    "$here/tiers.sh" table "$root" > "$work/here"
    second=$(commit_all)
    git clone -q "$root" "$work/clone"
    "$here/tiers.sh" table "$work/clone" | cmp - "$work/here" || { echo "a clone knows something else"; failed=1; }
    tier soak 5 0 0 0 ''
    expect 'this commit after an earlier one' '^soak  *passed  *5 .* whole$'
    git -C "$root" rm -q src/b.c
    expect 'the later of two' "^soak  *earlier  *5  *0  *0 .* on $(printf '%.12s' "$second")\$"
    expect 'a file that has gone' '^  *1 file has changed since: src/b.c$'
    for i in 1 2 3 4 5 6 7 8 9; do
        echo "int a$i;" > "$root/src/c$i.c"
    done
    expect 'many files' '^  *10 files have changed since: src/b.c, .*src/c7.c, [.][.][.]$'
    sed -i "s/$first/0123456789abcdef0123456789abcdef01234567/" "$root/docs/tiers/earlier.jsonl"
    rm -r "$root/build"
    expect 'a commit that is not there' '^attack  *earlier .* on 0123456789ab$'
    expect 'what is said of it' '^  *which this copy does not have$'
fi
exit "$failed"
