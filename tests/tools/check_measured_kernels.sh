#!/bin/sh
# SPDX-License-Identifier: MIT
# check_measured_kernels.sh CLBENCH KERNELS TOOLS SCHEMAS: clbench run and tune with --kernels, over the folder of
# examples/kernels and over kernels whose fastest configuration is known, that compute wrongly, and that need their
# buffers restored: what docs/verify-kernels.md says of them, by their exit codes, outputs and files.
set -eu
unset LD_PRELOAD # builds/total counts the programs of Husk, and these are none

clbench=$1 kernels=$2 tools=$3 schemas=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT HUP INT TERM
failed=0
mkdir "$work/own"
cp -R "$kernels" "$work/kernels"

complain() {
    echo "FAILED: $*"
    sed 's/^/    /' "$work/out" "$work/err"
    failed=1
}

# try CODE COMMAND FOLDER ARGUMENTS...: clbench has to end with this code.
try() {
    wanted=$1 command=$2 folder=$3
    shift 3
    [ "$command" != run ] || set -- "$@" --quick --no-history --baseline none
    code=0
    (cd "$work/$folder" && "$clbench" "$command" --kernels "$@" --max-time 60) > "$work/out" 2> "$work/err" || code=$?
    [ "$code" = "$wanted" ] || complain "exit code $code, not $wanted: $command $*"
}

says() {
    grep -qE -- "$1" "$work/out" "$work/err" || complain "nothing says: $1"
}

never_says() {
    ! grep -qE -- "$1" "$work/out" "$work/err" || complain "something says: $1"
}

# member FILE PYTHON: an expression of the document d is true. Without Python nobody looks.
member() {
    command -v python3 > /dev/null || return 0
    python3 - "$1" "$2" <<'PYTHON' || complain "not so in $1: $2"
import json, sys
with open(sys.argv[1]) as file:
    d = json.load(file)
sys.exit(not eval(sys.argv[2]))
PYTHON
}

# ---- run ----

json=$work/run.json
try 0 run kernels kernels.txt scale_and_clamp tiled_gemm histogram T=8 BINS=10 --json "$json" --csv "$work/run.csv"
says 'scale_and_clamp V=1 n=1000000 +right .* GF/s'
says 'histogram WG=64 BINS=10 n=1000000 +right .* GB/s'
never_says ' n=1000 '
sh "$tools/check_schema.sh" "$schemas/clbench-2.schema.json" "$json" ||
    complain "the result is not what its schema says"
grep -q '^"scale_and_clamp V=1 n=1000000",kernel,' "$work/run.csv" || complain "the CSV has no row of a kernel"

# Husk computes a product, too: its time stands beside; nobody computes a map.
member "$json" 'len(d["results"]) == 5'
member "$json" 'all(r["state"] == "ok" for r in d["results"])'
gemm='[r for r in d["results"] if r["case"] == "tiled_gemm T=8 m=256 n=256 k=256"][0]'
member "$json" "$gemm['op'] == 'gemm' and $gemm['kernel']['operation'] == 'gemm m=256 n=256 k=256'"
member "$json" "$gemm['flops'] == 2 * 256**3 and $gemm['configuration'] == 'T=8' and $gemm['variant'] == 'tiled_gemm'"
member "$json" "'husk' in [b['name'] for b in $gemm['baselines'] if b['speedup'] > 0]"
map='[r for r in d["results"] if r["op"] == "scale_and_clamp"][0]'
member "$json" "$map['baselines'] == [] and $map['flops'] == 3e6 and $map['bytes'] == 8e6"
# Without lines flops and bytes: inputs once, what is inout twice.
bins='[r for r in d["results"] if r["case"] == "histogram WG=16 BINS=10 n=1000000"][0]'
member "$json" "$bins['bytes'] == 4e6 + 2 * 4 * 10 and $bins['is_bandwidth'] and $bins['flops'] == 0"

# Of one run and itself nothing has changed; a page can be made of it; and what is whole is not measured again.
code=0
"$clbench" compare "$json" "$json" > "$work/out" 2> "$work/err" || code=$? # 5: too few samples
[ "$code" = 0 ] || [ "$code" = 5 ] || complain "compare ended with $code"
says '^tiled_gemm T=8 m=256 n=256 k=256 '
"$clbench" report "$json" -o "$work/page.html" > "$work/out" 2> "$work/err" || complain "report ended with $?"
grep -q 'tiled_gemm T=8 m=256' "$work/page.html" || complain "the page has no kernel"
(cd "$work/kernels" && "$clbench" run --resume "$json" --no-history) > "$work/out" 2> "$work/err" ||
    complain "a run that is whole cannot be resumed"
says 'nothing is missing'
echo '// another' >> "$work/kernels/map.cl"
code=0
(cd "$work/kernels" && "$clbench" run --resume "$json" --no-history) > "$work/out" 2> "$work/err" || code=$?
[ "$code" = 2 ] || complain "rows of another source are gone on with: exit code $code"
says 'cannot stand beside new ones'

# A size on the command line takes the place of `measure`; a word that is nothing is refused; so is what has no meaning.
try 0 run kernels kernels.txt scan_rows WG=16 rows=7 columns=16 --list
says '^scan_rows WG=16 rows=7 columns=16$'
try 2 run kernels kernels.txt nobody
says 'nobody is no kernel, parameter or size'
try 2 run kernels kernels.txt --variant all
says 'exclude each other'
try 2 run kernels kernels.txt --suite standard
try 0 run kernels kernels.txt --list
says '^tiled_gemm T=4 m=256 n=256 k=256$'
try 0 run kernels kernels.txt heat_step TY=4 --cold --json "$json"
member "$json" '[(r["temperature"], r["copies"] > 1) for r in d["results"]] == [("cold", True)]'

