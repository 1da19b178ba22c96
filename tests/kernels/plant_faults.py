#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""plant_faults.py CLBENCH KERNELS: how many faults of a kernel does clbench verify --kernels find?

    plant_faults.py CLBENCH KERNELS [--seed N] [--count N] [--all] [--list] [--only FILE]

Faults that a seed draws, so many of each file of the folder KERNELS, are planted one at a time (kernel_faults.py has
the kinds). Each is verified on PoCL and, if it passes there, on Oclgrind. A fault that does not compile is replaced
by the next one. equivalent.txt has those that change no result, each with the reason; a reason that some device
refutes is an error. Exit status: 0 all were found but the equivalent, 1 some were missed, 2 something else is wrong.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter

sys.dont_write_bytecode = True
import kernel_faults # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICES = (("PoCL", ["--require", "pocl"]), ("Oclgrind", ["-d", "oclgrind"]))
PATIENCE = 60 # seconds until a clbench that was interrupted has ended
BAD_ROW = re.compile(r"(wrong|error|timeout)  (.*)")
# What a row says, and the check that it comes from; the first that is there counts.
CHECKS = (
    ("does not compile", "compiler"),
    ("Invalid read", "read out of bounds"),
    ("Invalid write", "write out of bounds"),
    ("Index", "index out of bounds"),
    ("data race", "data race"),
    ("ninitialized", "uninitialised value"),
    ("divergence", "barrier divergence"),
    ("wrote beside a buffer", "guard bands"),
    ("work-groups that the driver chose", "other work-groups"),
    ("after the first run", "second run"),
    ("and no expectation is of it", "untouched elements"),
    ("was changed, and", "unchanged inputs"),
    ("or was not written", "NaN before the run"),
    ("is right", "result"),
    ("outputs wrong", "result"),
)


class Trouble(Exception):
    """Neither found nor missed: the tool, the device or a table is wrong."""


def say(text):
    print(text, flush=True)


def described_by(path):
    """Of each kernel file the name that the description has for it."""
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r"^(?:kernel|pipeline) (\w+) file=(\S+)", file.read(), re.M)
    return {file: name for name, file in rows}


