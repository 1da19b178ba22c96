#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""assembly.py RUN_VARIANTS FOLDER: has PoCL compile what the library runs on this CPU, and reads what came of it.

RUN_VARIANTS is the program made of run_variants.c. FOLDER is made anew; it keeps PoCL's cache and a table of all loops,
loops.tsv. --again reads what the run before has left there. --cpu NAME (or HUSK_ASSEMBLY_CPU) has PoCL compile for
another CPU, in FOLDER-NAME. Exit status: 0 all is well, 1 something was found, 77 the machine code of this device
cannot be read. docs/testing.md says what is looked for.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import cpus # noqa: E402
import machine_code # noqa: E402
import reading # noqa: E402
import rules # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CL = os.path.join(os.path.dirname(os.path.dirname(HERE)), "cl")
CANNOT = 77
WORST = 25 # rows of the table


# ---- compiling ----

def compile_part(program, suite, folder, part, parts, cpu):
    """Runs the program for a share of the operators, with a cache of its own, and again for those behind one in which
    it crashed: a line "crashed" is added to what it prints. 0, or why there is nothing to be read."""
    cache = os.path.join(folder, f"cache-{part}")
    os.makedirs(cache, exist_ok=True)
    environment = dict(os.environ, POCL_CACHE_DIR=cache, XDG_CACHE_HOME=cache, HUSK_CACHE="0", HUSK_TUNING="0",
                       POCL_KERNEL_CACHE="1", POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES="1", **cpus.environment(cpu))
    path, first = os.path.join(folder, f"runs-{part}.txt"), part
    while True:
        with open(path, "a", encoding="utf-8") as out:
            status = subprocess.run([program, suite, str(first), str(parts)], stdout=out, env=environment,
                                    check=False).returncode
        if status in (0, CANNOT):
            return status
        words = [line for line in lines_of(path) if line[0] in ("operator", "at")]
        operators = [line for line in words if line[0] == "operator"]
        if not operators or int(operators[-1][1]) < first: # it did not come to the first one
            return 1
        with open(path, "a", encoding="utf-8") as out:
            out.write("\n" + "\t".join(["crashed", str(status), operators[-1][2], *words[-1][1:]]) + "\n")
        first = int(operators[-1][1]) + parts


def compile_variants(program, suite, folder, parts, cpu):
    """The largest exit status of so many processes."""
    for part in range(parts):
        open(os.path.join(folder, f"runs-{part}.txt"), "w", encoding="utf-8").close()
    with concurrent.futures.ThreadPoolExecutor(parts) as pool:
        return max(pool.map(lambda part: compile_part(program, suite, folder, part, parts, cpu), range(parts)))


