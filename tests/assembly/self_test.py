#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reader of machine code, looked at itself: each rule finds what is planted, and nothing where all is well. It
needs no OpenCL; objdump and a C compiler it takes where they are."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import bitcode # noqa: E402
import cpus # noqa: E402
import machine_code # noqa: E402
import reading # noqa: E402
import rules # noqa: E402

FAILURES = []
CANNOT = 77


def expect(what, found, wanted):
    if found != wanted:
        FAILURES.append(f"{what}: {found!r}, not {wanted!r}")


# ---- machine code, as objdump prints it ----

HEAD = """
0000000000001000 <_pocl_kernel_husk_fixture_workgroup>:
    1000:\tpush   rbp
    1001:\tmov    rbp,rsp
"""
# A product with its factors in registers and one accumulator that was spilled: one load and one store for 8.
RIGHT = HEAD + """    1010:\tvbroadcastss ymm0,DWORD PTR [rsi]
    1014:\tvfmadd231ps ymm1,ymm0,YMMWORD PTR [rdi]
    1018:\tvfmadd231ps ymm2,ymm0,YMMWORD PTR [rdi+0x20]
    101c:\tvfmadd231ps ymm3,ymm0,YMMWORD PTR [rsp+rax*4+0x40]
    1020:\tvfmadd231ps ymm4,ymm0,YMMWORD PTR [rsp+rax*4+0x60]
    1024:\tvfmadd231ps ymm5,ymm0,ymm9
    1028:\tvfmadd231ps ymm6,ymm0,ymm10
    102c:\tvfmadd231ps ymm7,ymm0,ymm11
    1030:\tvmovaps ymm8,YMMWORD PTR [rsp+0x20]
    1034:\tvfmadd231ps ymm8,ymm0,ymm12
    1038:\tvmovaps YMMWORD PTR [rsp+0x20],ymm8
    103c:\tinc    rax
    1040:\tcmp    rax,rcx
    1044:\tjl     1010 <_pocl_kernel_husk_fixture_workgroup+0x10>
    1048:\tret
"""
# As PoCL 6.0 makes it of gemm: a vector comes from a call, and accumulators live on the stack.
FIFTH = "    1024:\tvfmadd231ps ymm5,ymm0,ymm9\n"
CALLS = RIGHT.replace(FIFTH, "    1024:\tcall   2000 <_Z10_cl_vload8mPU9CLprivateKf>\n")
SPILLS = RIGHT.replace(FIFTH, "    1022:\tvmovaps ymm13,YMMWORD PTR [rbp-0x60]\n"
                       "    1023:\tvmovaps YMMWORD PTR [rbp-0x60],ymm13\n"
                       "    1024:\tvfmadd231ps ymm5,ymm0,YMMWORD PTR [rsp+0x80]\n")
# The call stands behind the loop, and in a loop around it.
OUTER = RIGHT.replace("    1010:", "    1008:\txor    eax,eax\n    1010:").replace(
    "    1048:\tret\n", "    1048:\tcall   2000 <finish>\n    104d:\tdec    rdx\n"
    "    1050:\tjne    1008 <_pocl_kernel_husk_fixture_workgroup+0x8>\n    1054:\tret\n")
# One of two ways around it has no test.
ENDLESS = HEAD + """    1010:\tadd    rax,0x10
    1014:\ttest   dl,dl
    1018:\tje     1024 <_pocl_kernel_husk_fixture_workgroup+0x24>
    101c:\tcmp    rax,rcx
    1020:\tjge    102c <_pocl_kernel_husk_fixture_workgroup+0x2c>
    1024:\txor    edx,0x1
    1028:\tjmp    1010 <_pocl_kernel_husk_fixture_workgroup+0x10>
    102c:\tret
"""
# Two loops that begin at the same instruction, each with its test; what fills the room before it is no way in.
SHARED = HEAD + """    1002:\tjmp    1010 <_pocl_kernel_husk_fixture_workgroup+0x10>
    1004:\tnop    DWORD PTR [rax+rax*1+0x0]
    1010:\tvaddps ymm0,ymm0,ymm1
    1014:\tinc    rax
    1018:\tcmp    rax,0x40
    101c:\tjne    1010 <_pocl_kernel_husk_fixture_workgroup+0x10>
    1020:\txor    eax,eax
    1024:\tinc    rbx
    1028:\tcmp    rbx,0x10
    102c:\tjne    1010 <_pocl_kernel_husk_fixture_workgroup+0x10>
    1030:\tret
"""
ARM = """
0000000000000100 <_pocl_kernel_husk_fixture_workgroup>:
 100:\tstp\tx29, x30, [sp, #-16]!
 104:\tmov\tx29, sp
 108:\tldr\tq1, [x0], #16
 10c:\tldr\tq2, [sp, #32]
 110:\tfmla\tv2.4s, v1.4s, v0.4s
 114:\tstr\tq2, [sp, #32]
 118:\tldr\tq3, [x29, x2, lsl #4]
 11c:\tbl\t400 <_Z7_cl_minii>
 120:\tsubs\tx1, x1, #0x1
 124:\tb.ne\t108 <_pocl_kernel_husk_fixture_workgroup+0x8>  // b.any
 128:\tret
"""


