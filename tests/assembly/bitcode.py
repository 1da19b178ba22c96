# SPDX-License-Identifier: MIT
"""PoCL's intermediate code, which it keeps beside the machine code (POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES=1), and two
shapes of it that PoCL 7.0 to 7.2 compile to something else than was written."""
import glob
import os
import re
import subprocess
from collections import namedtuple

# What one line of a function says. name: of the value that it makes, or None. uses: the values that it takes, each
# with the block that it comes from where it is a phi's, else None.
Step = namedtuple("Step", "name operation text uses")
Function = namedtuple("Function", "name steps blocks after")

CANNOT_READ = ("nothing here reads the bitcode of PoCL's LLVM: install llvm-dis or clang of its version "
               "(apt: llvm-N, clang-N)")
BARRIER = re.compile(r"@(?:_Z7barrierj|_Z18work_group_barrier\w+|pocl\.barrier)\(")
NAME = r'%(?:"[^"]+"|[-\w.$]+)'


# ---- reading ----

def printers():
    """Commands that print bitcode, the newest first: PoCL comes with the clang of the LLVM that it was built with."""
    commands = []
    folders = os.environ.get("PATH", "").split(os.pathsep)
    for tool, options in (("llvm-dis", ["-o", "-"]), ("clang", ["-x", "ir", "-S", "-emit-llvm", "-w", "-o", "-"])):
        names = {os.path.basename(path) for folder in folders for path in glob.glob(os.path.join(folder, tool + "*"))}
        for name in names:
            version = re.fullmatch(tool + r"(?:-(\d+))?", name)
            if version:
                commands.append((int(version.group(1) or 0), tool == "llvm-dis", [name, *options]))
    return [command for _, _, command in sorted(commands, reverse=True)]


class Printer:
    """Prints bitcode as text with the first command that can read it."""

    def __init__(self):
        self.commands = printers()

    def text_of(self, path):
        """None: no command can read it."""
        for at, command in enumerate(self.commands):
            if "clang" in command[0]: # as it is, not optimised once more
                command = [*command, "-Xclang", "-disable-llvm-passes"]
            done = subprocess.run([*command, path], capture_output=True, text=True, errors="replace", check=False)
            if done.returncode == 0 and "\ndefine " in done.stdout:
                self.commands.insert(0, self.commands.pop(at))
                return done.stdout
        return None


def definitions_of(text):
    """name -> (head, body) of every function in a module's text."""
    found = {}
    for m in re.finditer(r'^define ([^\n]*?)@("[^"]+"|[\w.$]+)\([^\n]*\{\n(.*?)^\}', text, re.M | re.S):
        found[m.group(2).strip('"')] = (m.group(1), m.group(3))
    return found


def step_of(line):
    m = re.match(rf"(?:({NAME}) = )?((?:tail |musttail |notail )?[\w.]+)", line)
    name, operation = m.group(1), m.group(2).split()[-1]
    rest = line[m.end():]
    if operation == "phi":
        uses = [(value, block) for value, block in re.findall(rf"\[ ([^\[\]]*?), ({NAME}) \]", rest)]
        uses = [(found.group(0), block) for value, block in uses for found in re.finditer(NAME, value)]
    else:
        uses = [(value, None) for value in re.findall(NAME, re.sub(rf"label {NAME}", "", rest))]
    return Step(name, operation, line, uses)


def function_of(name, body):
    """A function's steps in their order, the first and last of each block, and which steps may follow each."""
    steps, blocks, block, at_block = [], {}, None, None
    lines = iter(body.split("\n"))
    for line in lines:
        label = re.match(r'("[^"]+"|[-\w.$]+):', line)
        if label or (block is None and line.strip()):
            block = "%" + label.group(1) if label else "%entry"
            at_block = len(steps)
        if label or not line.startswith("  "):
            continue
        while line.count("[") > line.count("]"): # the cases of a switch
            line += " " + next(lines).strip()
        steps.append(step_of(line.strip()))
        blocks[block] = (at_block, len(steps) - 1)
    after = []
    ends = {last for _, last in blocks.values()}
    for at, step in enumerate(steps):
        labels = re.findall(rf"label ({NAME})", step.text) if at in ends else []
        after.append([blocks[label][0] for label in labels if label in blocks] if at in ends else [at + 1])
    return Function(name, steps, blocks, after)


def kernels_of(definitions):
    return sorted(name for name, (head, _) in definitions.items() if "spir_kernel" in head)


def has_barrier(name, definitions, seen=()):
    """Whether the function waits for its work-group, itself or in one that it calls."""
    body = definitions[name][1]
    if BARRIER.search(body):
        return True
    called = set(re.findall(r"call [^\n]*?@([\w.$]+)\(", body)) & set(definitions)
    return any(has_barrier(callee, definitions, (*seen, name)) for callee in called - {name, *seen})


