#!/bin/sh
# SPDX-License-Identifier: MIT
# check_described_kernels.sh CLBENCH KERNELS: clbench verify --kernels over the folder of examples/kernels: they are
# right, one fault of each kind in each of them is found, and files, exit codes and outputs are what
# docs/verify-kernels.md says. Faults that a CPU's driver hides, since it runs a work-group's items in turn, are looked
# for by Oclgrind where it is installed.
set -eu
unset LD_PRELOAD # builds/total counts the programs of Husk, and these are none

clbench=$1
kernels=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT HUP INT TERM
failed=0
seconds=20 # that a request may take
has_oclgrind=false
command -v oclgrind > "$work/which" && has_oclgrind=true

complain() {
    echo "FAILED: $*"
    sed 's/^/    /' "$work/out" "$work/err"
    failed=1
}

# run CODE ARGUMENTS...: clbench verify --kernels with these has to end with this code.
run() {
    wanted=$1
    shift
    code=0
    (cd "$work/kernels" && "$clbench" verify --kernels "$@" --max-time "$seconds") > "$work/out" 2> "$work/err" ||
        code=$?
    [ "$code" = "$wanted" ] || complain "exit code $code, not $wanted: $*"
}

says() { # in what run has printed
    grep -qF -- "$1" "$work/out" "$work/err" || complain "nothing says: $1"
}

restore() {
    rm -rf "$work/kernels"
    cp -R "$kernels" "$work/kernels"
}

restore
run 0 kernels.txt
says "116 right, 0 wrong, 0 ended with an error"
run 0 kernels.txt tiled_gemm T=4 m=5 n=6 k=7
says "1 right"
if "$has_oclgrind"; then
    run 0 kernels.txt --require oclgrind
    says "Oclgrind"
    says "116 right, 0 wrong"
fi

# plant DEVICES FILE KERNEL SED: with this edit of the file, some row of the kernel has to be wrong.
plant() {
    restore
    sed "$4" "$kernels/$2" > "$work/kernels/$2"
    if cmp -s "$kernels/$2" "$work/kernels/$2"; then
        complain "nothing was planted in $2: $4"
        return
    fi
    if [ "$1" = oclgrind ] && ! "$has_oclgrind"; then
        return
    fi
    if [ "$1" = oclgrind ]; then
        run 3 kernels.txt "$3" -d oclgrind
    else
        run 3 kernels.txt "$3"
    fi
    says "clbench verify --kernels kernels.txt $3"
    planted=$((planted + 1))
}

# The same, but not in the default tier: a few of each will do there.
more() {
    [ "${HUSK_TEST_TIER:-all}" = default ] || plant "$@"
}