def loops_of(text, machine=machine_code.X86, family="cpu"):
    run = reading.Run(family, "fixture.cl", "husk_fixture", "variant:1", "fixture n=1", "fixture.so", "")
    functions = reading.launched(machine_code.functions_of(text))
    return [reading.Loop(run, *words) for words in reading.loops_of_functions(machine, functions)]


def rules_of(text, **options):
    return sorted((f.rule, f.what) for f in rules.judge_loops(loops_of(text, **options)))


def test_machine_code():
    expect("a loop that is right", rules_of(RIGHT), [])
    figures = loops_of(RIGHT)[0].figures
    expect("its figures", (figures.arithmetic, figures.loads, figures.stores), (8, 1, 1))
    expect("a call", rules_of(CALLS), [("call", "vload8")])
    expect("the same of a variant for GPUs", rules_of(CALLS, family="gpu"), [])
    expect("spills", rules_of(SPILLS), [("stack", "variant:1/_pocl_kernel_husk_fixture_workgroup")])
    expect("a call behind the loop", rules_of(OUTER), [])
    expect("which loop is within", sorted(loop.inner for loop in loops_of(OUTER)), [False, True])
    expect("a way without a test", rules_of(ENDLESS), [("endless", "*")])
    expect("loops with one beginning", rules_of(SHARED), [])
    expect("AArch64", rules_of(ARM, machine=machine_code.ARM), [("call", "min")])
    figures = loops_of(ARM, machine=machine_code.ARM)
    figures = figures[0].figures if figures else machine_code.Figures(0, 0, 0, 0, 0, [])
    expect("AArch64's figures", (figures.arithmetic, figures.products, figures.loads, figures.stores), (1, 1, 1, 1))


def test_products():
    for machine, names, others in (
            (machine_code.X86, "vfmadd231ps vfnmadd132pd vdpbf16ps vpdpbusd", "vmulps vaddps vpmaddwd vfmadd231ss"),
            (machine_code.ARM, "fmla bfdot sdot usdot bfmmla fmls", "fmul fadd fmadd")):
        for name in names.split() + others.split():
            instruction = machine_code.Instruction(0, name, "")
            expect(f"whether {name} multiplies and adds", machine_code.is_product(machine, instruction),
                   name in names.split())
    loop = loops_of(RIGHT)[0]
    tile = loop._replace(figures=loop.figures._replace(instructions=22, products=12))
    expect("instructions for each product", round(rules.per_product(tile), 2), 1.83)
    expect("whether products are most of it", [rules.is_of_products(tile._replace(figures=tile.figures._replace(
        arithmetic=number))) for number in (12, 23, 24)], [True, True, False])


def test_cpus():
    expect("this CPU as it is", (cpus.why_not(""), cpus.environment("")), ("", {}))
    expect("vectors of AVX2", cpus.environment("haswell")["HUSK_LIMITS"], "vector_width=8")
    for name in cpus.NAMES:
        lacks = cpus.why_not(name)
        expect(f"why not {name}", bool(lacks), not cpus.needs(name) <= cpus.flags_here())


def test_bounds():
    loop = loops_of(SPILLS)[0]
    heavy = loop._replace(figures=loop.figures._replace(loads=2 * loop.figures.arithmetic))
    for one, rule in ((loop, "stack"), (heavy, "spilled")):
        expect("how much traffic is " + rule, [finding.rule for finding in rules.judge_loops([one])], [rule])


# A switch's cases, to which a register's jump leads, and what fills the room between.
def test_switches():
    jump = "    1008:\tjmp    rcx\n    100a:\tnop    WORD PTR [rax+rax*1+0x0]\n"
    switched = RIGHT.replace("    1010:", jump + "    1010:", 1)
    expect("a loop in a switch's case", rules_of(switched), rules_of(RIGHT))
    expect("and it is seen", [(loop.inner, loop.figures.arithmetic) for loop in loops_of(switched)],
           [(loop.inner, loop.figures.arithmetic) for loop in loops_of(RIGHT)])
    expect("spills in a switch's case", rules_of(SPILLS.replace("    1010:", jump + "    1010:", 1)), rules_of(SPILLS))