# ---- values of local memory that live across a barrier ----

POINTERS = {"getelementptr", "bitcast", "addrspacecast", "phi", "select", "freeze"}
WRITERS = {"store", "atomicrmw", "cmpxchg"}


def arrays_of(function):
    """For each value the arrays in local memory that it may point into: PoCL calls them @KERNEL.ARRAY."""
    pattern = re.compile(rf"@{re.escape(function.name)}\.[\w.]+")
    points, changed = {}, True
    while changed:
        changed = False
        for step in function.steps:
            if step.name and step.operation in POINTERS:
                found = set(pattern.findall(step.text)).union(*(points.get(use, ()) for use, _ in step.uses))
                if found - points.get(step.name, set()):
                    points[step.name], changed = points.get(step.name, set()) | found, True
    return points, pattern


def touched_by(step, points, pattern):
    """The arrays that a load, a store or a call reaches."""
    text = step.text
    if step.operation == "store":
        text = text[text.rindex(", ptr") if ", ptr" in text else text.rindex("*"):]
    names = re.findall(NAME, text)
    return set(pattern.findall(text)).union(*(points.get(name, ()) for name in names))


def is_call(step):
    return step.operation in ("call", "invoke") and not BARRIER.search(step.text)


def made_of(function, source):
    """The steps whose values can be computed anew from that one's: by the way that led there (phi) nothing can."""
    by_phi, found, values, changed = set(), {source}, {function.steps[source].name}, True
    while changed:
        changed = False
        for at, step in enumerate(function.steps):
            names = {use for use, _ in step.uses}
            if step.name and step.name not in by_phi and (step.operation == "phi" or names & by_phi - values):
                by_phi.add(step.name)
                changed = True
    changed = True
    while changed:
        changed = False
        for at, step in enumerate(function.steps):
            names = {use for use, _ in step.uses}
            if at not in found and step.name and step.operation != "phi" and names & values and \
                    not (names - values) & by_phi:
                found.add(at)
                values.add(step.name)
                changed = True
    return found


def walk(function, starts, after, stops):
    """The steps reached from the starts, along `after`; the ways end at stops."""
    known, ahead = set(starts), [s for s in starts if s not in stops]
    while ahead:
        for following in after[ahead.pop()]:
            if following not in known:
                known.add(following)
                if following not in stops:
                    ahead.append(following)
    return known


def uses_of(function, value):
    """Where it is used: a phi's at the end of the block that it comes from."""
    found = set()
    for at, step in enumerate(function.steps):
        for use, block in step.uses:
            if use == value:
                found.add(at if block is None else function.blocks[block][1] if block in function.blocks else at)
    return found


def before_of(function):
    before = [[] for _ in function.steps]
    for at, following in enumerate(function.after):
        for to in following:
            before[to].append(at)
    return before


def lives_across(function, made, barriers, writers, before):
    """Whether a use of the value that the step makes is behind a barrier, and its array may have been written by then,
    by this work-item or by another."""
    inside = walk(function, function.after[made], function.after, {made})
    crossed = walk(function, [to for b in barriers & inside for to in function.after[b]], function.after, {made})
    written = writers & crossed
    for use in uses_of(function, function.steps[made].name) & crossed:
        earlier = walk(function, [use], before, {made})
        beside = walk(function, [use], function.after, barriers | {made})
        if written & (earlier | beside):
            return True
    return False


def values_across_barriers(function):
    """(array, the load's text) of every value of local memory that lives across a barrier behind which its array is
    written, and is not read as volatile. PoCL 7.0 to 7.2 may load it again there (its pull request #2269)."""
    points, pattern = arrays_of(function)
    barriers = {at for at, step in enumerate(function.steps) if BARRIER.search(step.text)}
    if not barriers:
        return []
    touched = {at: touched_by(step, points, pattern) for at, step in enumerate(function.steps)
               if step.operation == "load" or step.operation in WRITERS or is_call(step)}
    before, found = before_of(function), []
    for at, arrays in touched.items():
        step = function.steps[at]
        is_load = step.operation == "load" and " volatile " not in step.text or is_call(step) and step.name
        if not is_load or not arrays:
            continue
        writers = {to for to, others in touched.items() if others & arrays and function.steps[to].operation != "load"}
        if any(lives_across(function, made, barriers, writers, before) for made in sorted(made_of(function, at))):
            found.append((" ".join(sorted(arrays)), step.text))
    return found


# ---- loops that are peeled ----

def is_peeled(text):
    """Whether PoCL has put barriers into loops of the kernel and peeled what is behind them."""
    return "peeled_wi" in text