def equivalent_faults(path):
    """key -> reason; a line each: file, line number, the line as the fault leaves it, and why no result changes."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                words = [word.strip() for word in re.split(r" \| ", line)]
                if len(words) != 4 or not words[1].isdigit() or len(words[3]) < 20:
                    raise Trouble(f"{path}: not file | line | edit | reason: {line}")
                found[words[0], int(words[1]), words[2]] = words[3]
    return found


def name_check(verdict, text):
    if verdict == "timeout":
        return "time limit"
    for words, check in CHECKS:
        if words in text:
            return check
    return "crash" if verdict == "error" else text


class Verifier:
    """Runs clbench in a copy of the folder, with caches of its own."""

    def __init__(self, clbench, kernels, folder):
        self.clbench, self.folder = os.path.abspath(clbench), os.path.join(folder, "kernels")
        shutil.copytree(kernels, self.folder)
        self.environment = dict(os.environ, POCL_CACHE_DIR=os.path.join(folder, "cache"))
        os.mkdir(self.environment["POCL_CACHE_DIR"])

    def write(self, path, text):
        with open(os.path.join(self.folder, path), "w", encoding="utf-8") as file:
            file.write(text)

    def verify(self, kernel, device):
        """The first bad row, (verdict, text); None: all rows are right. What comes behind it is not waited for."""
        command = [self.clbench, "verify", "--kernels", "kernels.txt", *kernel, "--max-time", "20s", *device]
        found, said = None, []
        with subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            for line in process.stdout:
                said.append(line)
                found = BAD_ROW.match(line)
                if found:
                    process.terminate()
                    break
            try:
                process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Trouble(f"clbench did not end when it was interrupted: {' '.join(command)}") from None
        if not found and process.returncode != 0:
            raise Trouble(f"{' '.join(command)} ended with {process.returncode}:\n{''.join(said)}")
        return found.groups() if found else None

    def look(self, kernel):
        """(device, check, text) of the first device that finds something; None: none does."""
        for name, device in DEVICES:
            bad = self.verify([kernel], device)
            if bad:
                return name, name_check(*bad), bad[1]
        return None


class Tally:
    def __init__(self, equivalent):
        self.equivalent = equivalent
        self.found, self.missed, self.excused, self.refuted = Counter(), [], [], []

    def add(self, fault, seen, seconds):
        reason = self.equivalent.get(fault.key)
        by = f"{seen[0]}: {seen[1]}" if seen else "equivalent" if reason else "MISSED"
        say(f"{fault.path}:{fault.line:<4} {fault.kind:<11} {fault.edit:<100} {by:<32} {seconds:5.1f}")
        if seen and reason:
            self.refuted.append(fault)
            say(f"    equivalent.txt says: {reason}\n    {seen[2]}")
        elif seen:
            self.found[by] += 1
        elif reason:
            self.excused.append((fault, reason))
        else:
            self.missed.append(fault)

    def report(self):
        found = sum(self.found.values())
        say("")
        for by, number in self.found.most_common():
            say(f"{number:4} by {by}")
        for fault, reason in self.excused:
            say(f"equivalent  {fault.path}:{fault.line}  {fault.edit}\n    {reason}")
        for fault in self.missed:
            say(f"missed      {fault.path}:{fault.line}  {fault.edit}")
        say(f"found {found}, equivalent by reason {len(self.excused)}, missed {len(self.missed)} of "
            f"{found + len(self.excused) + len(self.missed)}")
        if self.refuted:
            say(f"{len(self.refuted)} faults of equivalent.txt were found, and so are not equivalent")
            return 2
        return 1 if self.missed else 0


def plant(verifier, tally, kernel, path, text, faults, count):
    """The first `count` faults that compile."""
    planted = stillborn = 0
    for fault in faults:
        if planted == count:
            break
        start = time.monotonic()
        verifier.write(path, fault.apply(text))
        seen = verifier.look(kernel)
        if seen and seen[1] == "compiler":
            stillborn += 1
            continue
        planted += 1
        tally.add(fault, seen, time.monotonic() - start)
    verifier.write(path, text)
    if stillborn:
        say(f"({stillborn} faults of {path} did not compile and were replaced)")
    if planted < count < len(faults):
        raise Trouble(f"{path} has no {count} faults that compile")


def run(arguments):
    names = described_by(os.path.join(arguments.kernels, "kernels.txt"))
    equivalent = equivalent_faults(os.path.join(HERE, "equivalent.txt"))
    sources, known = {}, set()
    for path in sorted(names):
        with open(os.path.join(arguments.kernels, path), encoding="utf-8") as file:
            text = file.read()
        faults = kernel_faults.all_faults(path, text)
        sources[path] = text, kernel_faults.in_order(faults, arguments.seed)
        known |= {fault.key for fault in faults}
    for key in equivalent:
        if key not in known:
            raise Trouble(f"equivalent.txt has a fault that no rule makes: {key[0]}:{key[1]} {key[2]}")
    tally = Tally(equivalent)
    with tempfile.TemporaryDirectory() as folder:
        verifier = Verifier(arguments.clbench, arguments.kernels, folder)
        for name, device in DEVICES if not arguments.list else ():
            bad = verifier.verify([], device)
            if bad:
                raise Trouble(f"without any fault {name} finds: {bad[1]}")
        for path, (text, faults) in sources.items():
            if arguments.only and arguments.only != path:
                continue
            count = len(faults) if arguments.all else arguments.count
            if arguments.list:
                for fault in faults[:count]:
                    say(f"{path}:{fault.line:<4} {fault.kind:<11} {fault.edit}")
            else:
                plant(verifier, tally, names[path], path, text, faults, count)
    return 0 if arguments.list else tally.report()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clbench")
    parser.add_argument("kernels", help="the folder with kernels.txt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10, help="faults of each file")
    parser.add_argument("--all", action="store_true", help="every fault instead of a draw")
    parser.add_argument("--list", action="store_true", help="the draw alone, before it is known what compiles")
    parser.add_argument("--only", metavar="FILE", help="faults of this file alone")
    try:
        return run(parser.parse_args())
    except Trouble as trouble:
        say(f"plant_faults.py: {trouble}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