def test_names():
    expect("a builtin", rules.plain("_Z11_cl_vload16mPU8CLglobalKf"), "vload16")
    expect("a function of C", rules.plain("memcpy"), "memcpy")


# A function that loops is a loop within, whoever calls it.
def test_calls_of_loops():
    callee = RIGHT.replace("_pocl_kernel_husk_fixture_workgroup", "multiply").replace("    10", "    20")
    caller = CALLS.replace("2000 <_Z10_cl_vload8mPU9CLprivateKf>", "2000 <multiply>")
    loops = loops_of(caller + callee)
    expect("a call of a loop", [loop.inner for loop in loops], [False, True])
    between = HEAD.replace("_pocl_kernel_husk_fixture_workgroup", "multiply").replace("1000", "3000") + \
        "    3000:\tcall 2000 <multiply_8>\n    3005:\tret\n"
    loops = loops_of(caller.replace("2000 <multiply>", "3000 <multiply>") + between +
                     callee.replace("multiply", "multiply_8"))
    expect("a call of what calls a loop", [loop.inner for loop in loops], [False, True])
    expect("a kernel's other forms", [f.name for f in reading.launched(machine_code.functions_of(
        HEAD + "    1010:\tret\n" + HEAD.replace("_workgroup", "") + "    1010:\tret\n" +
        HEAD.replace("_workgroup", "_workgroup_fast") + "    1010:\tret\n"))], ["_pocl_kernel_husk_fixture_workgroup"])


COMPILED = """
float outside(float);
void calls(float *x, int n) { for (int i = 0; i < n; ++i) x[i] = outside(x[i]); }
void plain(float *x, int n) { for (int i = 0; i < n; ++i) x[i] = x[i] * x[i] + 1.0f; }
"""


