# SPDX-License-Identifier: MIT
"""Mutation rules: what a fault looks like. A rule is given a file's text with blanks where there is no code
(`searched`, sites.searchable) and the text itself, and yields (start, end, what stands there instead).

The names of most say it all; guard and bound let one more through, twins are a stride, an extent or a pad of the
other dimension or tensor. Rules of the host begin with `swapped_arguments`.
"""
import re
from collections import namedtuple

KERNEL, HOST = "kernel", "host"

# hint: which tests beside the usual see such a fault: those for races and bounds, or those where calls fail (stages.py)
Rule = namedtuple("Rule", "name side hint find")


# ---- reading C ----

def closing(text, opening):
    """Where the bracket that opens at `opening` closes; -1 if nowhere."""
    depth = 0
    for i in range(opening, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    return -1


def functions(searched):
    """(name, start, end) of every function with its braces in the first column, head included."""
    found = []
    for brace in re.finditer(r"^\{\n", searched, re.M):
        end = searched.find("\n}", brace.start())
        start = max(searched.rfind(mark, 0, brace.start()) for mark in ("\n\n", "\n}", ";\n")) + 1
        head = re.search(r"(\w+)\s*\(", searched[start:brace.start()])
        if end > 0:
            found.append((head.group(1) if head else "", start, end + 2))
    return found


def parts_of(text, start, end, separator):
    """The spans between separators that are in no bracket."""
    found, depth, at = [], 0, start
    for i in range(start, end):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        elif depth == 0 and text.startswith(separator, i):
            found.append((at, i))
            at = i + len(separator)
    return found + [(at, end)]


def heads(searched, word):
    """The spans in brackets behind every `if` or `for`."""
    for m in re.finditer(rf"\b{word} \(", searched):
        end = closing(searched, m.end() - 1)
        if end > 0:
            yield m.end(), end


def line_before(searched, at):
    return searched[searched.rfind("\n", 0, at) + 1:at]


def is_declared(searched, at):
    """Whether the name at `at` comes after a type: a declaration or a parameter."""
    line = line_before(searched, at)
    return bool(re.search(r"\w\s+\**$", line)) and not re.search(r"\b(return|else|case) $", line)


# ---- finders ----

def pattern(expression, replacement, skip=None):
    """What the group x of an expression matches (all of it, where there is no x)."""
    compiled = re.compile(expression, re.M)
    group = "x" if "x" in compiled.groupindex else 0

    def find(searched, text, path):
        for m in compiled.finditer(searched):
            if not (skip and skip(searched, m.start(group))):
                after = replacement(m.group(group)) if callable(replacement) else replacement
                yield m.start(group), m.end(group), after
    return find


def loop_bounds(searched, text, path):
    for start, end in heads(searched, "for"):
        three = parts_of(searched, start, end, ";")
        if len(three) == 3:
            for less in re.finditer(r"(?<=[\w\])] )<(?= )", searched[slice(*three[1])]):
                at = three[1][0] + less.start()
                yield at, at + 1, "<="


def guards(searched, text, path):
    wider = {"<": "<=", ">": ">=", "<=": "<= 1 +", ">=": ">= -1 +"}
    for start, end in heads(searched, "if"):
        for sign in re.finditer(r"(?<= )(<=|>=|<|>)(?= )", searched[start:end]):
            yield start + sign.start(), start + sign.end(), wider[sign.group()]


TYPE = re.compile(r"(\b(u?int|u?long|u?char|u?short|float|double|bool|size_t|v[fi]|const|\w+_t|\w+_v)\s+\*?|,\s*)$")


def indices(searched, text, path):
    for m in re.finditer(r"\b\w+\[([^\[\]\n;]+)\]", searched):
        line = line_before(searched, m.start())
        is_length = re.fullmatch(r"[A-Z_0-9* +]*[A-Z][A-Z_0-9* +]*", m.group(1)) or \
            (TYPE.search(line) and not re.search(r"[=(]", line))
        if not is_length:
            yield m.start(1), m.end(1), f"({text[m.start(1):m.end(1)]}) + 1"


TWINS = [(re.compile(f"^{here}$"), there) for here, there in (
    (r"(\w+)_h", r"\1_w"), (r"(\w+)_w", r"\1_h"), (r"x_(\w*stride\w*)", r"y_\1"), (r"y_(\w*stride\w*)", r"x_\1"),
    (r"(\w*)row_(\w*stride)", r"\1column_\2"), (r"(\w*)column_(\w*stride)", r"\1row_\2"),
    (r"inner_(\w+)", r"outer_\1"), (r"outer_(\w+)", r"inner_\1"), ("rows", "columns"), ("columns", "rows"),
    ("pad", "pad_end"), (r"(\w*_)?stride_(\w)", r"\1dilation_\2"), ("stride", "dilation"))]


def swapped_twins(searched, text, path):
    for _, start, end in functions(searched):
        body = searched[start:end]
        words = set(re.findall(r"\b[a-zA-Z_]\w*\b", body))
        opening = body.find("{\n")
        for m in re.finditer(r"\b[a-zA-Z_]\w*\b(?!\()", body[opening:]):
            at = start + opening + m.start()
            for here, there in TWINS:
                twin = here.sub(there, m.group()) if here.match(m.group()) else ""
                if twin in words and not is_declared(searched, at):
                    yield at, at + len(m.group()), twin
                    break


def swapped_arguments(searched, text, path):
    """Two neighbours of one kind in a kernel's list of arguments."""
    found = []
    for m in re.finditer(r"HUSK__ARG_(I32|I64|F32|TENSOR)\(", searched):
        end = closing(searched, m.end() - 1)
        if end > 0:
            found.append((m.group(1), m.start(), m.end(), end))
    for (kind, _, a, a_end), (other_kind, start, b, b_end) in zip(found, found[1:]):
        between = re.sub(r"\s", "", searched[a_end + 1:start])
        if kind == other_kind and between in (",", ";*end++=") and text[a:a_end] != text[b:b_end]:
            yield a, b_end, text[b:b_end] + text[a_end:b] + text[a:a_end]


def scratch_offsets(searched, text, path):
    for m in re.finditer(r"HUSK__ARG_BUFFER\(", searched):
        parts = parts_of(searched, m.end(), closing(searched, m.end() - 1), ",")
        if len(parts) == 3:
            start, end = parts[1]
            yield start, end, " 0" if text[start:end].strip() != "0" else " 64"


def short_workspaces(searched, text, path):
    for name, start, end in functions(searched):
        for m in re.finditer(r"\breturn ([^;]+);", searched[start:end] if "workspace" in name else ""):
            if m.group(1).strip() != "0":
                yield start + m.start(1), start + m.end(1), f"({text[start + m.start(1):start + m.end(1)]}) / 2"


ZERO = r"(?:\(v\w+\)\()?0(?:\.0f)?\)?"


def stale_sums(searched, text, path):
    """Zeros that are assigned are not: what was there stays. Sums of integers that have one from the start begin with
    another number (wrong_start has those of floats)."""
    for m in re.finditer(rf"^\s+(?P<x>\w[\w.>-]*(?:\[[^;=\n]*\])? = {ZERO})(?=;)", searched, re.M):
        yield m.start("x"), m.end("x"), ""
    for _, start, end in functions(searched):
        for m in re.finditer(r"\b(?:u?int|u?long|vi) (\w+) = (?:\(vi\)\()?(?P<x>0)\)?;", searched[start:end]):
            is_loops = in_for(searched, start + m.start())
            if not is_loops and re.search(rf"\b{m.group(1)} [+-]= ", searched[start + m.end():end]):
                yield start + m.start("x"), start + m.end("x"), "1"


def dropped_fills(searched, text, path):
    for m in re.finditer(r"\b(husk_buffer_fill|clEnqueueFillBuffer|memset)\(", searched):
        end = closing(searched, m.end() - 1)
        parts = parts_of(searched, m.end(), end, ",")
        if end < 0 or is_declared(searched, m.start()):
            continue
        if m.group(1) != "memset" or text[slice(*parts[1])].strip() == "0":
            yield m.start(), end + 1, {"memset": "", "husk_buffer_fill": "HUSK_OK"}.get(m.group(1), "CL_SUCCESS")


def conditions(searched, text, path):
    """One part of a condition is not looked at. Parts that ask for a status, a NULL or a flag are left alone."""
    spans = list(heads(searched, "if"))
    spans += [m.span(1) for m in re.finditer(r"\breturn ([^;?]*(?:&&|\|\|)[^;?]*);", searched)]
    for start, end in spans:
        either, both = (parts_of(searched, start, end, sign) for sign in (" ||", " &&"))
        parts, instead = (either, "false") if len(either) > 1 else (both, "true")
        for a, b in parts if len(parts) > 1 else ():
            a += len(searched[a:b]) - len(searched[a:b].lstrip())
            if "status" not in searched[a:b] and not re.fullmatch(r"!?[\w>.-]+", searched[a:b]):
                yield a, b, instead


def in_files(files, find):
    return lambda searched, text, path: find(searched, text, path) if re.search(files, path) else ()


def together(*finders):
    return lambda searched, text, path: (found for find in finders for found in find(searched, text, path))


# ---- the table ----

OTHER = {"min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin", "0": "1", "1": "0"}.get


def in_for(searched, at):
    return bool(re.search(r"\bfor \([^{}]*$", line_before(searched, at)))


def is_length(searched, at):
    """int values[1]: a declared array's length."""
    line = re.sub(r"\w+\[$", "", line_before(searched, at))
    return bool(TYPE.search(line)) and not re.search(r"[=(]|return", line)


def no_wait(call):
    return {"CL_TRUE": "CL_FALSE"}.get(call, "0, NULL" if call[0] == "1" else "CL_SUCCESS")


SUM = r"(?<=[\w\])] )(?P<x>\+=)(?= )"
AXIS = r"\bget_(?:local_id|group_id|global_id|local_size|num_groups|global_size)\((?P<x>[01])\)"
ONE_MORE_PAD = pattern(r"(?<=[+-] )(?:\w+(?:->|\.))?(?:\w+_)?pad(?:_\w+)?\b(?:\[\w+\])?(?!\()", "({} + 1)".format)
LOST_ONE = pattern(r"(?<=[\w\])]) [+-] 1\b(?![.\w])", "")
WAITS = (r"\bCL_TRUE\b|\bclFinish\(\w[\w>-]*\)|\bclWaitForEvents\([^;()]*\)|\bhusk__clock_finish\([^;()]*\)"
         r"|\b1, &\w*(?:->)?(?:event|busy|wait\w*)\b(?=, )|\bclRetain\w+\([^;()]*\)")
RELEASES = r"^\s+(?P<x>(?:clRelease\w+|husk_buffer_release|husk__clock_release|husk__block_release)\([^;]*\));"
CACHES = (r"src/(runtime/(cache|programs?|kernel_object|kernel_source)"
          r"|select/(plan_cache|rejections|tuning|tuning_file|tuning_key|packed|key))\.c")

RULES = [
    Rule("dropped_barrier", KERNEL, "races", pattern(r"\bbarrier\([A-Z_| ]+\)", "")),
    Rule("loop_bound", KERNEL, "races", loop_bounds),
    Rule("guard", KERNEL, "races", guards),
    Rule("wrong_index", KERNEL, "races", indices),
    Rule("wrong_axis", KERNEL, "races", pattern(AXIS, OTHER)),
    Rule("swapped_stride", KERNEL, "races", swapped_twins),
    Rule("pad_off_by_one", KERNEL, "races", ONE_MORE_PAD),
    Rule("min_for_max", KERNEL, "races", pattern(r"\b(?P<x>f?(?:min|max))\(", OTHER)),
    Rule("subtracts", KERNEL, "", pattern(SUM, "-=", in_for)),
    Rule("forgets_sum", KERNEL, "", pattern(SUM, "=", in_for)),
    Rule("wrong_sign", KERNEL, "races", pattern(r"(?<=[\w\])] )\+(?= [\w(*])", "-")),
    Rule("lost_one", KERNEL, "races", LOST_ONE),
    Rule("wrong_remainder", KERNEL, "races", pattern(r"(?<=[\w\])] )%(?= [\w(])", "/")),
    Rule("wrong_start", KERNEL, "", pattern(r"= (?:\(v\w+\)\()?(?P<x>0\.0f)\)?;", "1.0f")),
    Rule("dropped_fill", KERNEL, "races", stale_sums),
    Rule("swapped_arguments", HOST, "races", swapped_arguments),
    Rule("scratch_offset", HOST, "races", scratch_offsets),
    Rule("short_workspace", HOST, "races", short_workspaces),
    Rule("missing_wait", HOST, "", in_files("src/runtime/", pattern(WAITS, no_wait))),
    Rule("unverified_cache", HOST, "", in_files(CACHES, conditions)),
    Rule("unchecked", HOST, "", in_files(f"^(?!{CACHES})", conditions)),
    Rule("forgotten_key", HOST, "", pattern(r"\b(?P<x>husk__key_(?:i64|text|f64|bytes|tensor|double)\([^;]*\));", "")),
    Rule("swallowed_status", HOST, "faults",
         pattern(r"!= HUSK_OK[^;{}\n]*\)\s*\n\s*return (?P<x>status);", "HUSK_OK")),
    Rule("kept_reference", HOST, "faults", pattern(RELEASES, "")),
    Rule("host_loop_bound", HOST, "races", loop_bounds),
    Rule("host_guard", HOST, "", guards),
    Rule("host_swapped_stride", HOST, "races", swapped_twins),
    Rule("host_min_for_max", HOST, "", pattern(r"\bhusk__(?P<x>min|max)_", OTHER)),
    Rule("host_off_by_one", HOST, "races", together(ONE_MORE_PAD, LOST_ONE)),
    Rule("host_dropped_fill", HOST, "races", dropped_fills),
    Rule("wrong_dimension", HOST, "races", pattern(r"\b\w+\[(?P<x>[01])\](?! = \{)", OTHER, is_length)),
]
