# SPDX-License-Identifier: MIT
"""What a case of clbench's is, what is measured of one by PyTorch, and what the operators of cases.py share."""
import math

import torch
F = torch.nn.functional

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
HIP = torch.version.hip is not None
BLAS, BLASLT, DNN = ("rocBLAS", "hipBLASLt", "MIOpen") if HIP else ("cuBLAS", "cuBLASLt", "cuDNN")
CHECKED = 2e11  # operations of a reference in f64 at most; beyond, a part of the result is compared
GELU_TANH = {"approximate": "tanh"}


class Absent(Exception):
    """PyTorch has nothing that stands beside the case; the text says why."""


class Case:
    """A line of clbench list: the operator, and its keys with defaults given where they are asked for."""

    def __init__(self, line):
        self.text = line.rsplit(" * ", 1)[0].strip()
        self.op, *words = self.text.split()
        self.keys = dict(word.split("=", 1) for word in words)
        self.dtype = DTYPES[self.word("dtype", "f32")]
        self.dir = self.word("dir", "fwd")
        # TF32 stands beside both of clbench's lowered precisions: it is what a user of PyTorch gets for either.
        self.tf32 = self.dtype == torch.float32 and self.word("precision", "highest") != "highest"

    def word(self, key, default=None):
        return self.keys.get(key, default)

    def number(self, key, default=None):
        return int(self.keys.get(key, default))

    def real(self, key, default):
        return float(self.keys.get(key, default))

    def space(self, key, rank, default):
        """A number, or one a dimension of space: 2, 1x2."""
        numbers = [int(n) for n in self.keys.get(key, str(default)).split("x")]
        return numbers * rank if len(numbers) == 1 else numbers

    def pad(self, rank):
        """Beginnings and ends: 1, 1x2, 0:1."""
        begin, _, end = self.keys.get("pad", "0").partition(":")
        lists = [[int(n) for n in text.split("x")] for text in (begin, end or begin)]
        return [numbers * rank if len(numbers) == 1 else numbers for numbers in lists]


class Job:
    """What is measured: ways[(name, prepare, settings)]; expected() in f64, of what pick() takes of a result."""

    def __init__(self, case, device):
        self.case, self.device = case, device
        self.ways, self.notes = [], []
        self.expected, self.pick = None, lambda y: y
        self.updates = False  # a call changes what the next one begins with: the first alone is compared
        self.bound = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 3e-2}[case.dtype]
        if case.tf32:
            self.bound = 5e-3
            self.notes.append("tf32")

    def way(self, name, prepare, **settings):
        self.ways.append((name, prepare, settings))

    def rand(self, *shape, dtype=None, low=-1.0, high=1.0):
        """Never zeros: speed may depend on the numbers."""
        return torch.empty(shape, device=self.device).uniform_(low, high).to(dtype or self.case.dtype)

    def integers(self, high, *shape, dtype=torch.int64, low=0):
        return torch.randint(low, high, shape, device=self.device, dtype=dtype)


def libraries(job):
    """The settings by which products are tried: each library, where there are two."""
    return [(BLAS, {"blas": "cublas"}), (BLASLT, {"blas": "cublaslt"})] if job.device != "cpu" else [("blas", {})]


def leaves(inputs):
    return [t.detach().clone().requires_grad_() if t.is_floating_point() else t for t in inputs]


def plain(job, function, inputs, name="aten", checked=True):
    """An operator that is a function of tensors: the call, or where the case says so its gradient through autograd."""
    case = job.case

    def gradient(values):
        values = leaves(values)
        with torch.enable_grad():
            y = function(*values)
        torch.manual_seed(2)
        dy = torch.rand(y.shape, device=y.device, dtype=torch.float32).to(case.dtype).to(y.dtype).expand_as(y)
        wanted = [t for t in values if t.requires_grad]
        return lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True)

    def doubled():
        return [t.double() if t.is_floating_point() else t for t in inputs]

    if case.dir == "fwd":
        job.way(name, lambda: lambda: function(*inputs))
        job.expected = (lambda: function(*doubled())) if checked else None
    elif case.dir == "bwd":
        job.way(name + " autograd", lambda: gradient(inputs))
        job.expected = (lambda: gradient(doubled())()) if checked else None
    else:
        raise Absent(f"dir={case.dir} has no counterpart here")
    return job


def activate(act, x, in_place=False):
    if act == "none":
        return x
    if act == "gelu":
        return F.gelu(x)
    if act == "gelu_tanh":
        return F.gelu(x, **GELU_TANH)
    if act in ("sigmoid", "tanh"):
        return getattr(x, act + "_" * in_place)()
    return getattr(F, act)(x, inplace=in_place)


def activation_gradient(act, dy, x):
    aten = torch.ops.aten
    return {"relu": lambda: aten.threshold_backward(dy, x, 0), "tanh": lambda: aten.tanh_backward(dy, x),
            "leaky_relu": lambda: aten.leaky_relu_backward(dy, x, 0.01, False),
            "relu6": lambda: aten.hardtanh_backward(dy, x, 0, 6), "gelu": lambda: aten.gelu_backward(dy, x),
            "gelu_tanh": lambda: aten.gelu_backward(dy, x, **GELU_TANH), "silu": lambda: aten.silu_backward(dy, x),
            "sigmoid": lambda: aten.sigmoid_backward(dy, x)}[act]()


def error_of(job, result, expected):
    """The largest relative error of a result's tensors, in the Euclidean norm; infinite where one is not finite."""
    def tensors(y):
        return [y] if isinstance(y, torch.Tensor) else [t for t in y if t is not None]
    result = tensors(result)
    if not all(bool(torch.isfinite(t).all()) for t in result):
        return math.inf
    if expected is None:
        return None
    worst = 0.0
    for y, e in zip(result, tensors(expected)):
        y, e = job.pick(y).double(), e.double()
        if y.shape != e.shape:
            return math.inf
        size = float(torch.linalg.vector_norm(e))
        worst = max(worst, float(torch.linalg.vector_norm(y - e)) / (size or 1.0))
    return worst
