# SPDX-License-Identifier: MIT
"""Faults of a kernel file, token by token: every place that a rule knows, and a draw among them.

    comparison   < to <=, <= to <, > to >=, >= to >, == to !=, && to ||, || to &&
    index        an index, or a use of a variable that an index has or that is an item's number, is one more or one less
    barrier      a barrier is gone
    initial      what a variable or an element begins with is gone, or 1 in place of 0
    operator     + to -, * to +, / to *, min to max, max to min; += *= /= alike
    size         a parameter (T, WG / 2), a size among the arguments (n), or a number that bounds a loop (> 0) is one
                 more or one less

Comments, preprocessor lines and attributes stay as they are.
"""
import hashlib
import re

KINDS = ("comparison", "index", "barrier", "initial", "operator", "size")

NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|__attribute__\s*\(\(.*?\)\)+", re.S | re.M)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|<<=|>>=|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|<<|>>|\S")
TYPES = {"char", "short", "int", "long", "uchar", "ushort", "uint", "ulong", "float", "double", "half", "bool", "void"}

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "&&": "||", "||": "&&"}
OPERATORS = {"+": "-", "*": "+", "/": "*", "+=": "-=", "*=": "+=", "/=": "*=", "min": "max", "max": "min"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
ONES = (" + 1", " - 1")


class Fault:
    """A place and what stands there instead."""

    def __init__(self, kind, path, text, start, end, after):
        self.kind, self.path, self.start, self.end, self.after = kind, path, start, end, after
        self.line = text.count("\n", 0, start) + 1
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        self.edit = " ".join((text[first:start] + after + text[end:last]).split()) # the line as it is then
        self.key = (self.path, self.line, self.edit)

    def apply(self, text):
        return text[:self.start] + self.after + text[self.end:]


class Source:
    """The tokens of a file: their texts in `words`, their places in `spans`."""

    def __init__(self, text):
        blank = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
        found = list(TOKEN.finditer(blank))
        self.words = [match.group() for match in found] + ["", ""] # so that every token has two behind it
        self.spans = [match.span() for match in found]
        self.brackets = list(self.find_brackets()) # (opening, closing) of every index
        self.indices = self.names_in_indices()
        self.sizes = self.names_of_sizes()

    def __iter__(self):
        return ((i, self.words[i]) for i in range(len(self.spans)))

    def word(self, i):
        return self.words[i] if 0 <= i < len(self.words) else ""

    def closing(self, opening):
        depth = 0
        for i in range(opening, len(self.spans)):
            depth += (self.words[i] in "([{") - (self.words[i] in ")]}")
            if depth == 0:
                return i
        return len(self.spans) - 1

    def statement(self, i):
        """Where the statement of a token begins."""
        while i > 0 and self.words[i - 1] not in (";", "{", "}"):
            i -= 1
        return i

    def find_brackets(self):
        for i, word in self:
            before = self.words[self.statement(i):i]
            is_length = "=" not in before and any(name in TYPES for name in before) and "(" not in before
            if word == "[" and not is_length:
                yield i, self.closing(i)

    def is_declared(self, i):
        """Whether this name is being declared: `int i`, or `j` of `int i = 0, j = 1`."""
        before = self.words[self.statement(i):i]
        is_of_type = self.word(i - 1) in TYPES or (self.word(i - 1) == "*" and self.word(i - 2) in TYPES)
        depth = sum((word in ("(", "[")) - (word in (")", "]")) for word in before)
        is_next = self.word(i - 1) == "," and depth == 0 and any(word in TYPES for word in before)
        return is_of_type or is_next

    def names_in_indices(self):
        """Variables of whole numbers that some index has, or that are an item's or a group's number."""
        used = {self.words[k] for start, end in self.brackets for k in range(start, end)}
        declared = set()
        for i, word in self:
            is_whole = "float" not in self.words[self.statement(i):i] and self.word(i - 1) != "*"
            if is_whole and re.match(r"[a-z]", word) and self.is_declared(i):
                declared.add(word)
                used |= {word} if re.fullmatch(r"get_\w+_id", self.word(i + 2)) else set()
        return (used & declared) - self.names_of_sizes()

    def names_of_sizes(self):
        """Parameters that the kernel is compiled with, and whole numbers among its arguments."""
        names = {word for _, word in self if re.fullmatch(r"[A-Z][A-Z0-9]*", word)}
        for i, word in self:
            if word == "int" and self.word(i - 1) in ("(", ",") and self.word(i + 2) in (",", ")"):
                names.add(self.words[i + 1])
        return names

    def is_operand(self, i):
        """Whether an operator behind this token has it as its left side."""
        word = self.word(i)
        return word in (")", "]") or (bool(re.match(r"\w", word)) and word not in TYPES and word != "return")


# ---- rules: (first token, last token, what stands there instead) ----

def comparisons(source):
    for i, word in source:
        if word in COMPARISONS:
            yield i, i, COMPARISONS[word]


def is_sum_of_index(source, i):
    """A name that is added to the whole index: with one more it says what the index with one more does."""
    is_inside = any(start < i < end for start, end in source.brackets)
    return is_inside and source.word(i - 1) in ("[", "+", "-") and source.word(i + 1) in ("]", "+", "-")


def indices(source):
    for start, end in source.brackets:
        for one in ONES:
            yield end, end, one + "]"
    for i, word in source:
        is_target = source.word(i + 1) in ASSIGNMENTS or source.word(i - 1) in ("++", "--")
        if word not in source.indices or source.is_declared(i) or is_target or is_sum_of_index(source, i):
            continue
        for one in ONES:
            yield i, i, f"({word}{one})"


def barriers(source):
    for i, word in source:
        if word == "barrier":
            yield i, source.closing(i + 1), ""


def initial_values(source):
    for i, word in source:
        begin = source.statement(i)
        is_constant = "const" in source.words[begin:i]
        if word == "=" and source.is_declared(i - 1) and not is_constant:
            end = i
            while source.words[end + 1] not in (",", ";"):
                end = source.closing(end + 1) if source.words[end + 1] in ("(", "[") else end + 1
            yield i, end, ""
        if word == "=" and not source.is_declared(i - 1) and source.words[i + 1:i + 3] == ["0", ";"]:
            first = i - 1
            while source.words[first - 1] not in (";", "{", "}", ")"):
                first -= 1
            yield first, i + 1, ""
        is_last = source.word(i + 1) == ";" and source.word(i - 1) == ":"
        if re.fullmatch(r"0(\.0f)?", word) and (source.word(i - 1) == "=" or is_last):
            yield i, i, word.replace("0", "1", 1)


def operators(source):
    for i, word in source:
        is_call = word in ("min", "max")
        if word in OPERATORS and (is_call or source.is_operand(i - 1)):
            yield i, i, OPERATORS[word]


def sizes(source):
    for i, word in source:
        is_use = word in source.sizes and source.word(i - 1) not in TYPES
        is_bound = word.isdigit() and source.word(i - 1) in ("<", "<=", ">", ">=")
        for one in ONES if is_use or is_bound else ():
            yield i, i, f"({word}{one})"
        for one in ONES if is_use and source.words[i + 1:i + 3] == ["/", "2"] else ():
            yield i, i + 2, f"({word} / 2{one})"


RULES = dict(zip(KINDS, (comparisons, indices, barriers, initial_values, operators, sizes)))


def all_faults(path, text):
    """Every fault that the rules know in this file."""
    source = Source(text)
    found = []
    for kind, rule in RULES.items():
        for first, last, after in rule(source):
            found.append(Fault(kind, path, text, source.spans[first][0], source.spans[last][1], after))
    return found


def digest(*words):
    return hashlib.sha256("\0".join(str(word) for word in words).encode()).hexdigest()


def in_order(faults, seed):
    """In the order of the draw: each kind in turn. A fault's place comes of the seed and of its own line."""
    kinds = []
    for kind in KINDS:
        of_kind = [fault for fault in faults if fault.kind == kind]
        kinds.append(sorted(of_kind, key=lambda fault: digest(seed, *fault.key, fault.start)))
    longest = max((len(one) for one in kinds), default=0)
    return [one[i] for i in range(longest) for one in kinds if i < len(one)]