def test_compiled(folder):
    """What this machine's compiler makes of C."""
    source, path = os.path.join(folder, "fixture.c"), os.path.join(folder, "fixture.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write(COMPILED)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path, source], check=True)
    machine = machine_code.machine_of(path)
    expect("the machine", machine in (machine_code.X86, machine_code.ARM), True)
    expect("what is no object", machine_code.machine_of(source), None)
    functions = {f.name: f for f in machine_code.functions_of(machine_code.disassemble(path, machine))}
    for name, wanted in (("calls", ["outside"]), ("plain", [])):
        loops = list(reading.loops_of_functions(machine, [functions[name]]))
        called = {callee for loop in loops for callee in loop[4].calls}
        expect(f"{name}: loops, calls, ends", (bool(loops), sorted(called), any(loop[3] for loop in loops)),
               (True, wanted, False))


# ---- the code between ----

KERNEL = """@husk_fixture.scratch = internal global [64 x float] undef, align 16
define dso_local spir_kernel void @husk_fixture(ptr noundef %y, i64 noundef %i) local_unnamed_addr #0 {
entry:
  %at = getelementptr inbounds [64 x float], ptr @husk_fixture.scratch, i64 0, i64 %i
  store float 1.000000e+00, ptr %at, align 4
  tail call void @_Z7barrierj(i32 noundef 1) #1
  %x = LOAD float, ptr %at, align 4
BETWEEN
  br label %next

next:                                             ; preds = %entry
  %other = getelementptr inbounds [64 x float], ptr @husk_fixture.scratch, i64 0, i64 3
  STORE
  tail call void @_Z7barrierj(i32 noundef 1) #1
  %out = getelementptr inbounds float, ptr %y, i64 %i
  store float USED, ptr %out, align 4
  ret void
}
"""
BARRIER = "  tail call void @_Z7barrierj(i32 noundef 1) #1"
WRITES = "store float 2.000000e+00, ptr %other, align 4"


def across(load="load", between=BARRIER, store=WRITES, used="%x"):
    text = KERNEL.replace("LOAD", load).replace("BETWEEN", between).replace("STORE", store).replace("USED", used)
    definitions = bitcode.definitions_of(text)
    expect("the kernels", bitcode.kernels_of(definitions), ["husk_fixture"])
    function = bitcode.function_of("husk_fixture", definitions["husk_fixture"][1])
    return [array for array, _ in bitcode.values_across_barriers(function)]


TILES = """define spir_kernel void @husk_fixture(ptr %y, i64 %n) {
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  %sum = phi float [ 0.000000e+00, %entry ], [ %more, %loop ]
  %i = phi i64 [ 0, %entry ], [ %after, %loop ]
  store float 1.000000e+00, ptr @husk_fixture.tile, align 4
  call void @_Z7barrierj(i32 1)
  %a = load float, ptr @husk_fixture.tile, align 4
  %more = fadd float %sum, %a
  call void @_Z7barrierj(i32 1)
  %after = add i64 %i, 1
  %goes_on = icmp slt i64 %after, %n
  br i1 %goes_on, label %loop, label %end

end:                                              ; preds = %loop
  store float %more, ptr %y, align 4
  ret void
}
"""


def test_values_across_barriers():
    found = ["@husk_fixture.scratch"]
    expect("a value across a barrier", across(), found)
    expect("what is computed of it", across(between="  %z = fmul float %x, 2.000000e+00\n" + BARRIER, used="%z"), found)
    expect("read as volatile", across(load="load volatile"), [])
    expect("no write behind the barrier", across(store="store float 2.000000e+00, ptr %y, align 4"), [])
    expect("used before the barrier", across(between="  %z = fmul float %x, 2.000000e+00\n  store float %z, ptr %y\n" +
                                             BARRIER, used="1.000000e+00"), [])
    expect("written behind a use, before the next barrier", across(
        between=BARRIER + "\n  store float %x, ptr %y, align 4", used="1.000000e+00"), found)
    expect("no barrier between", across(between="", store="store float %x, ptr %y, align 4", used="1.000000e+00"), [])
    definitions = bitcode.definitions_of(TILES)
    function = bitcode.function_of("husk_fixture", definitions["husk_fixture"][1])
    expect("blocks", sorted(function.blocks), ["%end", "%entry", "%loop"])
    expect("a sum over tiles", bitcode.values_across_barriers(function), [])


def test_barriers():
    free = TILES.replace("husk_fixture", "husk_free").replace("_Z7barrierj", "f")
    indirect = TILES.replace("@husk_fixture(", "@husk_indirect(").replace("_Z7barrierj", "husk_fixture")
    definitions = bitcode.definitions_of(TILES + free + indirect)
    names = ("husk_fixture", "husk_free", "husk_indirect")
    expect("barriers", [bitcode.has_barrier(name, definitions) for name in names], [True, False, True])
    expect("a peeled loop", bitcode.is_peeled("for.body.peeled_wi.i:  ; preds = %entry"), True)
    expect("another loop", bitcode.is_peeled("for.body.i:  ; preds = %entry"), False)


# ---- exemptions, and whether all was seen ----

def test_exemptions(folder):
    path = os.path.join(folder, "allowed.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# a comment\n6.0* call husk_fixture vload*; a reason that is long enough\n"
                   "* stack husk_other *; nothing needs this line, which is said\n"
                   "7.* call * *; this one is of another driver\n"
                   "* unseen *cpu_matrix.cl *; engine: another CPU has it\n")
    exemptions = rules.Exemptions(path, "6.0+debian")
    call, stack = rules.Finding("call", "husk_fixture", "vload8", ""), rules.Finding("stack", "husk_fixture", "v:1", "")
    expect("what is allowed", exemptions.but([call, stack]), [stack])
    expect("what nothing needs", exemptions.unneeded(), ["* stack husk_other *"])
    with open(path, "w", encoding="utf-8") as file:
        file.write("* call husk_fixture *; short\n")
    try:
        rules.Exemptions(path, "6.0")
        FAILURES.append("a line without a reason is taken")
    except SystemExit:
        pass


def test_coverage():
    lines = [["has", "a.cl", "husk_a"], ["has", "a.cl", "husk_a_end"], ["has", "b.cl", "husk_b"],
             ["ran", "cpu", "a.cl", "husk_a", "v:1", "case", "a.so", ""],
             ["ran", "gpu", "a.cl", "husk_a_end", "g:1", "case", "b.so", ""],
             ["missing", "cpu", "conv", "direct:6x16", "tile 6x16 is for vectors of 8 floats"],
             ["missing", "cpu", "gemm", "packed:1", "no"], ["crashed", "-6", "gemm", "packed:1", "gemm m=1"]]
    written = {("a.cl", "husk_a"), ("c.cl", "husk_c"), ("c.cl", "")}
    expect("what is not there", [finding[:3] for finding in rules.judge_coverage(lines, written)], [
        ("configuration", "gemm:packed:1", "cpu"), ("crash", "gemm", "packed:1"), ("unseen", "a.cl", "husk_a_end"),
        ("unseen", "b.cl", "husk_b"), ("unseen", "c.cl", "husk_c")])


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_machine_code()
        test_products()
        test_cpus()
        test_names()
        test_calls_of_loops()
        test_switches()
        test_bounds()
        test_values_across_barriers()
        test_barriers()
        test_exemptions(folder)
        test_coverage()
        reason = machine_code.why_not() or ("" if shutil.which("cc") else "a C compiler is not here")
        if not reason:
            test_compiled(folder)
    for failure in FAILURES:
        print(failure)
    if not FAILURES and reason:
        print(f"{reason}: what a compiler makes was not read")
        return CANNOT
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