# A missing barrier, an off-by-one at the tail, an accumulator that nobody sets, a write past the end, a race, and an
# index that overflows: in each kernel those that it can have.
planted=0
more any       map.cl       scale_and_clamp 's/i < n/i < n - 1/'
plant any      map.cl       scale_and_clamp 's/if (i < n)/if (i <= n)/'
more any       map.cl       scale_and_clamp 's/= get_global_id(0) \* V/= (uchar)get_global_id(0) * V/'
more oclgrind  map.cl       scale_and_clamp 's/y\[i\] = max/y[i \& ~1] = max/'
more any       reduce.cl    sum             's/i < n; i += stride/i < n - 1; i += stride/'
more oclgrind  reduce.cl    sum             's/float sum = 0;/float sum;/'
more oclgrind  reduce.cl    sum             '/sums\[item\] = sum;/{n;s/barrier(CLK_LOCAL_MEM_FENCE);/;/;}'
plant any      reduce.cl    sum             's/partial\[get_group_id(0)\]/partial[get_group_id(0) + 1]/'
more any       gemm.cl      tiled_gemm      's/first + x < k/first + x < k - 1/'
more any       gemm.cl      tiled_gemm      's/row < m \&\& column < n)/row <= m \&\& column < n)/'
more oclgrind  gemm.cl      tiled_gemm      's/float sum = 0;/float sum;/'
plant oclgrind gemm.cl      tiled_gemm      's/^        barrier(CLK_LOCAL_MEM_FENCE);/        ;/'
plant any      gemm.cl      tiled_gemm      's/tile_b\[y\]\[x\] = \(.*\) ? \(.*\) : 0;/if (\1) tile_b[y][x] = \2;/'
more any       gemm.cl      tiled_gemm      's/c\[row \* n/c[(uchar)(row * n)/; s/column < n)/column <= n)/'
plant any      stencil.cl   heat_step       's/x >= width ||/x > width ||/'
more oclgrind  stencil.cl   heat_step       's/barrier(CLK_LOCAL_MEM_FENCE);/;/'
more any       stencil.cl   heat_step       's/min(cx + 1, width - 1)/min(cx + 1, width)/; s/is_border ? here : //'
more any       stencil.cl   heat_step       's/v\[y \* width + x\]/v[(char)(y * width + x)]/'
plant any      scan.cl      scan_rows       's/item >= distance/item > distance/'
more oclgrind  scan.cl      scan_rows       's/sums\[1 - from\]/sums[from]/; s/= 1 - from/= from/'
more any       scan.cl      scan_rows       's/if (item < columns)/if (item <= columns)/'
more oclgrind  histogram.cl histogram       's/counts\[i\] = 0;/;/'
more any       histogram.cl histogram       's/i < n; i += get/i < n - 1; i += get/'
plant oclgrind histogram.cl histogram       's/atomic_inc(&counts\[x\[i\]\])/counts[x[i]]++/'
more oclgrind  histogram.cl histogram       's/i < BINS; i += WG)$/i <= BINS; i += WG)/'

# Sizes that nobody has listed: the smallest that fails.
restore
sed 's/i < n)/i < n \&\& !(n > 76 \&\& i == 70))/' "$kernels/map.cl" > "$work/kernels/map.cl"
sed 's/size    n=1,3,64,65,1000/size n=1,64/' "$kernels/kernels.txt" > "$work/kernels/kernels.txt"
run 0 kernels.txt scale_and_clamp
run 3 kernels.txt scale_and_clamp --fuzz 10s
says "clbench verify --kernels kernels.txt scale_and_clamp V=1 n=77"

# For GPUs that are not here, where compilers for them are.
restore
run 2 kernels.txt --offline nothing_of_that_name
says "--offline nothing_of_that_name: targets are nvidia"
if command -v clang-19 > "$work/which" && [ -e /usr/lib/clc/amdgcn--amdhsa.bc ]; then
    run 0 kernels.txt tiled_gemm T=8 --offline gfx942 --json "$work/out.json"
    says "tiled_gemm               T=8                  gfx942"
    says "1 right"
    grep -q '"case": "tiled_gemm for gfx942"' "$work/out.json" || complain "no row in the JSON file"
    sed 's/^  flops   2\*m.*/  limit registers<=5/' "$kernels/kernels.txt" > "$work/kernels/kernels.txt"
    run 3 kernels.txt tiled_gemm T=8 --offline gfx942
    says "and the limit is 5"
    sed 's/sum += /sum + = /' "$kernels/gemm.cl" > "$work/kernels/gemm.cl"
    run 1 kernels.txt tiled_gemm T=8 --offline gfx942
    says "error  tiled_gemm T=8 for gfx942"
else
    run 6 kernels.txt tiled_gemm T=8 --offline gfx942
    says "nothing is compiled for gfx942: there is no"
fi

# The jobs that init-ci writes: what they run, run here with the clbench that is tested.
restore
mkdir -p "$work/kernels/build/husk"
ln -s "$clbench" "$work/kernels/build/husk/clbench"
for service in github gitlab; do
    (cd "$work/kernels" && "$clbench" init-ci "$service" kernels.txt) > "$work/out" 2> "$work/err" ||
        complain "init-ci $service"
    says "it verifies kernels.txt"
    (cd "$work/kernels" && "$clbench" init-ci "$service" kernels.txt) > "$work/out" 2> "$work/err" &&
        complain "init-ci $service wrote over its file"
    says "is there already"