def lines_of(path):
    """What a process has printed, a list of words for each line."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def all_lines(folder):
    names = [name for name in sorted(os.listdir(folder)) if re.fullmatch(r"runs-\d+\.txt", name)]
    return [line for name in names for line in lines_of(os.path.join(folder, name))]


def kernels_in_sources():
    """FILE KERNEL of what is written out in cl/; macros make more, which the built programs tell of."""
    found = set()
    for path in glob.glob(os.path.join(CL, "*", "*.cl")):
        name = os.path.relpath(path, CL)
        with open(path, encoding="utf-8") as file:
            heads = re.findall(r"__kernel\b[^{;]*?void (husk_[a-z0-9_]+)", file.read())
        found |= {(name, kernel) for kernel in heads} | {(name, "")}
    return found


# ---- printing ----

def print_worst(loops):
    judged = [loop for loop in loops if rules.is_judged(loop)]
    worst = {}
    for loop in sorted(judged, key=rules.traffic, reverse=True):
        worst.setdefault((loop.run.kernel, loop.run.form), loop)
    print(f"\nThe innermost loops with most stack traffic, one a kernel and configuration ({WORST} of {len(worst)}):")
    print(f"{'stack/arith':>11} {'instr/arith':>11} {'arith':>5} {'calls':>5}  file, kernel, configuration, case")
    for loop in list(worst.values())[:WORST]:
        f = loop.figures
        print(f"{rules.traffic(loop):11.2f} {f.instructions / f.arithmetic:11.1f} {f.arithmetic:5} {len(f.calls):5}  "
              f"{loop.run.file} {loop.run.kernel} {loop.run.form}  {loop.run.case}")


def print_products(loops):
    """The main loop of each kernel and configuration: the innermost one with most multiply-adds."""
    main_loops = {}
    for loop in loops:
        key = (loop.run.kernel, loop.run.form, rules.dtype_of(loop.run.case))
        most = main_loops[key].figures.products if key in main_loops else 0
        if rules.is_judged(loop) and rules.is_of_products(loop) and loop.figures.products > most:
            main_loops[key] = loop
    costly = sorted((loop for loop in main_loops.values() if rules.per_product(loop) > rules.PRODUCT_BOUND),
                    key=rules.per_product, reverse=True)
    print(f"\nMain loops of multiply-adds: {len(main_loops)}, of which {len(costly)} take more than "
          f"{rules.PRODUCT_BOUND} instructions for each:")
    print(f"{'instr/product':>13} {'products':>8}  file, kernel, configuration, case")
    for loop in costly:
        print(f"{rules.per_product(loop):13.2f} {loop.figures.products:8}  "
              f"{loop.run.file} {loop.run.kernel} {loop.run.form}  {loop.run.case}")


def print_calls(loops):
    called = {}
    for loop in loops:
        if loop.run.family == "cpu" and loop.inner:
            for callee in loop.figures.calls:
                place = called.setdefault((loop.run.file, loop.run.kernel), {})
                place[callee] = place.get(callee, 0) + 1
    print(f"\nKernels with calls in an innermost loop: {len(called)}")
    for (file, kernel), callees in sorted(called.items()):
        print(f"  {file} {kernel}: " + ", ".join(f"{rules.plain(name)} {count}x"
                                                for name, count in sorted(callees.items(), key=lambda c: -c[1])))


def write_table(loops, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("family\tfile\tkernel\tconfiguration\tcase\tfunction\taddress\tinner\tendless\tinstructions\t"
                   "arithmetic\tproducts\tloads\tstores\tcalls\tobject\n")
        for loop in loops:
            run, f = loop.run, loop.figures
            words = [run.family, run.file, run.kernel, run.form, run.case, loop.function, hex(loop.address), loop.inner,
                     loop.endless, f.instructions, f.arithmetic, f.products, f.loads, f.stores, " ".join(f.calls),
                     run.object]
            file.write("\t".join(map(str, words)) + "\n")


def print_findings(findings):
    findings = sorted(set(findings))
    print(f"\n{len(findings)} findings")
    for finding in findings:
        print(f"FAILED {finding.rule}: {finding.kernel}: {finding.text}")
    return 1 if findings else 0


# ---- the whole ----

def examine(folder, jobs):
    lines = all_lines(folder)
    device = next((words[1:] for words in lines if words[0] == "device"), ["?", "?"])
    runs = [reading.Run(*words[1:8]) for words in lines if words[0] == "ran" and words[6] != "-"]
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        loops = [loop for found in pool.map(reading.loops_of_run, runs) for loop in found]
        programs = reading.programs_of(folder, runs)
        code = [fact for found in pool.map(reading.facts_of_program, *zip(*programs)) for fact in found]
    write_table(loops, os.path.join(folder, "loops.tsv"))
    inner = [loop for loop in loops if loop.inner and loop.run.family == "cpu"]
    print(f"PoCL {device[1]}, {device[0]}: {len(runs)} kernels compiled for {len({run.kernel for run in runs})} names; "
          f"{len(inner)} innermost loops of variants for CPUs")
    print_worst(loops)
    print_products(loops)
    print_calls(loops)
    allowed = rules.Exemptions(os.path.join(HERE, "allowed.txt"), device[1])
    unseen = rules.Exemptions(os.path.join(HERE, "unseen.txt"), device[1])
    findings = allowed.but(rules.judge_loops(loops) + rules.judge_code(code))
    findings += unseen.but(rules.judge_coverage(lines, kernels_in_sources()))
    for line in allowed.unneeded():
        print(f"(allowed.txt: nothing here needs \"{line}\")")
    findings += [rules.Finding("exemption", "unseen.txt", line, f"nothing needs \"{line}\"")
                 for line in unseen.unneeded()]
    return print_findings(findings)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--suite", default="smoke")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 16))
    parser.add_argument("--warm", action="store_true", help="what is in the caches is not compiled again")
    parser.add_argument("--again", action="store_true", help="nothing is run, and the last run's results are read")
    parser.add_argument("--cpu", default=os.environ.get("HUSK_ASSEMBLY_CPU", ""),
                        help="the one that PoCL compiles for, in place of this one: " + ", ".join(cpus.NAMES))
    options = parser.parse_args(arguments)
    if options.cpu not in ("", *cpus.NAMES):
        parser.error(f"there is no CPU \"{options.cpu}\": {', '.join(cpus.NAMES)}")
    reason = machine_code.why_not() or cpus.why_not(options.cpu)
    if reason:
        print(reason)
        return CANNOT
    folder = os.path.abspath(options.folder) + ("-" + options.cpu if options.cpu else "")
    if not options.again and not options.warm:
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    if not options.again:
        status = compile_variants(options.program, options.suite, folder, options.jobs, options.cpu)
        if status == CANNOT:
            print(" ".join(all_lines(folder)[0]))
        if status:
            return status
    return examine(folder, options.jobs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
