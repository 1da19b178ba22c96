# SPDX-License-Identifier: MIT
"""What PoCL has left in its cache for a kernel: loops of the machine code, and facts from the code between."""
import glob
import os
from collections import namedtuple

import bitcode
import machine_code

# A kernel that was enqueued (run_variants.c has the words).
Run = namedtuple("Run", "family file kernel form case object options")
# A loop of its machine code. inner: there is no other loop in it, nor in what it calls. endless: some way around it has
# no test that could leave it.
Loop = namedtuple("Loop", "run function address inner endless figures")
# What bitcode.py finds of a kernel: rule, kernel, what it is about, text.
Fact = namedtuple("Fact", "rule kernel what text")


# ---- machine code ----

def with_callers(names, calls):
    """The functions of these names, those that call them, and so on; calls: what each function calls."""
    more = {name for name, callees in calls.items() if callees & names} - names
    return with_callers(names | more, calls) if more else names


def loops_of_functions(machine, functions):
    """(function, address, inner, endless, figures) of every loop."""
    graphs = {}
    for function in functions:
        blocks = machine_code.blocks_of(machine, function)
        after = {address: block.after for address, block in blocks.items()}
        leaves = {address for address, block in blocks.items() if not block.is_whole}
        graphs[function.name] = (blocks, after, machine_code.loops_of(after, leaves))
    calls = {function.name: {machine_code.callee_of(i) for i in function.instructions
                             if machine_code.flow_of(machine, i) == machine_code.CALL} for function in functions}
    looping = with_callers({name for name, (_, _, loops) in graphs.items() if loops}, calls)
    for function in functions:
        blocks, after, loops = graphs[function.name]
        for loop in loops:
            code = [i for address in sorted(loop.blocks) for i in blocks[address].instructions]
            figures = machine_code.figures_of(machine, function, code)
            inner = loop.inner and not looping & set(figures.calls)
            guessed = any(blocks[address].is_guessed for address in loop.blocks)
            endless = not guessed and machine_code.is_endless(loop, after)
            yield function.name, min(loop.blocks), inner, endless, figures


def launched(functions):
    """PoCL makes a kernel in up to three forms, of which one is launched: it ends in _workgroup."""
    names = {function.name for function in functions}
    return [f for f in functions if not f.name.endswith("_workgroup_fast") and f.name + "_workgroup" not in names]


def loops_of_run(run):
    machine = machine_code.machine_of(run.object)
    functions = machine_code.functions_of(machine_code.disassemble(run.object, machine))
    return [Loop(run, *words) for words in loops_of_functions(machine, launched(functions))]


# ---- the code between ----

def programs_of(folder, runs):
    """(program's bitcode, [(kernel, its work-group's bitcode)...]) for every program in the caches: */*/program.bc, and
    KERNEL/SIZES/parallel.bc beside a kernel's object."""
    programs = {path: set() for path in glob.glob(os.path.join(folder, "cache-*", "*", "*", "program.bc"))}
    for run in runs:
        beside = os.path.dirname(run.object)
        program = os.path.join(os.path.dirname(os.path.dirname(beside)), "program.bc")
        programs.setdefault(program, set()).add((run.kernel, os.path.join(beside, "parallel.bc")))
    return sorted((program, sorted(kernels)) for program, kernels in programs.items())


def facts_of_program(program, kernels):
    printer = bitcode.Printer()
    text = printer.text_of(program)
    if text is None:
        return [Fact("unread", "PoCL's code", "*", bitcode.CANNOT_READ)]
    definitions, facts = bitcode.definitions_of(text), []
    for name in bitcode.kernels_of(definitions):
        if bitcode.has_barrier(name, definitions):
            function = bitcode.function_of(name, definitions[name][1])
            for array, load in bitcode.values_across_barriers(function):
                facts.append(Fact("across_barrier", name, array, f"a value of {array} lives across a barrier behind "
                                  f"which the array is written, and is not read as volatile: {load}"))
    for name, path in kernels:
        if name in definitions and not bitcode.has_barrier(name, definitions):
            text = printer.text_of(path)
            if text is None:
                facts.append(Fact("unread", "PoCL's code", "*", bitcode.CANNOT_READ))
            elif bitcode.is_peeled(text):
                facts.append(Fact("peeled", name, "*", "has no barrier of its own, and PoCL has peeled an innermost "
                                  "loop that is under a condition: it may lose one of the loop's exits"))
    return facts