done
awk '/name: Verify the kernels/ { getline; inside = 1; next } inside && !/^          / { exit } inside { print }' \
    "$work/kernels/.github/workflows/verify-kernels.yml" > "$work/github.sh"
sed -n 's/^    - \(build.*--require.*\)/\1/p' "$work/kernels/.gitlab-ci.yml" > "$work/gitlab.sh"
# Where Oclgrind is missing, or the platform is another than the jobs' own.
"$has_oclgrind" || sed -i 's/pocl,oclgrind/pocl/' "$work/github.sh" "$work/gitlab.sh"
"$clbench" devices 2> "$work/err" | grep -qi 'pocl\|portable computing' ||
    sed -i 's/--require [a-z,]*//' "$work/github.sh" "$work/gitlab.sh"
for service in github gitlab; do
    rm -f "$work/kernels/kernels.xml"
    grep -q 'clbench verify' "$work/$service.sh" || complain "$service's job runs nothing"
    (cd "$work/kernels" && sh -eu "$work/$service.sh") > "$work/out" 2> "$work/err" || complain "$service's job fails"
    says "right, 0 wrong"
    grep -q '<testsuite ' "$work/kernels/kernels.xml" || complain "$service's job leaves no JUnit file"
done

# What does not compile, does not fit, is not there.
restore
sed 's/return;/retrun;/' "$kernels/stencil.cl" > "$work/kernels/stencil.cl"
run 1 kernels.txt heat_step --annotate github --junit "$work/out.xml" --json "$work/out.json"
says "stencil.cl does not compile"
says "::error file=stencil.cl,line=22::"
grep -q '<error message="stencil.cl does not compile' "$work/out.xml" || complain "no error in the JUnit file"
grep -q '"line": 22' "$work/out.json" || complain "no line in the JSON file"
restore
run 1 kernels.txt scan_rows WG=1048576
says "the device has smaller work-groups"
run 2 kernels.txt nobody
says "nobody is no kernel, parameter or size of these files"
run 2 missing.txt
says "missing.txt"
run 2 kernels.txt --junit kernels.txt
cmp -s "$kernels/kernels.txt" "$work/kernels/kernels.txt" || complain "a result was written over its description"
run 2 kernels.txt --list
says "--kernels and --list exclude each other"
cat > "$work/kernels/wanted.txt" << 'END'
kernel wanted file=wanted.cl
  arg y global int[64] out
  global 64
  expect y[i] = i
END
echo '__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void wanted(__global int *y)
{ y[get_global_id(0)] = get_global_id(0); }' > "$work/kernels/wanted.cl"
run 1 wanted.txt
says "the kernel wants work-groups of 16x1x1 (reqd_work_group_size)"
run 2 kernels.txt --suite smoke
says "--kernels and --suite exclude each other"
run 6 kernels.txt scale_and_clamp --require nothing_of_that_name --junit "$work/out.xml"
says "--require nothing_of_that_name: no such device was verified"
grep -q '<error message="--require nothing_of_that_name' "$work/out.xml" || complain "no error in the JUnit file"
# A mistake of the description's is none of the kernel's, and said once; what is not written is called so; and results
# that are wrong alike at many sizes do not fill the screen.
cat > "$work/kernels/front.txt" << 'END'
kernel front file=front.cl
  size n=2,4,6,8,10,12
  arg y global float[n] out
  global n//2
  expect y[i] = 1
