# SPDX-License-Identifier: MIT
"""What machine code has to be like, and what is known not to be."""
import fnmatch
import os
import re
from collections import namedtuple

Finding = namedtuple("Finding", "rule kernel what text")

# Loads and stores of vectors at fixed places of the stack that an innermost loop may have for each instruction that
# computes. The bound lies between what PoCL 3.1 to 7.1 make of most (a tenth of the loops are above 0.2, and for
# those above 0.45 a reason stands in allowed.txt) and what PoCL 6.0 made of builtins that it did not inline (0.8 to
# 11; in gemm's inner loop 2.2, at a third of its speed), or of recurrent states loaded too early (0.5, at 0.6 of its
# speed). On CPUs with two loads and two multiply-adds a cycle it leaves three quarters of the loads to the operands.
STACK_BOUND = 0.45
# Above this the rule is "spilled", which no line for "stack" in allowed.txt allows.
NEVER_ALLOWED = 1.0
# From how many of these on a loop is judged: those with fewer wait for memory or for their own count.
LEAST_ARITHMETIC = 8
# A main loop of multiply-adds has at least so many, and should take at most so many instructions for each: with two
# loads of B and a broadcast for each row a tile of 6x2 vectors takes 1.75, and what goes beyond holds up a core that
# begins six instructions a cycle and could multiply twice.
LEAST_PRODUCTS = 8
PRODUCT_BOUND = 1.9


# ---- exemptions ----

class Exemptions:
    """A file of lines "DRIVER RULE KERNEL WHAT; reason", the first four words patterns of the shell."""

    def __init__(self, path, driver):
        self.lines, self.needed, self.driver, self.name = [], set(), driver, os.path.basename(path)
        self.depending = set() # on the CPU
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    words, _, reason = line.partition(";")
                    if len(words.split()) != 4 or len(reason.strip()) < 20:
                        raise SystemExit(f"{self.name}: not \"DRIVER RULE KERNEL WHAT; reason\": {line.strip()}")
                    self.lines.append(words.split())
                    if reason.strip().startswith("engine"):
                        self.depending.add(" ".join(words.split()))

    def but(self, findings):
        """The findings that no line allows."""
        left = []
        for finding in findings:
            names = [self.driver, finding.rule, finding.kernel, finding.what]
            fitting = [" ".join(line) for line in self.lines
                       if all(fnmatch.fnmatchcase(name, pattern) for name, pattern in zip(names, line))]
            self.needed |= set(fitting)
            if not fitting:
                left.append(finding)
        return left

    def unneeded(self):
        """Lines for this driver that have allowed nothing, though no CPU makes a difference to them."""
        return [" ".join(line) for line in self.lines if fnmatch.fnmatchcase(self.driver, line[0])
                and " ".join(line) not in self.needed | self.depending]


# ---- loops ----

def traffic(loop):
    return (loop.figures.loads + loop.figures.stores) / max(1, loop.figures.arithmetic)


def per_product(loop):
    return loop.figures.instructions / max(1, loop.figures.products)


def is_of_products(loop):
    """Whether it multiplies and adds most of the time, as those of products of matrices and convolutions do."""
    return LEAST_PRODUCTS <= loop.figures.products and 2 * loop.figures.products > loop.figures.arithmetic


def is_judged(loop):
    return loop.run.family == "cpu" and loop.inner and loop.figures.arithmetic >= LEAST_ARITHMETIC


def plain(name):
    """_Z11_cl_vload16mPU8CLglobalKf is PoCL's vload16."""
    m = re.match(r"_Z(\d+)", name)
    return re.sub(r"^_cl_", "", name[m.end():m.end() + int(m.group(1))]) if m else name


def dtype_of(case):
    """":f16" of a case in f16; nothing of one in f32."""
    m = re.search(r" dtype=(\w+)", case)
    return ":" + m.group(1) if m else ""


def judge_loops(loops):
    findings, worst = [], {}
    for loop in loops:
        run, where = loop.run, f"{loop.run.file} {loop.run.form} at {loop.address:#x} of {loop.function}"
        if loop.endless:
            findings.append(Finding("endless", run.kernel, "*", f"a way around a loop passes no test: {where}"))
        if run.family == "cpu" and loop.inner:
            for callee in set(loop.figures.calls):
                key = ("call", run.kernel, plain(callee))
                worst.setdefault(key, (0, f"{run.file} calls {plain(callee)} in an innermost loop, {run.form}, "
                                       f"as in {run.case}"))
        if is_judged(loop) and traffic(loop) > STACK_BOUND:
            key = ("stack" if traffic(loop) <= NEVER_ALLOWED else "spilled", run.kernel,
                   f"{run.form}{dtype_of(run.case)}/{loop.function}")
            text = f"{traffic(loop):.2f} loads and stores of the stack for each of {loop.figures.arithmetic} " \
                f"instructions that compute ({STACK_BOUND} are allowed): {where}, {run.case}"
            worst[key] = max(worst.get(key, (0, "")), (traffic(loop), text))
    return findings + [Finding(*key, text) for key, (_, text) in worst.items()]


def judge_code(facts):
    first = {}
    for fact in facts:
        first.setdefault((fact.rule, fact.kernel, fact.what), fact.text)
    return [Finding(*key, text) for key, text in first.items()]


# ---- is all of it there? ----

# So the library refuses a tile that is made for a CPU with other vectors.
FOR_OTHER_CPUS = "is for vectors of "

def judge_coverage(lines, written):
    """Configurations that took no case, and kernels that nothing enqueued; of a file from which a variant for CPUs has
    run a kernel, those that no variant for CPUs has enqueued."""
    findings = [Finding("configuration", f"{words[2]}:{words[3]}", words[1], f"a variant for {words[1]}s took no case: "
                        + " ".join(words[4:])) for words in lines
                if words[0] == "missing" and FOR_OTHER_CPUS not in " ".join(words[4:])]
    findings += [Finding("crash", words[2], words[3], f"status {words[1]} while {words[3]} ran {words[4]}")
                 for words in lines if words[0] == "crashed"]
    has = {(words[1], words[2]) for words in lines if words[0] == "has"}
    ran = {(words[1], words[2], words[3]) for words in lines if words[0] == "ran"}
    ran_on_cpus = {(file, kernel) for family, file, kernel in ran if family == "cpu"}
    cpu_files = {file for file, _ in ran_on_cpus}
    ran_at_all = {(file, kernel) for _, file, kernel in ran}
    for file, kernel in sorted(has | {pair for pair in written if pair[1]}):
        seen = ran_on_cpus if file in cpu_files else ran_at_all
        if (file, kernel) not in seen:
            findings.append(Finding("unseen", file, kernel, f"no case enqueues {kernel}"))
    return findings