# ---- kernels of which something is known ----

cat > "$work/own/own.cl" <<'CL'
// -DSLOW: how many times as much is done. -DBAD: the last element is wrong, or 2: it does not compile.
__kernel void work(int n, __global const float *x, __global float *y)
{
    const int i = get_global_id(0);
    float sum = 0;
#if BAD == 2
    sum = nowhere;
#endif
    for (int k = 0; k < 50 * SLOW; k++)
        sum = sum * 0.5f + x[(i + k) % n];
    y[i] = BAD && i == n - 1 ? sum + 1 : sum;
}
CL
cat > "$work/own/append.cl" <<'CL'
// Appends even numbers behind what was counted before.
__kernel void append(__global const int *x, __global int *count, __global int *even)
{
    const int i = get_global_id(0);
    if (x[i] % 2 == 0)
        even[atomic_inc(count)] = x[i];
}
CL
cat > "$work/own/free.txt" <<'TXT'
kernel work file=own.cl
  config  SLOW=4,1,2 BAD=0,2
  size    n=20000
  arg     n int = n
  arg     x global float[n] in = integers(-3, 3)
  arg     y global float[n] out
  global  n
  expect  y repeatable
TXT
append() { # append CLAUSE: its description
    cat > "$work/own/append.txt" <<TXT
kernel append file=append.cl
  size   n=1000
  arg    x     global int[n] in = ramp
  arg    count global int[1] inout $1 = zeros
  arg    even  global int[n] out
  global n
  expect count[0] = ceil(n/2)
  expect even anything
TXT
}

# Nothing is expected of its results but that they are the same: measured, and called so.
try 1 run own free.txt
says 'work SLOW=1 BAD=0 n=20000 +unchecked'
says 'does not compile.*nowhere'
says 'work SLOW=1 BAD=2 n=20000 +error'
says 'own\.cl does not compile .*line [0-9]+: .*nowhere'

# What counts up must begin anew each time, or it leaves its buffer, which is found before it is timed.
append ""
try 3 run own append.txt --json "$json"
member "$json" 'd["results"][0]["verify"]["guards"] == "touched"'
says 'on what the run before has left wrote beside a buffer: even.* inout restored'
append restored
try 0 run own append.txt
says 'append n=1000 +right'
sed 's/inout restored/in restored/' "$work/own/append.txt" > "$work/own/in.txt"
try 2 run own in.txt
says 'only what is inout can be restored'
printf 'kernel append file=append.cl\n  measure n=1\n' > "$work/own/early.txt"
try 2 run own early.txt
says 'a line `size` before it names'

# ---- tune ----

# The right one of the fastest; that the others are wrong is said.
cat > "$work/own/tune.txt" <<'TXT'
kernel work file=own.cl
  config  SLOW=4,1,2 BAD=0,1,2
  size    n=20000
  arg     n int = n
  arg     x global float[n] in = zeros
  arg     y global float[n] out
  global  n
  expect  y[i] = 0 exactly
  flops   100*n
TXT
try 3 tune own tune.txt --budget 0 --json "$work/tune.json" --t4 "$work/t4.json"
says 'work n=20000: of 9 configurations 3 right'
says '^  SLOW=1 BAD=0  .* GFLOP/s  \(-DSLOW=1 -DBAD=0\)'
says 'wrong +SLOW=1 BAD=1'
sh "$tools/check_schema.sh" "$schemas/clbench-tune-1.schema.json" "$work/tune.json" ||
    complain "tune's result is not what its schema says"
member "$work/tune.json" 'd["results"][0]["best"]["configuration"] == {"SLOW": 1, "BAD": 0}'
member "$work/tune.json" 'd["results"][0]["best"]["is_finalist"]'
states='sorted(c["state"] for c in d["results"][0]["configurations"])'
member "$work/tune.json" "$states == ['error'] * 3 + ['failed'] * 3 + ['ok'] * 3"
member "$work/t4.json" 'd["schema_version"] == "1.0.0" and len(d["results"]) == 9'
member "$work/t4.json" 'all(r["correctness"] == (r["invalidity"] == "correct") for r in d["results"])'
member "$work/t4.json" '{r["invalidity"] for r in d["results"]} == {"correct", "correctness", "compile"}'
best='min((r for r in d["results"] if r["correctness"]), key=lambda r: r["measurements"][0]["value"])'
member "$work/t4.json" "$best['configuration'] == {'SLOW': 1, 'BAD': 0} and $best['times']['compilation_time'] > 0"

# Several kernels and sizes; T4 is of one; a device's time may be too short for all.
try 0 tune kernels kernels.txt scale_and_clamp heat_step --budget 0
says '^scale_and_clamp n=1000000: of 2 configurations 2 right'
says '^heat_step width=1024 height=1024: of 2 configurations 2 right'
try 2 tune kernels kernels.txt --t4 "$work/t4.json"
says 'T4 is of one kernel|--t4 is of one kernel'
try 2 tune kernels kernels.txt --show
says 'exclude each other'
try 0 tune kernels kernels.txt histogram --budget 1ms
says 'not reached in the time'
try 0 tune own free.txt BAD=0 SLOW=1 --budget 0
says 'ran, of which no results were compared'
code=0
"$clbench" tune --t4 x > "$work/out" 2> "$work/err" || code=$?
[ "$code" = 2 ] || complain "--t4 without kernels: exit code $code"

exit "$failed"