END
echo '__kernel void front(__global float *y) { y[get_global_id(0)] = 1; }' > "$work/kernels/front.cl"
sed 's/y\[i\] = 1/y[2*i] = 1 for i<n/' "$work/kernels/front.txt" > "$work/kernels/beyond.txt"
run 1 beyond.txt
says "0 right, 0 wrong, 6 ended with an error"
[ "$(grep -c 'the expectation is of element' "$work/out")" = 1 ] || complain "a mistake is not said once"
says "5 of these like those above"
sed 's/front(/back(/' "$work/kernels/front.cl" > "$work/kernels/back.cl"
sed 's/front/back/g' "$work/kernels/front.txt" > "$work/kernels/back.txt"
run 3 back.txt --junit "$work/out.xml"
says "y[1] was not written: it holds what it held before the run"
says "0 right, 6 wrong"
[ "$(grep -c '^wrong' "$work/out")" = 3 ] || complain "not three wrong results are said"
[ "$(grep -c '<failure' "$work/out.xml")" = 6 ] || complain "not all wrong results are in the JUnit file"
sed 's/ out$/ out = zeros/' "$work/kernels/front.txt" > "$work/kernels/filled.txt"
run 2 filled.txt
says "filled.txt:3:7: y is an output, which holds NaN or a pattern before the run"
cat > "$work/kernels/hang.txt" << 'END'
kernel hang file=hang.cl
  arg y global int[1] inout = zeros
  global 1
  expect y[i] = 1
kernel crash file=hang.cl
  arg y global int[1] inout = zeros
  global 1
  expect y[i] = 1
kernel after file=hang.cl
  arg y global int[1] inout = zeros
  global 1
  expect y[i] = 1
END
cat > "$work/kernels/hang.cl" << 'END'
__kernel void hang(__global volatile int *y) { while (y[0] == 0) ; }
__kernel void crash(__global volatile int *y) { *(__global volatile int *)(ulong)(y[0] + 8) = 1; }
__kernel void after(__global int *y) { y[0] = 1; }
END
seconds=8
run 1 hang.txt
seconds=20
says "timeout  hang"
says "error  crash"
says "after                                         1 right"

# Expectations that others make: a function of a shared object, and a file of NumPy's with 2, 4 and 6.
restore
cat > "$work/kernels/foreign.txt" << 'END'
kernel scaled file=foreign.cl
  size n=3
  arg n int = n, a float = 2, v float2 = (1, 2), x global float[n] in = each(i, i+1), y global float[n] out
  global n
  expect y by "./libforeign.so:scaled" exactly
kernel of_file file=foreign.cl function=scaled
  size n=3
  arg n int = n, a float = 2, v float2 = (0, 0), x global float[n] in = each(i, i+1), y global float[n] out
  global n
  expect y by "y.npy" within 1 ulp
END
echo '__kernel void scaled(int n, float a, float2 v, __global const float *x, __global float *y)
{ int i = get_global_id(0); if (i < n) y[i] = a * x[i] + v.x + v.y; }' > "$work/kernels/foreign.cl"
echo 'void scaled(const void *const *arguments, void *expected);
void scaled(const void *const *arguments, void *expected)
{
    const float *v = arguments[2], *x = arguments[3];
    for (int i = 0; i < *(const int *)arguments[0]; i++)
        ((float *)expected)[i] = *(const float *)arguments[1] * x[i] + v[0] + v[1];
}' > "$work/foreign.c"
printf "\\223NUMPY\\001\\000v\\000%-117s\\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" \
    > "$work/kernels/y.npy"
printf '\000\000\000\100\000\000\200\100\000\000\300\100' >> "$work/kernels/y.npy"
run 0 foreign.txt of_file
says "within 1 ulp"
if cc -shared -fPIC -o "$work/kernels/libforeign.so" "$work/foreign.c" 2> "$work/err"; then
    run 0 foreign.txt scaled
    says "1 right"
    sed 's/a \* x/a + x/' "$work/kernels/foreign.cl" > "$work/kernels/changed.cl"
    mv "$work/kernels/changed.cl" "$work/kernels/foreign.cl"
    run 3 foreign.txt
    says "2 wrong"
fi

# What wraps around, and what would not end.
cat > "$work/kernels/large.txt" << 'END'
kernel local_memory file=large.cl
  arg t local long[(1 << 61) + 1], y global int[1] out
  global 1
  expect y[i] = 1
