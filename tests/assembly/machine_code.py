# SPDX-License-Identifier: MIT
"""Machine code of x86-64 and AArch64 as objdump prints it: functions, their flow of control, loops, and what the
instructions of a loop do."""
import platform
import re
import shutil
import subprocess
from collections import namedtuple

X86, ARM = "x86-64", "aarch64"

# What becomes of the flow of control behind an instruction.
NEXT, CALL, BRANCH, JUMP, STOP = "next", "call", "branch", "jump", "stop"

Instruction = namedtuple("Instruction", "address name operands")
Function = namedtuple("Function", "name instructions")
# after: the addresses of the blocks that may follow. is_whole: these are all; a jump to where a register says goes
# anywhere. is_guessed: they are more than may follow, a switch's cases among those of others.
Block = namedtuple("Block", "instructions after is_whole is_guessed")
# heads: the blocks by which it is entered. exits: the blocks that can leave it. inner: there is no loop in it.
Loop = namedtuple("Loop", "blocks heads exits inner")
# What a loop's instructions do: how many there are, how many compute, of these multiply-adds and dot products of
# vectors, those that load registers of vectors and floating-point numbers from fixed places of the stack and store them
# there, and the names of what it calls.
Figures = namedtuple("Figures", "instructions arithmetic products loads stores calls")


# ---- reading ----

def why_not():
    """Why machine code cannot be read here, in a sentence; "" where it can."""
    if not shutil.which("objdump"):
        return "objdump is not here: it comes with binutils"
    if platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"):
        return f"machine_code.py knows x86-64 and AArch64, not {platform.machine()}: it would need its jumps, calls, " \
               "the stack's register and what computes"
    return ""


