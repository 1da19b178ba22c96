#!/bin/sh
# SPDX-License-Identifier: MIT
# check_runs.sh: what run_fuzz.sh makes of made-up programs: how many executions each is asked for, what adds up, what
# is another run's, and what fails.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2046 # names are words
unset $(cat "$here/../tools/other_device.txt") HUSK_FUZZ_RUNS HUSK_FUZZ_UNTIL HUSK_FUZZ_UNTIL_CALLS HUSK_FUZZ_PIECE \
    HUSK_FUZZ_SECONDS HUSK_FUZZ_OPTIONS HUSK_FUZZ_SEED
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
found=$work/build/fuzz
mkdir -p "$work/programs"

# A target that does what it is asked for, 900 at most where $work/slow is; it ends with $work/status.
cat > "$work/programs/fuzz_fake" <<END
#!/bin/sh
for argument; do
    case "\$argument" in -runs=*) runs=\${argument#-runs=} ;; esac
done
[ ! -e "$work/slow" ] || { sleep 1; runs=900; }
echo "stat::number_of_executed_units: \$runs"
exit "\$(cat "$work/status")"
END
# Random calls: the same with --calls, and a finding where $work/finding is.
cat > "$work/programs/random_calls" <<END
#!/bin/sh
calls=70
while [ \$# -gt 0 ]; do
    [ "\$1" != --calls ] || calls=\$2
    shift
done
[ ! -e "$work/slow" ] || { sleep 1; calls=9; }
[ ! -e "$work/finding" ] || echo "finding: clbench verify gemm m=1 n=1 k=1 # wrong"
echo "calls: \$calls"
exit "\$(cat "$work/status")"
END
chmod +x "$work/programs/"*
echo 0 > "$work/status"

expect() { # expect WHAT STATUS SUM ACTION NAME: its exit status, and all the executions that are noted of it since
    program=$work/programs/fuzz_$5
    [ -e "$program" ] || program=$work/programs/$5
    status=0
    "$here/run_fuzz.sh" "$4" "$5" "$program" libFuzzer "$found" > "$work/out" 2>&1 || status=$?
    sum=$(awk -F '\t' -v name="$5" '$2 == name { sum += $4 } END { print sum + 0 }' "$found/runs.txt")
    if [ "$status" -ne "$2" ] || [ "$sum" -ne "$3" ]; then
        echo "$1: exit status $status instead of $2, $sum executions instead of $3"
        cat "$work/out"
        failed=1
    fi
}

HUSK_FUZZ_RUNS=1000 expect 'so many' 0 1000 run fake
HUSK_FUZZ_RUNS=500 expect 'so many more' 0 1500 run fake
HUSK_FUZZ_UNTIL=2000 expect 'so many in all' 0 2000 run fake
HUSK_FUZZ_UNTIL=2000 expect 'nothing to do' 0 2000 run fake
HUSK_FUZZ_UNTIL=1e4 expect 'no number' 2 2000 run fake
HUSK_FUZZ_UNTIL=5000 HUSK_FUZZ_PIECE=0 expect 'a piece of nothing' 2 2000 run fake
HUSK_FUZZ_SEED=7 HUSK_FUZZ_UNTIL_CALLS=100 expect 'the same calls again' 2 0 calls random_calls
touch "$work/slow"
HUSK_FUZZ_UNTIL=5000 HUSK_FUZZ_PIECE=1 expect 'a piece' 77 2900 run fake
HUSK_FUZZ_UNTIL=5000 HUSK_FUZZ_PIECE=60 expect 'one that ended before its time' 1 3800 run fake
HUSK_FUZZ_RUNS=1000 expect 'one that ended before its executions' 1 4700 run fake
HUSK_FUZZ_UNTIL_CALLS=100 HUSK_FUZZ_PIECE=1 expect 'a piece of the calls' 77 9 calls random_calls
HUSK_FUZZ_UNTIL_CALLS=100 expect 'calls that ended before their time' 1 18 calls random_calls
rm "$work/slow"
HUSK_FUZZ_UNTIL_CALLS=100 expect 'the rest of the calls' 0 100 calls random_calls
HUSK_FUZZ_SECONDS='' expect 'calls for some time' 0 170 calls random_calls
HUSK_LIMITS=f64=0 HUSK_FUZZ_UNTIL_CALLS=100 expect 'calls of another device' 0 270 calls random_calls
"$here/run_fuzz.sh" results all "$work/programs" libFuzzer "$found" > /dev/null
grep -q '"name": "fake", .* "executions": 4700, "findings": 0,' "$work/build/fuzz-results.json" || {
    cat "$work/build/fuzz-results.json"
    failed=1
}
echo 77 > "$work/status" # as libFuzzer has it
HUSK_FUZZ_UNTIL=6000 expect 'a finding' 1 6000 run fake
echo 0 > "$work/status"
HUSK_FUZZ_UNTIL=1000 expect 'begun anew after a finding' 0 7000 run fake
touch "$work/finding"
echo 1 > "$work/status"
HUSK_FUZZ_UNTIL_CALLS=200 expect 'a finding among the calls' 1 300 calls random_calls
echo '# another program' >> "$work/programs/fuzz_fake"
echo 0 > "$work/status"
HUSK_FUZZ_UNTIL=3000 expect 'another program' 0 10000 run fake
before=$(tail -n 1 "$found/runs.txt" | awk -F '\t' -v OFS='\t' '{ $4 = 9; $5 = 1; $8 = "2020-01-01"; print }')
echo "$before" >> "$found/runs.txt" # from elsewhere
HUSK_FUZZ_UNTIL=3000 expect 'a finding of before' 0 10009 run fake
"$here/run_fuzz.sh" results all "$work/programs" libFuzzer "$found" > /dev/null
for line in '"name": "fake", .* "executions": 3009, "findings": 1,' \
    '"name": "random_calls", .* "executions": 200, "findings": 1,'; do
    grep -q "$line" "$work/build/fuzz-results.json" || {
        cat "$work/build/fuzz-results.json"
        failed=1
    }
done
exit "$failed"