kernel configurations file=large.cl
  config A=1..1000 B=1..1000
  arg t local long[1], y global int[1] out
  global 1
  expect y[i] = 1
END
echo '__kernel void local_memory(__local long *t, __global int *y) { y[0] = 1; }
__kernel void configurations(__local long *t, __global int *y) { y[0] = 1; }' > "$work/kernels/large.cl"
run 1 large.txt local_memory
says "the device has less local memory"
run 1 large.txt configurations
says "configurations has more than 100000 configurations: choose some by NAME=VALUE"
run 0 large.txt configurations A=5 B=7
says "1 right"

# A tuning problem in T1: with a reference, without one, and with faults that show without any.
restore
run 0 map.t1.json
says "9 right, 0 wrong, 0 ended with an error"
sed 's/-0.25/-0.5/' "$kernels/map.t1.json" > "$work/kernels/map.t1.json"
run 3 map.t1.json WG=16 V=4
says "y[667] is 0, and 0.0005 is right"
cat > "$work/kernels/plain.json" << 'END'
{
    "ConfigurationSpace": {"TuningParameters": [{"Name": "WG", "Type": "int", "Values": "[8]"}]},
    "KernelSpecification": {
        "Language": "OpenCL", "KernelName": "plain", "KernelFile": "plain.cl",
        "GlobalSize": {"X": "64 // WG * WG"}, "LocalSize": {"X": "WG"},
        "Arguments": [
            {"Name": "x", "Type": "int32", "Size": 64, "FillType": "Random", "FillValue": 100,
             "AccessType": "ReadOnly", "MemoryType": "Vector"},
            {"Name": "y", "Type": "int32", "Size": 64, "AccessType": "WriteOnly", "MemoryType": "Vector"}
        ]
    }
}
END
# plain CODE STATEMENT: clbench has to end with this code on a kernel that does this.
plain() {
    echo "__kernel void plain(__global int *x, __global int *y) { int i = get_global_id(0); $2 }" \
        > "$work/kernels/plain.cl"
    run "$1" plain.json
}
plain 0 'y[i] = x[i];'
says "1 inconclusive  it runs; no results are compared, since none are described"
says "of 1 runs no results were compared, since none are described"
plain 3 'y[i] = x[i]; x[i] = 7;'
says "x is an input"
plain 3 'y[i] = x[i]; y[i + 1] = 0;'
says "it wrote beside a buffer: y"
plain 3 'y[i] += x[i];' # what y held before differs between runs
says "y[0] is"
says "of the same inputs"
plain 1 'y[i] = z;'
says "plain.cl does not compile"
sed 's/"OpenCL"/"CUDA"/' "$work/kernels/plain.json" > "$work/kernels/cuda.json"
run 2 cuda.json
says "cuda.json:4: KernelSpecification.Language: CUDA: clbench runs kernels in OpenCL"

# What the simulator takes for uninitialised, or cannot run, in optimised code; and a call that it lacks.
cat > "$work/kernels/simulated.txt" << 'END'
kernel vectors file=simulated.cl
  arg n int = 3, y global int[20] out
  global 10
  expect y[i] = i % 2 ? i//2 % 3 : i//2//3
kernel nowhere file=undefined.cl
  arg y global int[10] out
  global 10
  expect y[i] = i
END
echo '__kernel void vectors(int n, __global int2 *y) { int i = get_global_id(0); y[i] = (int2)(i / n, i % n); }' \
    > "$work/kernels/simulated.cl"
cat > "$work/kernels/undefined.cl" << 'END'
int undefined(int i);
__kernel void nowhere(__global int *y) { y[get_global_id(0)] = undefined(get_global_id(0)); }
END
run 0 simulated.txt vectors
if "$has_oclgrind"; then
    run 0 simulated.txt vectors -d oclgrind
    run 1 simulated.txt nowhere -d oclgrind
    says "error  nowhere: the device cannot prepare nowhere"
fi

echo "$planted faults planted and found"
exit "$failed"