def machine_of(path):
    """X86 or ARM, by the file's header; None for any other file."""
    with open(path, "rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return None
    return {62: X86, 183: ARM}.get(int.from_bytes(head[18:20], "little"))


def disassemble(path, machine):
    """What objdump prints of the file's code."""
    command = ["objdump", "-d", "--no-show-raw-insn", *(["-M", "intel"] if machine == X86 else []), path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def functions_of(text):
    """The functions in what objdump has printed."""
    found = []
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if head:
            found.append(Function(head.group(1), []))
            continue
        m = re.match(r"\s*([0-9a-f]+):\s+((?:(?:notrack|bnd|rep[nz]*|lock|data16|cs|\{\w+\}) )*)([\w.]+)\s*(.*)$", line)
        if m and found:
            operands = re.sub(r"\s+//.*", "", m.group(4)).strip()
            found[-1].instructions.append(Instruction(int(m.group(1), 16), m.group(3), operands))
    return [f for f in found if f.instructions]


# ---- instructions ----

def flow_x86(name):
    if name.startswith("call"):
        return CALL
    if name == "jmp":
        return JUMP
    if name.startswith(("j", "loop")):
        return BRANCH
    return STOP if name.startswith("ret") or name in ("ud2", "hlt") else NEXT


def flow_arm(name):
    if name in ("bl", "blr"):
        return CALL
    if name in ("b", "br"):
        return JUMP
    if name.startswith("b.") or name in ("cbz", "cbnz", "tbz", "tbnz"):
        return BRANCH
    return STOP if name in ("ret", "brk", "udf") else NEXT


def flow_of(machine, instruction):
    return (flow_x86 if machine == X86 else flow_arm)(instruction.name)


def target_of(instruction):
    """The address that a jump, branch or call names last; None where it is in a register."""
    m = re.search(r"(?:^|[\s,])(?:0x)?([0-9a-f]+) <[^>]*>$", instruction.operands)
    return int(m.group(1), 16) if m else None


def callee_of(instruction):
    m = re.search(r"<([^>+]+?)(?:@plt|@@?[\w.]+)?(?:[+-]0x[0-9a-f]+)?>$", instruction.operands)
    return m.group(1) if m else f"what {instruction.operands} points to"


# What computes: on x86-64 with vectors and floating-point numbers, moves, conversions of form and addresses left out.
ARITHMETIC_X86 = re.compile(
    r"v?(?:(?:add|sub|mul|div|sqrt|max|min|addsub|hadd|hsub|cmp\w*|and|andn|or|xor|ucomi|comi|rcp|rsqrt)"
    r"(?:14|28)?[ps][sdh]|fn?m(?:add|sub|addsub|subadd)\w+|cvt\w+|round\w+|rndscale\w+|scalef\w+|reduce[ps]\w|"
    r"getexp\w+|getmant\w+|fixupimm\w+|range[ps]\w|dp\w+|p(?:add|sub|mul|madd|max|min|abs|avg|sad|sign|hadd|cmp|"
    r"conflict|lzcnt|opcnt|tern|and|or|xor|sll|srl|sra|rol|ror|shl|shr)\w*)$")
ARITHMETIC_ARM = re.compile(
    r"(?:f(?:n?m(?:add|sub|ul|la|ls)|add|sub|div|sqrt|max|min|abs|neg|cvt|cm|rint|rec|rsq)\w*|[su]?(?:dot|mmla|mull?|"
    r"mla?l?|cvtf|addw|addl|addv|max|min|abd|shl|shr|qadd|qsub|rhadd)\w*|bfdot|bfmmla|bfmlal\w*)$")


PRODUCTS_X86 = re.compile(r"vfn?m(?:add|sub|addsub|subadd)\d*p[sdh]|vdp\w+|vpdp\w+")
PRODUCTS_ARM = re.compile(r"fml[as]\w*|[su]+dot|bfdot|\w*mmla|bfmlal\w*")


def is_product(machine, instruction):
    """Whether it multiplies vectors and adds the products up."""
    return bool((PRODUCTS_X86 if machine == X86 else PRODUCTS_ARM).fullmatch(instruction.name))


def is_arithmetic(machine, instruction):
    if machine == X86:
        return bool(ARITHMETIC_X86.match(instruction.name))
    return bool(ARITHMETIC_ARM.match(instruction.name))


def stack_use_x86(instruction, bases):
    """"load", "store" or None: whether it reads or writes a vector or floating-point number at a fixed distance from
    the stack's pointers. An index would make it an element of an array in private memory; a general register has an
    address or a count, whose loading is hidden behind the vectors' work."""
    memory = re.search(r"\[(r\w+)(?:[+-]0x[0-9a-f]+)?\]", instruction.operands)
    if not memory or memory.group(1) not in bases or not re.search(r"\b[xyz]mm\d", instruction.operands):
        return None
    is_written = "[" in instruction.operands.split(",")[0] and not re.match(r"v?u?comi", instruction.name)
    return "store" if is_written else "load"


def stack_use_arm(instruction, bases):
    memory = re.match(r"[bhsdqv]\d[^\[]*\[(\w+)(?:, #-?\w+)?\]", instruction.operands)
    if not memory or memory.group(1) not in bases:
        return None
    if instruction.name.startswith("ld"):
        return "load"
    return "store" if instruction.name.startswith("st") else None


def stack_bases(machine, function):
    """The registers that point into the stack all through the function: the frame's, too, where it has one."""
    first = function.instructions[:30]
    if machine == X86:
        framed = any(i.name == "mov" and i.operands == "rbp,rsp" for i in first)
        return {"rsp", "rbp"} if framed else {"rsp"}
    framed = any(i.name in ("mov", "add") and re.match(r"x29, sp", i.operands) for i in first)
    return {"sp", "x29"} if framed else {"sp"}


def figures_of(machine, function, instructions):
    bases = stack_bases(machine, function)
    stack_use = stack_use_x86 if machine == X86 else stack_use_arm
    uses = [stack_use(i, bases) for i in instructions]
    calls = [callee_of(i) for i in instructions if flow_of(machine, i) == CALL]
    return Figures(len(instructions), sum(is_arithmetic(machine, i) for i in instructions),
                   sum(is_product(machine, i) for i in instructions), uses.count("load"), uses.count("store"), calls)


# ---- the flow of control ----

def blocks_of(machine, function):
    """The blocks of a function by the addresses of their first instructions."""
    code = function.instructions
    inside = {i.address for i in code}
    starts = {code[0].address}
    for at, i in enumerate(code):
        if flow_of(machine, i) in (BRANCH, JUMP, STOP):
            starts.add(target_of(i))
            if at + 1 < len(code):
                starts.add(code[at + 1].address)
    starts &= inside
    blocks, begin = {}, 0
    for at in range(1, len(code) + 1):
        if at < len(code) and code[at].address not in starts:
            continue
        last = code[at - 1]
        flow, after = flow_of(machine, last), set()
        if flow in (BRANCH, JUMP):
            after.add(target_of(last))
        if flow in (NEXT, CALL, BRANCH) and at < len(code):
            after.add(code[at].address)
        blocks[code[begin].address] = Block(code[begin:at], after & inside, not after - inside, False)
        begin = at
    return reachable(with_tables(machine, blocks, code[0].address), code[0].address)


def with_tables(machine, blocks, entry):
    """The blocks, where a jump to what a register says, a switch's, leads to those that nothing else leads to."""
    filling = {address for address, block in blocks.items()
               if all("nop" in i.name or i.name == "xchg" for i in block.instructions)}
    led_to = {to for address, block in blocks.items() if address not in filling for to in block.after}
    while True:
        known = reachable(blocks, entry)
        jumps = [address for address, block in known.items() if flow_of(machine, block.instructions[-1]) == JUMP
                 and target_of(block.instructions[-1]) is None] # a tail call has a target, outside
        rest = blocks.keys() - known.keys() - filling
        if not jumps or not rest:
            return blocks
        tables = rest - led_to or {min(rest)} # a case may begin with a loop, which leads to itself
        for jump in jumps:
            blocks[jump] = blocks[jump]._replace(after=blocks[jump].after | tables, is_guessed=True)


def reachable(blocks, entry):
    """Without what only fills the room before the next block, and would be one more way into it."""
    known, ahead = {entry}, [entry]
    while ahead:
        new = blocks[ahead.pop()].after - known
        known |= new
        ahead += new
    return {address: block for address, block in blocks.items() if address in known}


def strong_parts(nodes, after):
    """The strongly connected parts of the graph's nodes (Tarjan), those without a cycle left out."""
    number, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in sorted(nodes):
        if root in number:
            continue
        work = [(root, iter(sorted(after[root] & nodes)))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    part = set(stack[stack.index(node):])
                    del stack[stack.index(node):]
                    on_stack -= part
                    if len(part) > 1 or node in after[node]:
                        found.append(part)
            elif following not in number:
                number[following] = low[following] = len(number)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(sorted(after[following] & nodes))))
            elif following in on_stack:
                low[node] = min(low[node], number[following])
    return found


def loops_of(after, leaves=frozenset(), nodes=None):
    """Every loop of the graph, those within others behind them. leaves: nodes from which other ways lead out."""
    nodes = set(after) if nodes is None else nodes
    found = []
    for part in strong_parts(nodes, after):
        entered = {to for node in after if node not in part for to in after[node] if to in part}
        heads = entered or {min(part)}
        within = loops_of(after, leaves, part - heads)
        exits = {node for node in part if after[node] - part or node in leaves}
        found.append(Loop(part, heads, exits, not within))
        found += within
    return found


def reached(start, after, allowed):
    """The nodes among those allowed that are reached from the start, which is one of them."""
    known, ahead = {start} & allowed, [start] if start in allowed else []
    while ahead:
        new = after[ahead.pop()] & allowed - known
        known |= new
        ahead += new
    return known


def is_endless(loop, after):
    """Whether some way around the loop passes no test that could leave it. Ways around a loop within it, which may
    begin at the same block, are its own."""
    before = {node: {other for other in loop.blocks if node in after[other]} for node in loop.blocks}
    for head in loop.heads:
        for latch in before[head]:
            around = reached(latch, before, loop.blocks - {head}) | {head}
            without_test = {node for node in around if not after[node] - around and node not in loop.exits}
            if latch in reached(head, after, without_test):
                return True
    return False
