# SPDX-License-Identifier: MIT
"""Where faults can be planted: every place of the tree that some rule of rules.py knows, and the draw among them."""
import hashlib
import os
import re

import rules

# Not drawn from, since nothing that runs on a CPU could see it: fragments of the vendors' matrix engines are compiled
# on their devices alone (the tier offline compiles them), clblast's variant calls another library's kernels, and notes
# on a device are for its reader.
OUT_OF_SCOPE = re.compile(r"cl/lib/fragment_(amd|intel|nv)_|src/ops/gemm/clblast\.c|src/runtime/device_notes\.c")
# Functions that predict, describe or warm up, and compute no result: what they say is slow then, not wrong.
NO_RESULT = re.compile(r"cost|flops|error_factor|prewarm|classify|traffic|predict|seconds|_name$|^log_")
# Calls whose arguments are a text for a reader.
TEXTS = re.compile(r"\b(?:husk__(?:fail|reject|fail_opencl|log_write|class_size)|snprintf)\(")

NO_CODE = [
    re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S),
    re.compile(r"^[ \t]*#[ \t]*(?!define)\w+(?:[^\n]*\\\n)*[^\n]*", re.M), # directives; macros hold code
    re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)]*\))?", re.M),
    re.compile(r"__attribute__\(\(.*?\)\)+"),
]


def blanks(match):
    return re.sub(r"[^\n]", " ", match.group())


def searchable(text, path):
    """The text with blanks in place of what is no code or has no effect on results. Every place stays where it is."""
    for pattern in NO_CODE:
        text = pattern.sub(blanks, text)
    if not path.startswith("src/"):
        return text
    spans = [(start, end) for name, start, end in rules.functions(text) if NO_RESULT.search(name)]
    spans += [(call.end(), rules.closing(text, call.end() - 1)) for call in TEXTS.finditer(text)]
    for start, end in spans:
        if end > start:
            text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def digest(*words):
    return hashlib.sha256("\0".join(str(word) for word in words).encode()).hexdigest()


class Site:
    """A place and what a rule makes of it. `id` stays while the line, before and after, stays."""

    def __init__(self, rule, path, text, start, end, after):
        self.rule, self.side, self.hint = rule.name, rule.side, rule.hint
        self.path, self.start, self.end = path, start, end
        self.before, self.after = text[start:end], after
        self.line = text.count("\n", 0, start) + 1
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        self.old = " ".join(text[first:last].split())
        self.new = " ".join((text[first:start] + after + text[end:last]).split())
        self.id = ""

    def apply(self, text):
        if text[self.start:self.end] != self.before:
            raise ValueError(f"{self.path}:{self.line}: not the text that the site was found in")
        return text[:self.start] + self.after + text[self.end:]

    def __str__(self):
        return f"{self.id} {self.rule} {self.path}:{self.line}\n    - {self.old}\n    + {self.new}"


def sites_of(path, text):
    """Every site of every rule in one file."""
    searched = searchable(text, path)
    found, seen = [], {}
    for rule in rules.RULES:
        if rule.side != (rules.KERNEL if path.startswith("cl/") else rules.HOST):
            continue
        for start, end, after in rule.find(searched, text, path):
            if text[start:end] != after:
                site = Site(rule, path, text, start, end, after)
                key = (site.rule, site.old, site.new)
                seen[key] = seen.get(key, -1) + 1
                site.id = digest(path, *key, seen[key])[:12]
                found.append(site)
    return found


def scope(root):
    """The files that faults are planted in."""
    files = []
    for folder in ("cl", "src/base", "src/ops", "src/os", "src/runtime", "src/select"):
        for base, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(base, name), root)
                if re.search(r"\.(cl|clh|c)$", name) and not OUT_OF_SCOPE.search(path):
                    files.append(path)
    return files


def all_sites(root):
    found = []
    for path in scope(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            found += sites_of(path, file.read())
    return found


def draw(sites, seed, side):
    """All sites of a side in the order of the draw: each rule in turn, and of a rule each file in turn. A rule's, a
    file's and a site's place come of the seed and of their own text, so a change elsewhere moves none of them."""
    classes = {}
    for site in sites:
        if site.side == side:
            classes.setdefault(site.rule, {}).setdefault(site.path, []).append(site)
    queues = []
    for rule in sorted(classes, key=lambda name: digest(seed, name)):
        files = [sorted(classes[rule][path], key=lambda site: digest(seed, site.id))
                 for path in sorted(classes[rule], key=lambda path: digest(seed, rule, path))]
        queues.append(in_turn(files))
    return in_turn(queues)


def in_turn(lists):
    """The first of each, then the second of each, ..."""
    longest = max((len(one) for one in lists), default=0)
    return [one[i] for i in range(longest) for one in lists if i < len(one)]
