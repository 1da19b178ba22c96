#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make the golden vectors that Husk's reference implementations are checked against.

    python3 tests/golden/make_golden.py [FOLDER]

PyTorch (Debian: python3-torch) computes them in double from small inputs that f32 holds exactly. What PyTorch
does not have (ONNX's GRU, padding that differs at the two ends, average pooling with dilation) is put together
from plain tensor operations. The results are tables in FAMILY.safetensors (golden_file.py), which
tests/ref/test_golden_*.c read. They are committed: the tests need no Python.
"""
import itertools
import math
import os
import sys

import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True
from golden_file import Array, params, rounded, row, write_tables

torch.set_num_threads(1)

ACTIVATIONS = {
    "NONE": lambda x, slope: x,
    "RELU": lambda x, slope: F.relu(x),
    "LEAKY_RELU": lambda x, slope: F.leaky_relu(x, slope),
    "RELU6": lambda x, slope: F.relu6(x),
    "GELU": lambda x, slope: F.gelu(x),
    "GELU_TANH": lambda x, slope: F.gelu(x, approximate="tanh"),
    "SILU": lambda x, slope: F.silu(x),
    "SIGMOID": lambda x, slope: torch.sigmoid(x),
    "TANH": lambda x, slope: torch.tanh(x),
}


# --- Inputs and arrays -----------------------------------------------------------------------------------


def random(*shape, limit=48, unit=32):
    """Multiples of 1/unit in [-limit/unit, limit/unit], never zero."""
    values = torch.randint(1, limit + 1, shape) * (2 * torch.randint(0, 2, shape) - 1)
    return values.double() / unit


def distinct(*shape):
    """Random, but no two alike: for maxima, whose positions must be unambiguous."""
    count = math.prod(shape)
    return ((torch.randperm(count) - count // 2).double() / 16).reshape(shape)


def array(tensor):
    if tensor is None:
        return None
    return Array(tensor.shape, [rounded(value) for value in tensor.double().flatten().tolist()])


def several(tensors):
    return [array(t.detach()) for t in tensors]


def f32(value):
    return torch.tensor(value, dtype=torch.float32).double().item()


# --- Operators -------------------------------------------------------------------------------------------


def gradients(y, dy, *inputs):
    return torch.autograd.grad(y, inputs, dy)


def activation():
    x = torch.cat([random(20), torch.tensor([0.0, 6.0, 7.5, -6.0, 20.0, -20.0, 100.0, -100.0]).double(),
                   torch.tensor([float("nan"), float("inf"), float("-inf")]).double()])
    for name, function in ACTIVATIONS.items():
        for slope in (0.01, 0.25, 0.0) if name == "LEAKY_RELU" else (0.01,):
            given = slope if name == "LEAKY_RELU" else None
            yield row(f"{name} {slope}", params(activation="HUSK_ACT_" + name, slope=given),
                      array(x), array(function(x, f32(slope))))


def activation_backward():
    of_y = {"SIGMOID": torch.ops.aten.sigmoid_backward, "TANH": torch.ops.aten.tanh_backward}

    def case(name, x, slope, text):
        x = x.clone().requires_grad_()
        dy = random(*x.shape)
        y = ACTIVATIONS[name](x, f32(slope))
        dx, = torch.autograd.grad(y, x, dy)
        given = slope if name == "LEAKY_RELU" else None
        options = params(activation="HUSK_ACT_" + name, slope=given)
        yield row(f"{name} {slope}{text}", options, array(x.detach()), array(None), array(dy), array(dx))
        if name in of_y:
            y = (y.detach() * 4096).round() / 4096  # what f32 and few digits hold
            yield row(f"{name} of y{text}", options, array(None), array(y), array(dy), array(of_y[name](dy, y)))
        elif name in ("NONE", "RELU", "RELU6") or (name == "LEAKY_RELU" and slope != 0.01):  # y is an f32
            yield row(f"{name} of y{text}", options, array(None), array(y.detach()), array(dy), array(dx))

    x = torch.cat([random(20), torch.tensor([0.0, 6.0, 7.5, -6.0, 20.0, -20.0, 100.0, -100.0]).double()])
    for name in ACTIVATIONS:
        for slope in (0.01, 0.25, 0.0) if name == "LEAKY_RELU" else (0.01,):
            yield from case(name, x, slope, "")
            special = [float("nan")] + ([] if name in ("GELU", "GELU_TANH", "SILU") else [math.inf, -math.inf])
            yield from case(name, torch.tensor(special).double(), slope, ", special values")


def unary():
    low, high, exponent = -1.5, 2.5, 2.5
    functions = {
        "NEGATE": torch.neg, "ABSOLUTE": torch.abs, "SIGN": torch.sign, "SQUARE": torch.square,
        "RECIPROCAL": torch.reciprocal, "SQRT": torch.sqrt, "RSQRT": torch.rsqrt, "FLOOR": torch.floor,
        "CEIL": torch.ceil, "ROUND": torch.round, "CLAMP": lambda x: torch.clamp(x, low, high), "EXP": torch.exp,
        "EXPM1": torch.expm1, "LOG": torch.log, "LOG1P": torch.log1p, "SIN": torch.sin, "COS": torch.cos,
        "POWER": lambda x: torch.pow(x, exponent)}

    def case(name, text, function, x, **fields):
        x = x.clone().requires_grad_()
        y = function(x)
        dy = random(*x.shape)
        dx, = torch.autograd.grad(y, x, dy)
        return row(name + text, params(op="HUSK_UNARY_" + name, **fields), array(x.detach()), array(y.detach()),
                   array(dy), array(dx))

    special = torch.tensor([float("nan"), math.inf, -math.inf, 0.0, 0.5, -0.5, 1.5, -1.5, 2.5]).double()
    for name, function in functions.items():
        fields = dict(low=low, high=high) if name == "CLAMP" else dict(exponent=exponent) if name == "POWER" else {}
        yield case(name, "", function, random(20), **fields)
        if name != "POWER":
            yield case(name, ", special values", function, special, **fields)
    yield case("POWER", " 0", lambda x: torch.pow(x, 0.0), special, exponent=0.0)
    yield case("POWER", " -1", lambda x: torch.pow(x, -1.0), random(8), exponent=-1.0)
    yield case("CLAMP", " low above high", lambda x: torch.clamp(x, 1.0, -1.0), random(8), low=1.0, high=-1.0)


def philox(counter, key):
    """Philox4x32-10 (Salmon et al., SC11): four words."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second % 2**32, first >> 32 ^ c[3] ^ k[1], first % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


assert philox([0] * 4, [0] * 2) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]  # the authors' known answer


def dropout():
    def case(name, x, p, seed=0, offset=0):
        words = [philox([i // 4 % 2**32, i // 4 >> 32, offset % 2**32, offset >> 32], [seed % 2**32, seed >> 32])[i % 4]
                 for i in range(x.numel())]
        limit = round(f32(p) * 2**32)
        kept = torch.tensor([float(word >= limit) for word in words]).double().reshape(x.shape)
        x = x.clone().requires_grad_()
        y = x * kept * (0.0 if p == 1 else 1 / (1 - f32(p)))
        dy = random(*x.shape)
        dx, = torch.autograd.grad(y, x, dy)
        return row(name, params(p=float(p), seed=seed, offset=offset), array(x.detach()), array(y.detach()), array(dy),
                   array(dx))

    yield case("half", random(7, 6), 0.5, 1)
    yield case("a tenth", random(3, 5, 4), 0.1, 0x123456789abcdef0, 7)
    yield case("nine tenths, a far stream", random(40), 0.9, 3, 0xfedcba9876543210)
    yield case("none", random(9), 0.0, 5)
    yield case("all", random(9), 1.0, 5)
    yield case("special values", torch.tensor([float("nan"), math.inf, -math.inf, 0.0] * 4).double(), 0.5, 11)


def embedding():
    def case(name, rows, columns, indices, **options):
        table = random(rows, columns).requires_grad_()
        y = F.embedding(indices, table, padding_idx=options.get("padding"),
                        scale_grad_by_freq=options.get("mean", False))
        dy = random(*y.shape)
        dtable, = torch.autograd.grad(y, table, dy)
        padding = options.get("padding")
        given = params(has_padding=None if padding is None else 1, padding_index=padding,
                       scale_by_frequency=1 if options.get("mean") else None)
        return row(name, given, array(table.detach()), array(indices), array(y.detach()), array(dy), array(dtable))

    draw = lambda rows, *shape: torch.randint(0, rows, shape)
    yield case("a list", 5, 3, draw(5, 7))
    yield case("two dimensions", 6, 4, draw(6, 3, 5))
    yield case("one number", 4, 3, torch.tensor(2))
    yield case("padding 0", 4, 3, draw(4, 2, 6), padding=0)
    yield case("padding from the end", 4, 2, draw(4, 9), padding=-1)
    yield case("by frequency", 3, 4, draw(3, 2, 5), mean=True)
    yield case("padding, by frequency", 3, 2, draw(3, 3, 2, 2), padding=1, mean=True)


def rotary():
    def case(name, shape, positions=None, tables=False, **options):
        x = random(*shape).requires_grad_()
        length, turned = shape[2], options.get("rotary_dimension", shape[3])
        at = torch.arange(length) + options.get("first_position", 0) if positions is None else positions
        exponents = -torch.arange(0, turned, 2).double() / turned
        angles = at[..., None].double() * f32(options.get("base", 10000.0)) ** exponents
        cosines = sines = None
        cosine, sine = angles.cos(), angles.sin()
        if tables:
            cosines, sines = random(12, turned // 2), random(12, turned // 2)
            cosine, sine = cosines[at], sines[at]
        cosine, sine = (t[:, None] if t.dim() == 3 else t for t in (cosine, sine))
        part, rest = x[..., :turned], x[..., turned:]
        if options.get("interleaved"):
            first, second = part[..., 0::2], part[..., 1::2]
        else:
            first, second = part.chunk(2, -1)
        one, two = first * cosine - second * sine, first * sine + second * cosine
        joined = torch.stack([one, two], -1).flatten(-2) if options.get("interleaved") else torch.cat([one, two], -1)
        y = torch.cat([joined, rest], -1)
        dy = random(*shape)
        dx, = torch.autograd.grad(y, x, dy)
        return row(name, params(**options), array(x.detach()), array(positions), array(cosines), array(sines),
                   array(y.detach()), array(dy), array(dx))

    yield case("halves", (2, 2, 3, 6))
    yield case("neighbours", (2, 2, 3, 6), interleaved=1)
    yield case("some columns, a cache", (1, 3, 4, 9), rotary_dimension=4, first_position=1000)
    yield case("neighbours, another base", (1, 2, 3, 8), rotary_dimension=6, interleaved=1, base=500000.0)
    yield case("positions", (2, 1, 4, 4), torch.tensor([5, 0, 99, -3]))
    yield case("positions of each sequence", (2, 2, 2, 4), torch.tensor([[7, 1], [0, 31]]), interleaved=1)
    yield case("tables", (2, 2, 3, 6), torch.tensor([[0, 11, 4], [3, 3, 9]]), True)
    yield case("tables, consecutive", (1, 2, 3, 7), None, True, rotary_dimension=4, first_position=2)


def one_hot():
    def case(name, labels, classes, on=None, off=None):
        y = F.one_hot(labels, classes).double()
        if on is not None:
            y = y * on + (1 - y) * off
        on, off = (1, 0) if on is None else (on, off)
        return row(name, params(on=float(on), off=float(off)), array(labels), array(y))

    yield case("a list", torch.randint(0, 5, (7,)), 5)
    yield case("two dimensions, classes that no label has", torch.randint(0, 4, (3, 4)), 9)
    yield case("one number", torch.tensor(2), 4)
    yield case("smoothed", torch.randint(0, 4, (6,)), 4, on=0.8125, off=0.0625)
    yield case("the other way round", torch.randint(0, 3, (2, 3)), 3, on=0, off=1)


def quantize():
    """PyTorch multiplies by 1 / scale: scales are powers of two where there are ties."""
    kinds = {"i8": torch.qint8, "u8": torch.quint8}

    def case(name, kind, x, scale, zero, axis=None):
        given = {} if axis is None else dict(axis=axis)
        if axis is None:
            q = torch.quantize_per_tensor(x.float(), scale, zero, kinds[kind])
            scale, zero = torch.tensor([scale]), torch.tensor([zero])
        else:
            scale, zero = torch.tensor(scale), torch.tensor(zero)
            q = torch.quantize_per_channel(x.float(), scale.double(), zero, axis, kinds[kind])
        scale = scale.float().double()
        return row(name, params(**given), int(kind == "u8"), array(x), array(scale), array(zero), array(q.int_repr()),
                   array(q.dequantize()))

    ties = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.0, 126.5, 127.5, 200.0, -128.5, -129.0, -300.0]).double()
    yield case("ties and ends", "i8", ties, 1.0, 0)
    yield case("ties and ends, with a zero point", "u8", ties, 1.0, 100)
    yield case("per tensor", "i8", random(4, 5), 0.0625, 7)
    yield case("per tensor, unsigned", "u8", random(3, 2, 4), 0.03125, 128)
    yield case("per channel", "i8", random(3, 5), [0.0625, 0.03125, 0.125], [0, -3, 20], 0)
    yield case("per channel in the middle", "u8", random(2, 3, 4), [0.0625, 0.03125, 0.25], [1, 128, 255], 1)


def bytes_of(*shape, signed=True):
    return torch.randint(-128 if signed else 0, 128 if signed else 256, shape)


def quantized_finish(sums, scale, bias, act, c, shape):
    """In double: scales and zero points are such that nothing lies near a tie but what is exactly there."""
    if scale is None:
        return sums
    y = ACTIVATIONS[act](sums.double() * scale.reshape(shape) + (0 if bias is None else bias.reshape(shape)), 0.01)
    if c is None:
        return y
    return torch.clamp(torch.round(y / c[0]) + c[1], -128, 127)


def quantization(c):
    return params(scale=float(c[0]), zero=c[1]) if c else {}


def quantized_gemm():
    def case(name, a, zero, b, scale=None, bias=None, act="NONE", c=None, output="I32"):
        sums = (a.long() - zero) @ b.long()  # PyTorch's own integers
        y = quantized_finish(sums, None if scale is None else 0.5 * scale, bias, act, c, (-1,))
        return row(name, params(activation="HUSK_ACT_" + act), quantization((0.5, zero)), quantization(c),
                   "HUSK_" + ("U8" if a.max() > 127 else "I8"), "HUSK_" + output, array(a), array(b),
                   array(scale), array(bias), array(y))

    def scales(n):
        return 2.0 ** -torch.randint(8, 11, (n,)).double()

    yield case("sums", bytes_of(3, 7), 0, bytes_of(7, 4))
    yield case("sums, with a zero point", bytes_of(4, 9, signed=False), 131, bytes_of(9, 5))
    yield case("a batch", bytes_of(2, 3, 6), -5, bytes_of(2, 6, 4))
    yield case("scaled", bytes_of(5, 8), 3, bytes_of(8, 6), scales(6), random(6), output="F32")
    yield case("one scale, and an activation", bytes_of(3, 5), 0, bytes_of(5, 4), scales(1), None, "RELU", output="F32")
    yield case("quantized again", bytes_of(6, 7), 1, bytes_of(7, 5), scales(5), random(5), "RELU6", (0.0625, -3), "I8")


def quantized_conv():
    functions = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}

    def case(name, x, zero, w, scale=None, bias=None, act="NONE", y=None, output="I32", groups=1, **options):
        # In double, whose sums of such integers are exact; padding is x's zero point, which becomes 0.
        sums = functions[x.dim()]((x - zero).double(), w.double(), groups=groups,
                                  **{{"pad": "padding"}.get(key, key): value for key, value in options.items()})
        out = quantized_finish(sums, None if scale is None else 0.5 * scale, bias, act, y, (-1,) + (1,) * (x.dim() - 2))
        given = params(activation="HUSK_ACT_" + act, groups=groups, **options)
        return row(name, given, quantization((0.5, zero)), quantization(y),
                   "HUSK_" + ("U8" if x.max() > 127 else "I8"), "HUSK_" + output, array(x), array(w),
                   array(scale), array(bias), array(out))

    def scales(n):
        return 2.0 ** -torch.randint(8, 11, (n,)).double()

    yield case("one dimension", bytes_of(2, 3, 8), 0, bytes_of(4, 3, 3))
    yield case("padding is the zero point", bytes_of(1, 2, 5, 6, signed=False), 140, bytes_of(3, 2, 3, 3), pad=(1, 2))
    yield case("strides, dilation and groups", bytes_of(1, 4, 7, 9), -9, bytes_of(6, 2, 3, 2), groups=2, stride=(2, 1),
               dilation=(1, 2), pad=(1, 1))
    yield case("depthwise, scaled", bytes_of(1, 5, 5, 5), 3, bytes_of(5, 1, 3, 3), scales(5), random(5), "RELU",
               output="F32", groups=5, pad=(1, 1))
    yield case("three dimensions", bytes_of(1, 2, 3, 4, 5), 1, bytes_of(2, 2, 2, 2, 3), scales(1), output="F32")
    yield case("quantized again", bytes_of(2, 3, 4, 4), 5, bytes_of(4, 3, 3, 3), scales(4), random(4), "RELU6",
               (0.0625, -3), "I8", pad=(1, 1))


def binary():
    alpha, beta = -1.5, 0.75
    functions = {
        "ADD": lambda a, b: alpha * a + beta * b, "SUBTRACT": lambda a, b: alpha * a - beta * b,
        "MULTIPLY": lambda a, b: alpha * a * b, "DIVIDE": lambda a, b: alpha * a / b, "MAXIMUM": torch.maximum,
        "MINIMUM": torch.minimum, "POWER": torch.pow, "EQUAL": torch.eq, "NOT_EQUAL": torch.ne, "LESS": torch.lt,
        "LESS_EQUAL": torch.le, "GREATER": torch.gt, "GREATER_EQUAL": torch.ge}

    def case(name, text, a, b):
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        y = functions[name](a, b)
        has_factors = name in ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE")
        options = dict(alpha=alpha if has_factors else 1.0, beta=beta if has_factors else 1.0)
        dy, da, db = None, None, None
        if y.dtype == torch.float64:
            dy = random(*y.shape)
            da, db = torch.autograd.grad(y, (a, b), dy)
        return row(name + text, params(op="HUSK_BINARY_" + name, **options), array(a.detach()), array(b.detach()),
                   array(y.detach()), array(dy), array(da), array(db))

    special = torch.tensor([float("nan"), math.inf, -math.inf, 0.0, 1.0, -1.0, 2.5]).double()
    for name in functions:
        a, b = random(3, 4, limit=4, unit=2), random(3, 4, limit=4, unit=2)  # some are equal
        if name == "POWER":
            a = a.abs()
        yield case(name, "", a, b)
        yield case(name, ", row", a, b[0])
        yield case(name, ", column", a, b[:, :1])
        yield case(name, ", both", a[:, :1], b[:1])
        yield case(name, ", scalar", a, b[0, 0])
        yield case(name, ", middle", random(2, 1, 3).abs(), random(4, 1))
        yield case(name, ", special values", special[:, None], special.repeat(7, 1))


def where():
    def case(name, condition, a, b):
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        y = torch.where(condition, a, b)
        dy = random(*y.shape)
        da, db = gradients(y, dy, a, b)
        return row(name, array(condition), array(a.detach()), array(b.detach()), array(y.detach()), array(dy),
                   array(da), array(db))

    def bits(*shape):
        return torch.randint(0, 2, shape).bool()

    yield case("as large", bits(3, 4), random(3, 4), random(3, 4))
    yield case("one number", bits(3, 4), random(3, 4), torch.tensor(-0.5).double())
    yield case("rows and columns", bits(3, 4), random(4), random(3, 1))
    yield case("a condition of rows", bits(4), random(3, 4), random(3, 4))
    yield case("a condition of columns", bits(3, 1), random(2, 3, 4), random(1, 4))
    yield case("one condition", bits(1), random(2, 3), random(3))
    yield case("masks of channels", bits(2, 1, 3, 3), random(2, 2, 3, 3), random(2, 1, 1))
    special = torch.tensor([float("nan"), math.inf, -math.inf, 0.0]).double()
    yield case("special values", bits(4, 4), special, random(4, 1))


def gemm():
    def case(name, a, b, ta=False, tb=False, alpha=1.0, beta=0.0, bias=None, c=None, act="NONE", slope=0.25):
        product = torch.matmul(a.transpose(-1, -2) if ta else a, b.transpose(-1, -2) if tb else b)
        out = alpha * product
        if beta != 0:
            out = out + beta * c
        if bias is not None:
            out = out + bias
        if c is None:
            c = torch.full_like(out, float("nan"))  # not read
        given = params(transpose_a=ta or None, transpose_b=tb or None, activation="HUSK_ACT_" + act,
                       activation_slope=slope if act == "LEAKY_RELU" else None)
        return row(name, given, alpha, beta, array(a), array(b), array(bias), array(c),
                   array(ACTIVATIONS[act](out, slope)))

    for ta, tb in itertools.product((False, True), repeat=2):
        a, b = random(*((5, 3) if ta else (3, 5))), random(*((4, 5) if tb else (5, 4)))
        yield case(f"transposes {ta:d}{tb:d}", a, b, ta, tb)
        yield case(f"alpha, beta, transposes {ta:d}{tb:d}", a, b, ta, tb, 1.5, -0.75, c=random(3, 4))
    yield case("vector by matrix", random(1, 7), random(7, 5))
    yield case("matrix by vector", random(6, 7), random(7, 1), bias=random(6, 1))
    yield case("k = 1", random(3, 1), random(1, 4))
    yield case("k = 0", random(3, 0), random(0, 4), beta=0.5, c=random(3, 4), bias=random(4))
    yield case("bias of a row", random(3, 5), random(5, 4), bias=random(4))
    yield case("bias of a column", random(3, 5), random(5, 4), bias=random(3, 1), alpha=2.0)
    yield case("batch", random(2, 3, 5), random(2, 5, 4), beta=1.0, c=random(2, 3, 4), bias=random(4))
    yield case("batch, one A", random(3, 5), random(2, 5, 4))
    yield case("batch, B of one", random(2, 3, 5), random(1, 5, 4), bias=random(3, 1))
    yield case("batch, transposed", random(2, 5, 3), random(2, 4, 5), True, True)
    for act in list(ACTIVATIONS)[1:]:
        yield case(f"activation {act}", random(3, 5), random(5, 4), bias=random(4), act=act)


def both_ends(pad, pad_end):
    """F.pad's argument: last dimension first, before and after."""
    return [extent for pair in reversed(list(zip(pad, pad_end))) for extent in pair]


def end_option(pad, pad_end):
    if pad == pad_end:
        return None
    return tuple(after - before for before, after in zip(pad, pad_end))


def conv():
    functions = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}

    def case(name, x, w, bias=None, stride=None, pad=None, pad_end=None, dilation=None, groups=1, act="NONE"):
        space = x.dim() - 2
        pad = pad or (0,) * space
        pad_end = pad_end or pad
        out = functions[space](F.pad(x, both_ends(pad, pad_end)), w, bias, stride or 1, 0, dilation or 1, groups)
        given = params(activation="HUSK_ACT_" + act, stride=stride, pad=pad, pad_end_extra=end_option(pad, pad_end),
                       dilation=dilation, groups=groups if groups > 1 else None,
                       activation_slope=0.01 if act == "LEAKY_RELU" else None)
        return row(name, given, array(x), array(w), array(bias), array(ACTIVATIONS[act](out, f32(0.01))))

    yield case("1-D", random(2, 3, 8), random(4, 3, 3), random(4), pad=(1,))
    yield case("1-D, stride, dilation", random(1, 2, 11), random(3, 2, 2), stride=(2,), dilation=(3,), pad=(2,))
    yield case("1-D, all padding before", random(1, 2, 6), random(2, 2, 3), pad=(2,), pad_end=(0,))
    yield case("1x1", random(2, 4, 3, 3), random(3, 4, 1, 1), random(3))
    yield case("1x1, stride", random(1, 3, 5, 4), random(2, 3, 1, 1), stride=(2, 3))
    yield case("3x3", random(1, 3, 5, 6), random(4, 3, 3, 3), random(4), pad=(1, 1))
    yield case("3x3, no padding", random(2, 2, 5, 4), random(3, 2, 3, 3))
    yield case("stride", random(1, 2, 7, 8), random(3, 2, 3, 3), stride=(2, 2), pad=(1, 1))
    yield case("stride past the filter", random(1, 2, 7, 9), random(2, 2, 2, 2), stride=(3, 4))
    yield case("asymmetric", random(1, 2, 5, 6), random(3, 2, 3, 2), random(3), pad=(0, 1), pad_end=(2, 0))
    yield case("asymmetric, stride", random(1, 3, 6, 6), random(2, 3, 3, 3), stride=(2, 2), pad=(0, 0),
               pad_end=(1, 1))
    yield case("dilation", random(1, 2, 7, 8), random(2, 2, 3, 2), dilation=(2, 3), pad=(2, 1))
    yield case("padding past the filter", random(1, 1, 3, 3), random(2, 1, 2, 2), pad=(3, 2))
    yield case("groups", random(2, 4, 4, 4), random(6, 2, 3, 3), random(6), pad=(1, 1), groups=2)
    yield case("depthwise", random(1, 4, 5, 5), random(4, 1, 3, 3), random(4), pad=(1, 1), groups=4)
    yield case("depthwise, two filters a channel, stride", random(1, 3, 6, 5), random(6, 1, 3, 3), stride=(2, 1),
               pad=(1, 1), groups=3)
    yield case("5x3", random(1, 2, 6, 5), random(2, 2, 5, 3), pad=(2, 1))
    yield case("3-D", random(1, 2, 4, 4, 5), random(3, 2, 2, 3, 3), random(3), pad=(0, 1, 1))
    yield case("3-D, everything", random(1, 4, 5, 4, 6), random(4, 2, 2, 2, 3), random(4), stride=(2, 1, 2),
               pad=(1, 0, 2), pad_end=(0, 1, 1), dilation=(1, 2, 2), groups=2)
    for act in list(ACTIVATIONS)[1:]:
        yield case(f"activation {act}", random(1, 2, 3, 4), random(3, 2, 2, 2), random(3), act=act)


def windows(x, window, stride, dilation):
    """[N, C, out..., window elements] of an x that is padded already, and their positions in its space."""
    outs = [(extent - d * (r - 1) - 1) // s + 1 for extent, r, s, d in zip(x.shape[2:], window, stride, dilation)]
    values, positions = [], []
    for at in itertools.product(*(range(out) for out in outs)):
        for r in itertools.product(*(range(w) for w in window)):
            place = [o * s + i * d for o, s, i, d in zip(at, stride, r, dilation)]
            values.append(x[(slice(None), slice(None), *place)])
            positions.append(place)
    shape = (*outs, math.prod(window))
    return torch.stack(values, -1).reshape(*x.shape[:2], *shape), torch.tensor(positions).reshape(*shape, -1)


def max_by_hand(x, window, stride, pad, pad_end, dilation):
    """For padding that F.max_pool does not take: pad with -infinity, and count positions back."""
    padded = F.pad(x, both_ends(pad, pad_end), value=float("-inf"))
    values, positions = windows(padded, window, stride, dilation)
    largest, which = values.max(-1)
    position = torch.zeros_like(which)
    for d in range(x.dim() - 2):
        coordinate = positions[..., d].expand(values.shape).gather(-1, which.unsqueeze(-1)).squeeze(-1) - pad[d]
        position = position * x.shape[2 + d] + coordinate
    return largest, torch.where(torch.isinf(largest), torch.full_like(position, -1), position)


def average_by_hand(x, window, stride, pad, pad_end, dilation, count_pad):
    inside = F.pad(torch.ones_like(x), both_ends(pad, pad_end), value=1.0 if count_pad else 0.0)
    values, _ = windows(F.pad(x, both_ends(pad, pad_end)), window, stride, dilation)
    counts, _ = windows(inside, window, stride, dilation)
    return torch.nan_to_num(values.sum(-1) / counts.sum(-1), nan=0.0)


def pool():
    maxima = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
    averages = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}

    def fields(kind, window, stride, pad, pad_end, dilation, ceil, count_pad):
        return params(kind="HUSK_POOL_" + kind, window=window, stride=stride, pad=pad,
                      pad_end_extra=end_option(pad, pad_end), dilation=dilation, ceil_mode=ceil or None,
                      count_pad=count_pad or None)

    def maximum(name, x, window, stride=None, pad=None, dilation=None, ceil=False):
        pad = pad or (0,) * len(window)
        y, indices = maxima[len(window)](x, window, stride, pad, dilation or 1, ceil, return_indices=True)
        given = fields("MAX", window, stride, pad, pad, dilation, ceil, False)
        return row(name, given, array(x), array(y), array(indices))

    def average(name, x, window, stride=None, pad=None, ceil=False, count_pad=False):
        pad = pad or (0,) * len(window)
        y = averages[len(window)](x, window, stride, pad, ceil, count_pad)
        given = fields("AVG", window, stride, pad, pad, None, ceil, count_pad)
        return row(name, given, array(x), array(y), array(None))

    def by_hand(name, kind, x, window, stride, pad, pad_end, dilation=None, count_pad=False):
        every = dilation or (1,) * len(window)
        given = fields(kind, window, stride, pad, pad_end, dilation, False, count_pad)
        if kind == "MAX":
            y, indices = max_by_hand(x, window, stride, pad, pad_end, every)
        else:
            y, indices = average_by_hand(x, window, stride, pad, pad_end, every, count_pad), None
        return row(name, given, array(x), array(y), array(indices))

    yield maximum("max 1-D", distinct(2, 2, 9), (3,), (2,), (1,))
    yield maximum("max 2x2", distinct(1, 2, 6, 6), (2, 2))
    yield maximum("max 3x3, stride 2", distinct(1, 2, 7, 7), (3, 3), (2, 2), (1, 1))
    yield maximum("max 3x3, stride 1", distinct(1, 1, 5, 6), (3, 3), (1, 1), (1, 1))
    yield maximum("max, ceil", distinct(1, 2, 6, 7), (3, 2), (2, 2), (1, 0), ceil=True)
    yield maximum("max, ceil, a window past the end dropped", distinct(1, 1, 4, 5), (2, 2), (3, 3), (1, 1), ceil=True)
    yield maximum("max, ceil, nothing left over", distinct(1, 1, 7, 9), (5, 5), (2, 2), (1, 1), ceil=True)
    yield maximum("max, dilation", distinct(1, 2, 8, 9), (2, 3), (2, 1), (1, 1), (3, 2))
    yield maximum("max, dilation, ceil", distinct(1, 1, 8, 7), (2, 2), (2, 3), (0, 1), (2, 2), ceil=True)
    yield maximum("max 3-D", distinct(1, 2, 4, 5, 4), (2, 3, 2), (2, 1, 2), (1, 1, 0))
    yield maximum("max, equal elements: the first", torch.ones(1, 1, 4, 4).double(), (3, 3), (1, 1), (1, 1))
    spoilt = distinct(1, 1, 5, 5)
    spoilt[0, 0, 2, 3] = float("nan")
    spoilt[0, 0, 3, 1] = float("-inf")
    yield maximum("max, NaN and -infinity", spoilt, (2, 2), (1, 1))
    x = distinct(2, 3, 4, 3)
    y, indices = F.adaptive_max_pool2d(x, 1, return_indices=True)
    yield row("max, global", params(kind="HUSK_POOL_MAX", **{"global": 1}), array(x), array(y), array(indices))
    yield by_hand("max, asymmetric", "MAX", distinct(1, 2, 5, 6), (3, 2), (2, 1), (2, 0), (1, 1))
    yield by_hand("max, windows of padding alone", "MAX", distinct(1, 1, 3, 3), (3, 3), (1, 1), (2, 2), (2, 0), (2, 2))

    yield average("avg 1-D", random(2, 2, 9), (3,), (2,), (1,))
    for count_pad, ceil in itertools.product((False, True), repeat=2):
        name = f"count_pad {count_pad:d}, ceil {ceil:d}"
        yield average(f"avg 3x3, {name}", random(1, 2, 6, 7), (3, 3), (2, 2), (1, 1), ceil, count_pad)
        yield average(f"avg 5x5, {name}", random(1, 1, 7, 8), (5, 5), (2, 2), (1, 1), ceil, count_pad)
        yield average(f"avg 2x4, {name}", random(1, 1, 5, 8), (2, 4), (2, 3), (1, 2), ceil, count_pad)
        yield average(f"avg 3-D, {name}", random(1, 1, 4, 5, 5), (2, 3, 3), (2, 2, 3), (1, 1, 1), ceil, count_pad)
    x = random(2, 3, 4, 3)
    yield row("avg, global", params(kind="HUSK_POOL_AVG", **{"global": 1}), array(x),
              array(F.adaptive_avg_pool2d(x, 1)), array(None))
    for count_pad in (False, True):
        name = f"count_pad {count_pad:d}"
        yield by_hand(f"avg, asymmetric, {name}", "AVG", random(1, 2, 5, 6), (3, 2), (2, 1), (2, 0), (1, 1), None,
                      count_pad)
        yield by_hand(f"avg, dilation, {name}", "AVG", random(1, 1, 6, 6), (2, 3), (2, 1), (1, 2), (0, 2), (3, 2),
                      count_pad)


def pool_backward():
    maxima = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
    averages = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}

    def case(name, kind, x, window, stride=None, pad=None, dilation=None, ceil=False, count_pad=False):
        pad = pad or (0,) * len(window)
        x.requires_grad_()
        if kind == "MAX":
            y = maxima[len(window)](x, window, stride, pad, dilation or 1, ceil)
        else:
            y = averages[len(window)](x, window, stride, pad, ceil, count_pad)
        dy = random(*y.shape)
        given = params(kind="HUSK_POOL_" + kind, window=window, stride=stride, pad=pad, dilation=dilation,
                       ceil_mode=ceil or None, count_pad=count_pad or None)
        return row(name, given, array(x), array(dy), array(*gradients(y, dy, x)))

    yield case("max 1-D", "MAX", distinct(2, 2, 9), (3,), (2,), (1,))
    yield case("max 2x2", "MAX", distinct(1, 2, 6, 6), (2, 2))
    yield case("max 3x3, stride 2", "MAX", distinct(1, 2, 7, 7), (3, 3), (2, 2), (1, 1))
    yield case("max 3x3, stride 1", "MAX", distinct(1, 1, 5, 6), (3, 3), (1, 1), (1, 1))
    yield case("max, ceil", "MAX", distinct(1, 2, 6, 7), (3, 2), (2, 2), (1, 0), ceil=True)
    yield case("max, dilation", "MAX", distinct(1, 2, 8, 9), (2, 3), (2, 1), (1, 1), (3, 2))
    yield case("max 3-D", "MAX", distinct(1, 2, 4, 5, 4), (2, 3, 2), (2, 1, 2), (1, 1, 0))
    yield case("max, equal elements: the first", "MAX", torch.ones(1, 1, 4, 4).double(), (3, 3), (1, 1), (1, 1))
    spoilt = distinct(1, 1, 5, 5)
    spoilt[0, 0, 2, 3] = float("nan")
    spoilt[0, 0, 3, 1] = float("-inf")
    yield case("max, NaN and -infinity", "MAX", spoilt, (2, 2), (1, 1))
    yield case("avg 1-D", "AVG", random(2, 2, 9), (3,), (2,), (1,))
    for count_pad, ceil in itertools.product((False, True), repeat=2):
        name = f"count_pad {count_pad:d}, ceil {ceil:d}"
        yield case(f"avg 3x3, {name}", "AVG", random(1, 2, 6, 7), (3, 3), (2, 2), (1, 1), None, ceil, count_pad)
        yield case(f"avg 2x4, {name}", "AVG", random(1, 1, 5, 8), (2, 4), (2, 3), (1, 2), None, ceil, count_pad)
        yield case(f"avg 3-D, {name}", "AVG", random(1, 1, 4, 5, 5), (2, 3, 3), (2, 2, 3), (1, 1, 1), None, ceil,
                   count_pad)
    x = random(2, 3, 4, 3).requires_grad_()
    y = F.adaptive_avg_pool2d(x, 1)
    dy = random(*y.shape)
    yield row("avg, global", params(kind="HUSK_POOL_AVG", **{"global": 1}), array(x), array(dy),
              array(*gradients(y, dy, x)))


def softmax():
    def case(name, x, axis):
        for log in (False, True):
            y = F.log_softmax(x, axis) if log else F.softmax(x, axis)
            given = params(axis=axis, log=log or None)
            yield row(name + (", log" if log else ""), given, array(x), array(y))

    yield from case("one dimension", random(7) * 4, 0)
    for axis in range(3):
        yield from case(f"three dimensions, axis {axis}", random(2, 4, 5), axis)
    yield from case("four dimensions, axis 1", random(2, 5, 2, 3) * 8, 1)
    yield from case("an axis of one", random(3, 1), 1)
    yield from case("large values", random(2, 6) * 2048, 1)
    special = random(5, 4)
    special[0, 1] = float("-inf")
    special[1, 2] = float("nan")
    special[2, 3] = float("inf")
    special[3, :] = float("-inf")
    yield from case("NaN and infinity", special, 1)


def conv_backward():
    functions = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}

    def case(name, x, w, stride=None, pad=None, pad_end=None, dilation=None, groups=1):
        space = x.dim() - 2
        pad = pad or (0,) * space
        pad_end = pad_end or pad
        bias = random(w.shape[0])
        for each in (x, w, bias):
            each.requires_grad_()
        out = functions[space](F.pad(x, both_ends(pad, pad_end)), w, bias, stride or 1, 0, dilation or 1, groups)
        dy = random(*out.shape)
        given = params(stride=stride, pad=pad, pad_end_extra=end_option(pad, pad_end), dilation=dilation,
                       groups=groups if groups > 1 else None)
        return row(name, given, array(x), array(w), array(dy), *map(array, gradients(out, dy, x, w, bias)))

    yield case("1-D", random(2, 3, 8), random(4, 3, 3), pad=(1,))
    yield case("1-D, stride, dilation", random(1, 2, 11), random(3, 2, 2), stride=(2,), dilation=(3,), pad=(2,))
    yield case("1x1, stride", random(1, 3, 5, 4), random(2, 3, 1, 1), stride=(2, 3))
    yield case("3x3", random(2, 3, 5, 6), random(4, 3, 3, 3), pad=(1, 1))
    yield case("stride", random(1, 2, 7, 8), random(3, 2, 3, 3), stride=(2, 2), pad=(1, 1))
    yield case("stride past the filter", random(1, 2, 7, 9), random(2, 2, 2, 2), stride=(3, 4))
    yield case("asymmetric", random(1, 2, 5, 6), random(3, 2, 3, 2), pad=(0, 1), pad_end=(2, 0))
    yield case("asymmetric, stride", random(1, 3, 6, 6), random(2, 3, 3, 3), stride=(2, 2), pad=(0, 0),
               pad_end=(1, 1))
    yield case("dilation", random(1, 2, 7, 8), random(2, 2, 3, 2), dilation=(2, 3), pad=(2, 1))
    yield case("stride and dilation with a common divisor", random(1, 2, 9, 9), random(2, 2, 3, 3), stride=(2, 4),
               dilation=(2, 2), pad=(2, 1))
    yield case("padding past the filter", random(1, 1, 3, 3), random(2, 1, 2, 2), pad=(3, 2))
    yield case("groups", random(2, 4, 4, 4), random(6, 2, 3, 3), pad=(1, 1), groups=2)
    yield case("depthwise, two filters a channel, stride", random(1, 3, 6, 5), random(6, 1, 3, 3), stride=(2, 1),
               pad=(1, 1), groups=3)
    yield case("3-D, everything", random(1, 4, 5, 4, 6), random(4, 2, 2, 2, 3), stride=(2, 1, 2), pad=(1, 0, 2),
               pad_end=(0, 1, 1), dilation=(1, 2, 2), groups=2)


def conv_transpose():
    functions = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}

    def case(name, x, w, bias=None, stride=None, pad=None, more=None, dilation=None, groups=1, act="NONE"):
        space = x.dim() - 2
        out = functions[space](x, w, bias, stride or 1, pad or 0, more or 0, groups, dilation or 1)
        given = params(activation="HUSK_ACT_" + act, stride=stride, pad=pad, dilation=dilation,
                       groups=groups if groups > 1 else None)
        return row(name, given, array(x), array(w), array(bias), array(ACTIVATIONS[act](out, f32(0.01))))

    yield case("1-D", random(2, 3, 5), random(3, 2, 4), random(2), stride=(2,), pad=(1,))
    yield case("2x2, stride", random(1, 3, 3, 4), random(3, 2, 2, 2), random(2), stride=(2, 2))
    yield case("output padding", random(1, 2, 3, 3), random(2, 3, 3, 3), stride=(2, 3), pad=(1, 1), more=(1, 2))
    yield case("groups, dilation", random(1, 4, 4, 3), random(4, 3, 2, 3), random(6), dilation=(2, 1), groups=2)
    yield case("3-D, ReLU", random(1, 2, 2, 3, 2), random(2, 3, 2, 1, 2), random(3), stride=(1, 2, 2), act="RELU")
    yield case("output padding below the dilation", random(1, 2, 4, 5), random(2, 3, 3, 2), random(3), stride=(1, 2),
               pad=(2, 0), more=(2, 3), dilation=(3, 4))


def softmax_backward():
    def case(name, x, axis):
        for log in (False, True):
            x.requires_grad_()
            y = F.log_softmax(x, axis) if log else F.softmax(x, axis)
            dy = random(*x.shape)
            given = params(axis=axis, log=log or None)
            yield row(name + (", log" if log else ""), given, array(x), array(dy), array(*gradients(y, dy, x)))

    yield from case("one dimension", random(7) * 4, 0)
    for axis in range(3):
        yield from case(f"three dimensions, axis {axis}", random(2, 4, 5), axis)
    yield from case("four dimensions, axis 1", random(2, 5, 2, 3) * 8, 1)
    yield from case("an axis of one", random(3, 1), 1)
    yield from case("large values", random(2, 6) * 2048, 1)


def gemm_backward():
    def case(name, a, b, ta=False, tb=False, alpha=1.0, beta=0.0, bias=None, c=None, act="NONE", slope=0.25):
        inputs = [t.requires_grad_() for t in (a, b, bias, c) if t is not None]
        out = alpha * torch.matmul(a.transpose(-1, -2) if ta else a, b.transpose(-1, -2) if tb else b)
        if c is not None:
            out = out + beta * c
        if bias is not None:
            out = out + bias
        dy = random(*out.shape)
        found = iter(gradients(ACTIVATIONS[act](out, slope), dy, *inputs))
        given = params(transpose_a=ta or None, transpose_b=tb or None, activation="HUSK_ACT_" + act,
                       activation_slope=slope if act == "LEAKY_RELU" else None)
        return row(name, given, alpha, beta, array(a), array(b), array(bias), array(c), array(dy),
                   *(array(next(found) if t is not None else None) for t in (a, b, bias, c)))

    for ta, tb in itertools.product((False, True), repeat=2):
        a, b = random(*((5, 3) if ta else (3, 5))), random(*((4, 5) if tb else (5, 4)))
        yield case(f"transposes {ta:d}{tb:d}", a, b, ta, tb, 1.5, -0.75, random(4), random(3, 4))
        a, b = random(*((2, 5, 3) if ta else (2, 3, 5))), random(*((4, 5) if tb else (5, 4)))
        yield case(f"batch, one B, transposes {ta:d}{tb:d}", a, b, ta, tb, bias=random(4))
    yield case("bias of a column", random(3, 5), random(5, 4), bias=random(3, 1), alpha=2.0)
    yield case("batch", random(2, 3, 5), random(2, 5, 4), beta=1.0, c=random(2, 3, 4), bias=random(4))
    yield case("batch, one A", random(3, 5), random(2, 5, 4), bias=random(3, 1))
    yield case("batch, B of one", random(2, 3, 5), random(1, 5, 4))
    for act in list(ACTIVATIONS)[1:]:
        yield case(f"activation {act}", random(3, 5), random(5, 4), bias=random(4), act=act)


REDUCTIONS = {
    "SUM": lambda x, dims: x.sum(dims),
    "MEAN": lambda x, dims: x.mean(dims),
    "PRODUCT": None,
    "MAX": lambda x, dims: x.amax(dims),
    "MIN": lambda x, dims: x.amin(dims),
    "ARGMAX": None,
    "ARGMIN": None,
    "SUM_ABS": lambda x, dims: torch.linalg.vector_norm(x, 1, dims),
    "NORM": lambda x, dims: torch.linalg.vector_norm(x, 2, dims),
    "LOG_SUM_EXP": lambda x, dims: torch.logsumexp(x, dims),
}


def reduce():
    def flatten(x, dims):
        """The reduced dimensions as one, the last: for what PyTorch has for one dimension alone."""
        kept = [d for d in range(x.dim()) if d not in dims]
        return x.permute(*kept, *dims).reshape(*(x.shape[d] for d in kept), -1)

    def case(name, x, dims, kinds=REDUCTIONS):
        alone = {"PRODUCT": lambda x: x.prod(-1), "ARGMAX": lambda x: x.argmax(-1), "ARGMIN": lambda x: x.argmin(-1)}
        for kind in kinds:
            variable = x.clone().requires_grad_()
            y = alone[kind](flatten(variable, dims)) if kind in alone else REDUCTIONS[kind](variable, dims)
            dy = dx = None
            if not kind.startswith("ARG"):
                dy = random(*y.shape)
                y.backward(dy)
                dx = variable.grad
            given = params(kind="HUSK_REDUCE_" + kind, axis_count=len(dims), axes=list(dims))
            yield row(f"{kind}, {name}", given, array(x), array(y.detach()), array(dy), array(dx))

    yield from case("one dimension", random(7), (0,))
    for dims in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        yield from case(f"dimensions {dims}", random(2, 4, 5), dims)
    yield from case("channels", random(2, 3, 3, 2), (0, 2, 3))
    yield from case("ties", torch.tensor([[1.0, 3, 3, -2], [-2, -2, 5, 5], [0, 0, 0, 0]]).double(), (1,),
                    ("MAX", "MIN", "ARGMAX", "ARGMIN", "NORM", "SUM_ABS"))
    zeros = random(4, 5)
    zeros[1, 2] = zeros[2, 0] = zeros[2, 4] = zeros[3, 4] = 0
    yield from case("zeros", zeros, (1,), ("PRODUCT", "NORM", "SUM_ABS"))
    special = random(6, 4)
    special[0, 1] = float("-inf")
    special[1, 2] = float("nan")
    special[2, 3] = float("inf")
    special[3, :] = float("-inf")
    special[4, 1] = special[4, 3] = float("nan")
    yield from case("NaN and infinity", special, (1,), [kind for kind in REDUCTIONS if kind != "PRODUCT"])


def copy():
    types = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I32": torch.int32,
             "I64": torch.int64, "U8": torch.uint8}

    def case(name, x, y, from_type="F32", to_type="F32"):
        return row(name, f"HUSK_{from_type}", f"HUSK_{to_type}", array(x), array(y))

    def conversion(from_type, to_type, x):
        return case(f"{from_type} to {to_type}", x, x.to(types[from_type]).to(types[to_type]), from_type, to_type)

    x = random(3, 5)
    yield case("as it is", x, x)
    yield case("a row repeated", x[:1], x[:1].expand(4, 5))
    yield case("a column repeated", x[:, 1:2], x[:, 1:2].expand(2, 3, 4))
    yield case("a number repeated", x[0, 0], x[0, 0].expand(2, 3))
    numbers = torch.tensor([0, 0.5, 1.5, 2.75, 3.5, 100.25, 254.5]).double()
    whole = torch.tensor([0, 1, 255, 256, 511, -1, -256, 70001, 123456789]).double()
    for to_type in ("I32", "I64"):
        yield conversion("F32", to_type, torch.cat([numbers, -numbers]))
    yield conversion("F32", "U8", numbers)
    fine = torch.tensor([1 + 1 / 2048, 1 + 3 / 2048, 2049, 2051, 65504, 65520, 2 ** -10, 70000, 257, 259,
                         -1 - 1 / 256]).double()
    for to_type in ("F16", "BF16"):
        yield conversion("F32", to_type, fine)
    for from_type in ("I32", "I64"):
        for to_type in ("F32", "U8"):
            yield conversion(from_type, to_type, whole)


def gru_by_hand(x, lengths, h0, weights, bidirectional):
    """One layer of GRU with the reset gate before the product, as ONNX's linear_before_reset=0."""
    steps, batch, _ = x.shape
    hidden = weights[0][1].shape[1]
    directions = 2 if bidirectional else 1
    y, h_n = torch.zeros(steps, batch, directions * hidden).double(), torch.zeros(directions, batch, hidden).double()
    for direction, (w, r, bw, br) in enumerate(weights):
        wr, wz, wn = w.chunk(3)
        rr, rz, rn = r.chunk(3)
        br_, bz, bn = (bw + br).chunk(3)
        for b in range(batch):
            h = h0[direction, b]
            times = range(lengths[b]) if direction == 0 else reversed(range(lengths[b]))
            for t in times:
                reset = torch.sigmoid(wr @ x[t, b] + rr @ h + br_)
                update = torch.sigmoid(wz @ x[t, b] + rz @ h + bz)
                new = torch.tanh(wn @ x[t, b] + rn @ (reset * h) + bn)
                h = (1 - update) * new + update * h
                y[t, b, direction * hidden:(direction + 1) * hidden] = h
            h_n[direction, b] = h
    return y, h_n


def attention():
    def case(name, batch, heads, kv_heads, queries, keys, d, e, mask=None, **options):
        q, k = random(batch, heads, queries, d).requires_grad_(), random(batch, kv_heads, keys, d).requires_grad_()
        v = random(batch, kv_heads, keys, e).requires_grad_()
        wide = lambda x: x.repeat_interleave(heads // kv_heads, 1)
        s = q @ wide(k).mT * (options.get("scale", 0) or 1 / math.sqrt(d))
        if mask is not None:
            s = s.masked_fill(mask == 0, -math.inf) if mask.dtype == torch.uint8 else s + mask
        if options.get("causal"):
            shift = keys - queries if options["causal"].endswith("RIGHT") else 0
            s = s.masked_fill(torch.ones(queries, keys).triu(shift + 1) == 1, -math.inf)
        p = s.softmax(-1)
        rate = f32(options.get("dropout", 0.0))
        if rate:
            seed, offset = options["seed"], options["offset"]
            words = [philox([i // 4, 0, offset, 0], [seed, 0])[i % 4] for i in range(p.numel())]
            kept = torch.tensor([float(word >= round(rate * 2**32)) for word in words]).double().reshape(p.shape)
            p = p * kept / (1 - rate)
        y = p @ wide(v)
        dy = random(*y.shape)
        return row(name, params(**options), array(q.detach()), array(k.detach()), array(v.detach()),
                   int(mask is not None and mask.dtype == torch.uint8), array(mask), array(y.detach()),
                   array(s.logsumexp(-1).detach()), array(dy), *(array(g) for g in gradients(y, dy, q, k, v)))

    yield case("plain", 2, 2, 2, 3, 4, 6, 6)
    yield case("one query", 1, 2, 2, 1, 5, 4, 4)
    yield case("grouped heads, wider values", 2, 4, 2, 3, 3, 4, 5)
    yield case("scale", 1, 1, 1, 4, 3, 5, 2, scale=0.75)
    yield case("causal", 1, 2, 1, 4, 4, 4, 4, causal="HUSK_CAUSAL_TOP_LEFT")
    yield case("causal, more keys", 1, 1, 1, 3, 5, 4, 4, causal="HUSK_CAUSAL_TOP_LEFT")
    yield case("causal, bottom right", 1, 2, 2, 3, 5, 4, 4, causal="HUSK_CAUSAL_BOTTOM_RIGHT")
    added = random(2, 1, 3, 4)
    added[0, 0, 1, 2] = -math.inf
    yield case("added mask", 2, 2, 1, 3, 4, 4, 4, added)
    yield case("added mask of keys", 2, 2, 2, 3, 4, 4, 4, random(4))
    boolean = torch.tensor([[1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 1, 0]], dtype=torch.uint8)
    yield case("boolean mask", 2, 2, 2, 3, 4, 4, 4, boolean)
    yield case("boolean mask, causal", 1, 2, 2, 3, 4, 4, 4, torch.tensor([1, 1, 0, 1], dtype=torch.uint8),
               causal="HUSK_CAUSAL_TOP_LEFT")
    yield case("dropout", 2, 2, 1, 3, 5, 4, 4, dropout=0.4, seed=7, offset=3)
    yield case("large scores", 1, 1, 1, 3, 4, 4, 4, scale=30.0)


def rnn():
    def text(cell, x, lengths, h0, c0, weights, y, h_n, c_n, **fields):
        parts = [params(cell="HUSK_RNN_" + cell, **fields), array(x),
                 array(torch.tensor(lengths) if lengths is not None else None), array(h0), array(c0)]
        return parts + [[array(part) for weight in weights for part in weight], array(y), array(h_n), array(c_n)]

    def module(cell, inputs, hidden, layers, bidirectional, bias):
        kinds = {"TANH": torch.nn.RNN, "RELU": torch.nn.RNN, "LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU}
        more = {"nonlinearity": cell.lower()} if cell in ("TANH", "RELU") else {}
        made = kinds[cell](inputs, hidden, layers, bias, bidirectional=bidirectional, **more).double()
        for parameter in made.parameters():
            parameter.data = random(*parameter.shape, limit=32, unit=64)
        return made

    def weights_of(made):
        for names in made._all_weights:
            values = [getattr(made, name).data for name in names]
            yield values + [None] * (4 - len(values))

    def case(name, cell, steps=4, batch=2, inputs=3, hidden=4, layers=1, bidirectional=False, bias=True,
             lengths=None, initial=True):
        made = module(cell, inputs, hidden, layers, bidirectional, bias)
        x = random(steps, batch, inputs)
        states = (layers * (2 if bidirectional else 1), batch, hidden)
        h0 = random(*states, unit=64) if initial else None
        c0 = random(*states) if initial and cell == "LSTM" else None
        start = (h0, c0) if cell == "LSTM" else h0
        given = x
        if lengths is not None:
            given = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
        y, end = made(given, start if initial else None)
        if lengths is not None:
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=steps)
        h_n, c_n = end if cell == "LSTM" else (end, None)
        return row(name, *text(cell, x, lengths, h0, c0, list(weights_of(made)), y.detach(), h_n.detach(),
                               c_n.detach() if c_n is not None else None, hidden_size=hidden,
                               layers=layers if layers > 1 else None, bidirectional=bidirectional or None))

    for cell in ("TANH", "RELU", "LSTM", "GRU"):
        yield case(cell, cell)
        yield case(f"{cell}, no biases, no initial state", cell, bias=False, initial=False)
        yield case(f"{cell}, bidirectional", cell, bidirectional=True)
        yield case(f"{cell}, two layers", cell, layers=2, hidden=3)
        yield case(f"{cell}, different lengths", cell, steps=5, batch=3, lengths=[2, 5, 4])
        yield case(f"{cell}, everything", cell, steps=4, batch=3, inputs=2, hidden=3, layers=2, bidirectional=True,
                   lengths=[4, 1, 3])
    for name, bidirectional, lengths in (("GRU, reset before", False, [4, 4]),
                                         ("GRU, reset before, everything", True, [1, 4, 3])):
        batch, directions = len(lengths), 2 if bidirectional else 1
        x, h0 = random(4, batch, 3), random(directions, batch, 4, unit=64)
        weights = [[random(*shape, limit=32, unit=64) for shape in ((12, 3), (12, 4), (12,), (12,))]
                   for _ in range(directions)]
        y, h_n = gru_by_hand(x, lengths, h0, weights, bidirectional)
        yield row(name, *text("GRU", x, lengths if bidirectional else None, h0, None, weights, y, h_n, None,
                              hidden_size=4, bidirectional=bidirectional or None, reset="HUSK_GRU_RESET_BEFORE"))


def rnn_backward():
    """Inputs and weights, the outputs' gradients, and theirs by autograd."""
    def case(name, cell, run, x, lengths, h0, c0, weights, given=(True, True, True), **fields):
        """run(x, h0, c0, weights) is y, h_n and, for an LSTM, c_n; given: which outputs have gradients."""
        leaves = [part.clone().requires_grad_() for part in (x, h0, c0) if part is not None]
        leaves += [part.requires_grad_() for weight in weights for part in weight if part is not None]
        left = list(leaves)
        starts = [left.pop(0) if part is not None else None for part in (x, h0, c0)]
        own = [[left.pop(0) if part is not None else None for part in weight] for weight in weights]
        outputs = run(*starts, own)
        gradients = [random(*y.shape) if wanted else None for y, wanted in zip(outputs, given)]
        loss = sum((y * d).sum() for y, d in zip(outputs, gradients) if d is not None)
        made = list(torch.autograd.grad(loss, leaves, allow_unused=True))
        made = [grad if grad is not None else torch.zeros_like(leaf) for grad, leaf in zip(made, leaves)]
        of_starts = [made.pop(0) if part is not None else None for part in (x, h0, c0)]
        of_weights = [[made.pop(0) if part is not None else None for part in weight] for weight in weights]
        text = [params(cell="HUSK_RNN_" + cell, **fields), array(x),
                array(torch.tensor(lengths) if lengths is not None else None), array(h0), array(c0)]
        for rows in (weights, of_weights):
            text.append([array(part if part is None else part.detach()) for weight in rows for part in weight])
        return row(name, *text, *(array(part) for part in (gradients + [None])[:3]),
                   *(array(part) for part in of_starts))

    def by_torch(name, cell, layers=1, bidirectional=False, bias=True, lengths=None, initial=True, **more):
        steps, batch, inputs, hidden = 4, len(lengths) if lengths else 2, 3, 3
        kinds = {"TANH": torch.nn.RNN, "RELU": torch.nn.RNN, "LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU}
        options = {"nonlinearity": cell.lower()} if cell in ("TANH", "RELU") else {}
        module = kinds[cell](inputs, hidden, layers, bias, bidirectional=bidirectional, **options).double()
        weights = []
        for names in module._all_weights:
            values = [getattr(module, name) for name in names]
            for value in values:
                value.data = random(*value.shape, limit=32, unit=64)
            weights.append(values + [None] * (4 - len(values)))
        states = (layers * (2 if bidirectional else 1), batch, hidden)

        def run(x, h0, c0, _):
            start = (h0, c0) if cell == "LSTM" and initial else h0
            given = x
            if lengths is not None:
                given = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
            y, end = module(given, start)
            if lengths is not None:
                y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=steps)
            return (y, *end) if cell == "LSTM" else (y, end)

        return case(name, cell, run, random(steps, batch, inputs), lengths,
                    random(*states, unit=64) if initial else None,
                    random(*states) if initial and cell == "LSTM" else None, weights, hidden_size=hidden,
                    layers=layers if layers > 1 else None, bidirectional=bidirectional or None, **more)

    for cell in ("TANH", "RELU", "LSTM", "GRU"):
        yield by_torch(cell, cell)
        yield by_torch(f"{cell}, no biases, no initial state", cell, bias=False, initial=False)
        yield by_torch(f"{cell}, last states alone", cell, given=(False, True, True))
        yield by_torch(f"{cell}, bidirectional", cell, bidirectional=True)
        yield by_torch(f"{cell}, two layers", cell, layers=2)
        yield by_torch(f"{cell}, different lengths", cell, lengths=[2, 4, 3])
        yield by_torch(f"{cell}, everything", cell, layers=2, bidirectional=True, lengths=[4, 1, 3])
    for name, bidirectional, lengths in (("GRU, reset before", False, [4, 4]),
                                         ("GRU, reset before, everything", True, [1, 4, 3])):
        directions = 2 if bidirectional else 1
        weights = [[random(*shape, limit=32, unit=64) for shape in ((12, 3), (12, 4), (12,), (12,))]
                   for _ in range(directions)]
        yield case(name, "GRU", lambda x, h0, _, own: gru_by_hand(x, lengths, h0, own, bidirectional),
                   random(4, len(lengths), 3), lengths, random(directions, len(lengths), 4, unit=64), None, weights,
                   hidden_size=4, bidirectional=bidirectional or None, reset="HUSK_GRU_RESET_BEFORE")


def norm():
    def statistics(x, kind, dims, groups, eps):
        if kind == "GROUP":
            x, dims = x.reshape(x.shape[0], groups, -1), [2]
        mean = x.mean(dims) if kind != "RMS" else None
        variance = (x * x).mean(dims) if kind == "RMS" else x.var(dims, unbiased=False)
        return mean, 1 / torch.sqrt(variance + eps)

    def case(name, kind, x, dims, apply, statistic_shape, parameter_shape, affine, running, eps, **fields):
        """apply(x, scale, bias, epsilon) is y; running: the running mean and variance, which apply updates."""
        epsilon = f32(1e-5 if eps is None else eps)
        scale, bias = (random(*parameter_shape), random(*parameter_shape)) if affine else (None, None)
        before = [part.clone() for part in running]
        inputs = [part.clone().requires_grad_() for part in (x, scale, bias) if part is not None]
        y = apply(*(inputs if affine else inputs + [None, None]), epsilon)
        dy = random(*x.shape)
        dx, dscale, dbias = (*torch.autograd.grad(y, inputs, dy), None, None)[:3]
        if kind == "BATCH" and not fields.get("training"):
            mean, rstd = before[0], 1 / torch.sqrt(before[1] + epsilon)
        else:
            mean, rstd = statistics(x, kind, dims, fields.get("groups") or 1, epsilon)
        mean = mean.reshape(statistic_shape) if mean is not None else None
        given = params(kind="HUSK_NORM_" + kind, epsilon=1e-5 if eps is None else eps, **fields)
        nothing = [None] * (2 - len(running))
        arrays = [x, scale, bias, *before, *nothing, y.detach(), mean, rstd.reshape(statistic_shape), *running,
                  *nothing, dy, dx, dscale, dbias]
        return row(name, given, *(array(part) for part in arrays))

    def trailing(name, kind, x, count, affine=True, eps=None):
        leading, shape = x.shape[:x.dim() - count], x.shape[x.dim() - count:]
        dims = list(range(x.dim() - count, x.dim()))

        def root_mean_square(x, s, b, e):
            y = x / torch.sqrt((x * x).mean(dims, keepdim=True) + e)
            return y * s + b if affine else y

        apply = root_mean_square if kind == "RMS" else lambda x, s, b, e: F.layer_norm(x, shape, s, b, e)
        return case(name, kind, x, dims, apply, leading, shape, affine, [], eps, axis=-count)

    def group(name, x, groups, affine=True, eps=None):
        return case(name, "GROUP", x, None, lambda x, s, b, e: F.group_norm(x, groups, s, b, e), (x.shape[0], groups),
                    x.shape[1:2], affine, [], eps, groups=groups if groups > 1 else None)

    def instance(name, x, affine=True, eps=None):
        return case(name, "INSTANCE", x, list(range(2, x.dim())),
                    lambda x, s, b, e: F.instance_norm(x, weight=s, bias=b, eps=e), x.shape[:2], x.shape[1:2], affine,
                    [], eps)

    def batch(name, x, training, affine=True, momentum=None, eps=None):
        running = [random(x.shape[1]), random(x.shape[1]).abs()]
        step = f32(0.1 if momentum is None else momentum)
        return case(name, "BATCH", x, [d for d in range(x.dim()) if d != 1],
                    lambda x, s, b, e: F.batch_norm(x, running[0], running[1], s, b, training, step, e), x.shape[1:2],
                    x.shape[1:2], affine, running, eps, training=training or None,
                    momentum=0.1 if momentum is None else momentum)

    for kind in ("LAYER", "RMS"):
        yield trailing(f"{kind}, rows", kind, random(4, 7), 1)
        yield trailing(f"{kind}, one row", kind, random(9), 1)
        yield trailing(f"{kind}, two dimensions", kind, random(2, 3, 4), 2)
        yield trailing(f"{kind}, everything at once", kind, random(3, 4), 2, eps=0.25)
        yield trailing(f"{kind}, no scale", kind, random(2, 3, 5), 1, affine=False)
    yield trailing("LAYER, a large mean", "LAYER", random(3, 6) + 4096, 1)
    yield group("GROUP, two dimensions of space", random(2, 6, 3, 2), 3)
    yield group("GROUP, one group", random(2, 4, 5), 1)
    yield group("GROUP, no space", random(3, 6), 2)
    yield group("GROUP, no scale", random(1, 4, 2, 3), 2, affine=False, eps=0.125)
    yield instance("INSTANCE, two dimensions of space", random(2, 3, 3, 4))
    yield instance("INSTANCE, three, no scale", random(1, 2, 2, 3, 2), affine=False)
    for training in (True, False):
        name = "training" if training else "inference"
        yield batch(f"BATCH, {name}", random(3, 4, 2, 3), training)
        yield batch(f"BATCH, {name}, no space", random(5, 3), training)
        yield batch(f"BATCH, {name}, no scale", random(2, 3, 4), training, affine=False, eps=0.5)
        yield batch(f"BATCH, {name}, momentum", random(2, 3, 2, 2, 2), training, momentum=0.75)


def loss():
    kinds = {"CROSS_ENTROPY": F.cross_entropy, "NEGATIVE_LOG": F.nll_loss, "MEAN_SQUARE": F.mse_loss,
             "ABSOLUTE": F.l1_loss, "SMOOTH_ABSOLUTE": F.smooth_l1_loss, "HUBER": F.huber_loss,
             "BINARY_LOGITS": F.binary_cross_entropy_with_logits, "DIVERGENCE": F.kl_div}

    def case(name, kind, x, target, reduction, weight=None, positive=None, options=None, **given):
        """given: PyTorch's options; options: ours."""
        x = x.clone().requires_grad_()
        if weight is not None:
            given["weight"] = weight
        if positive is not None:
            given["pos_weight"] = positive
        y = kinds[kind](x, target, reduction=reduction, **given)
        dloss = random(*y.shape)
        dx, = torch.autograd.grad(y, x, dloss)
        own = dict(beta=1.0 if kind in ("SMOOTH_ABSOLUTE", "HUBER") else None, ignore_index=-100)
        fields = params(kind="HUSK_LOSS_" + kind, reduction="HUSK_LOSS_" + reduction.upper(),
                        **{**own, **(options or {})})
        labels = "HUSK_I64" if target.dtype == torch.int64 else "HUSK_F32"
        return row(f"{kind}, {reduction}{name}", fields, labels,
                   *(array(part) for part in (x.detach(), target, weight, positive, y.detach(), dloss, dx)))

    for reduction in ("mean", "sum", "none"):
        for kind in ("CROSS_ENTROPY", "NEGATIVE_LOG"):
            labels = torch.tensor([4, 0, -100, 2])
            yield case("", kind, random(4, 6), labels, reduction)
            yield case(", weights", kind, random(4, 6), labels, reduction, weight=random(6).abs())
            yield case(", one row", kind, random(6), torch.tensor(3), reduction)
            yield case(", an image, another index", kind, random(2, 3, 2, 2), torch.randint(0, 3, (2, 2, 2)), reduction,
                       weight=random(3).abs(), ignore_index=1, options=dict(ignore_index=1))
            yield case(", all ignored", kind, random(2, 3), torch.tensor([-100, -100]), reduction)
        smooth = dict(label_smoothing=0.125)
        yield case(", smooth", "CROSS_ENTROPY", random(4, 6), labels, reduction, options=smooth, **smooth)
        yield case(", smooth, weights", "CROSS_ENTROPY", random(4, 6), labels, reduction, weight=random(6).abs(),
                   options=smooth, **smooth)
        yield case(", probabilities", "CROSS_ENTROPY", random(4, 6), random(4, 6).abs(), reduction)
        yield case(", probabilities of an image, smooth, weights", "CROSS_ENTROPY", random(2, 3, 4),
                   random(2, 3, 4).abs(), reduction, weight=random(3).abs(), options=smooth, **smooth)
        yield case("", "MEAN_SQUARE", random(3, 5), random(3, 5), reduction)
        yield case("", "ABSOLUTE", random(3, 5), random(3, 5), reduction)
        yield case("", "SMOOTH_ABSOLUTE", random(3, 5), random(3, 5), reduction)
        yield case(", beta", "SMOOTH_ABSOLUTE", random(3, 5), random(3, 5), reduction, beta=0.25,
                   options=dict(beta=0.25))
        yield case("", "HUBER", random(3, 5), random(3, 5), reduction)
        yield case(", beta", "HUBER", random(3, 5), random(3, 5), reduction, delta=0.25, options=dict(beta=0.25))
        yield case("", "BINARY_LOGITS", random(3, 5), random(3, 5, limit=32).abs(), reduction)
        yield case(", weights", "BINARY_LOGITS", random(3, 5), random(3, 5, limit=32).abs(), reduction,
                   weight=random(3, 1).abs(), positive=random(5).abs())
        target = random(3, 5).abs()
        target[1, 2] = 0
        yield case("", "DIVERGENCE", random(3, 5), target, reduction)
        yield case(", logarithms", "DIVERGENCE", random(3, 5), random(3, 5), reduction, log_target=True,
                   options=dict(log_target=1))


def pad():
    modes = {"constant": "CONSTANT", "reflect": "REFLECT", "replicate": "REPLICATE", "circular": "CIRCULAR"}

    def case(name, mode, x, widths, value=None):
        """widths: PyTorch's, the last dimension first."""
        x = x.clone().requires_grad_()
        y = F.pad(x, widths, mode, value) if mode == "constant" else F.pad(x, widths, mode)
        dy = random(*y.shape)
        dx, = gradients(y, dy, x)
        before, after = [0] * x.dim(), [0] * x.dim()
        for i in range(len(widths) // 2):
            before[-1 - i], after[-1 - i] = widths[2 * i], widths[2 * i + 1]
        options = params(mode="HUSK_PAD_" + modes[mode], value=value, before=before, after=after)
        return row(f"{mode}, {name}", options, array(x.detach()), array(y.detach()), array(dy), array(dx))

    yield case("a list", "constant", random(5), (2, 1), 0.5)
    yield case("cut", "constant", random(3, 5), (-1, 2, 1, -1), -1.5)
    yield case("all dimensions", "constant", random(2, 2, 3), (1, 0, 0, 2, 1, 1), 0.25)
    for mode in ("reflect", "replicate", "circular"):
        yield case("1-D", mode, random(1, 2, 5), (2, 3))
        yield case("2-D", mode, random(1, 2, 3, 4), (1, 2, 2, 0))
        yield case("3-D", mode, random(1, 1, 3, 2, 3), (1, 1, 1, 0, 2, 1))
    for mode in ("reflect", "replicate"):
        yield case("cut", mode, random(1, 1, 5), (-1, 2))
        yield case("cut at the end", mode, random(1, 1, 3, 5), (2, -2, 1, 1))
    yield case("as wide as it is", "circular", random(1, 1, 4), (4, 4))
    yield case("cut", "circular", random(1, 1, 5), (-1, -2))
    yield case("wide", "replicate", random(1, 1, 3), (5, 7))


def concat():
    def case(name, axis, *inputs):
        inputs = [x.clone().requires_grad_() for x in inputs]
        y = torch.cat(inputs, axis)
        dy = random(*y.shape)
        grads = gradients(y, dy, *inputs)

        return row(name, params(axis=axis), several(inputs), array(y.detach()), array(dy), several(grads))

    yield case("a list", 0, random(4), random(1), random(3))
    yield case("rows", 0, random(2, 3), random(1, 3), random(2, 3))
    yield case("columns", -1, random(2, 3), random(2, 1), random(2, 4))
    yield case("channels", 1, random(2, 3, 2, 2), random(2, 1, 2, 2), random(2, 2, 2, 2))
    yield case("one of nothing", 1, random(2, 2), random(2, 0), random(2, 1))


def grad_norm():
    def case(name, max_norm, kind, *tensors):
        parameters = [torch.nn.Parameter(torch.zeros_like(x)) for x in tensors]
        for parameter, x in zip(parameters, tensors):
            parameter.grad = x.clone()
        norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm, math.inf if kind else 2.0)
        return row(name, params(max_norm=max_norm, kind=kind or None), several(tensors), array(norm),
                   several([parameter.grad for parameter in parameters]))

    for kind in (None, "HUSK_GRAD_NORM_MAXIMUM"):
        text = ", maximum" if kind else ""
        yield case("clipped" + text, 1.0, kind, random(3, 4), random(5), random(2, 2, 2))
        yield case("below" + text, 100.0, kind, random(3, 4), random(5), random(1))
        yield case("nothing but zeros" + text, 0.5, kind, torch.zeros(3).double(), torch.zeros(1).double(),
                   torch.zeros(2, 2).double())
        yield case("NaN" + text, 1.0, kind, torch.tensor([float("nan"), 1.0]).double(), random(2), random(2))


def grad_scale():
    def value(name, limit, x):
        parameter = torch.nn.Parameter(torch.zeros_like(x))
        parameter.grad = x.clone()
        torch.nn.utils.clip_grad_value_([parameter], limit)
        return row(name, params(factor=1.0, limit=limit), 1.0, float(not torch.isfinite(x).all()), array(x),
                   array(parameter.grad))

    yield value("clip by value", 0.5, random(4, 5))
    yield value("clip by value, one infinite", 0.5, torch.tensor([math.inf, -math.inf, 0.25, -0.75]).double())
    # GradScaler's unscale_ written out: PyTorch has its kernel for GPUs alone.
    for name, extra in (("unscale", []), ("unscale, infinite", [math.inf]), ("unscale, NaN", [float("nan")])):
        x = torch.cat([random(9), torch.tensor(extra).double()])
        found = float(not torch.isfinite(x).all())
        yield row(name, params(factor=1.0, divides=1), 1024.0, found, array(x), array(x * (1 / 1024.0)))


def optimizer():
    kinds = {"SGD": torch.optim.SGD, "RMSPROP": torch.optim.RMSprop, "ADAM": torch.optim.Adam,
             "ADAMW": torch.optim.AdamW}

    def case(name, kind, options, **given):
        """Four steps of one parameter; given: PyTorch's options, options: ours beside rate."""
        w = random(6).requires_grad_()
        before, gradients = w.detach().clone(), random(4, 6)
        step = kinds[kind]([w], lr=0.125, **given)
        for g in gradients:
            w.grad = g.clone()
            step.step()
        fields = params(kind="HUSK_OPTIMIZER_" + kind, rate=0.125, **options)
        return row(f"{kind}{name}", fields, array(before), array(gradients), array(w.detach()))

    betas = dict(betas=(0.75, 0.9375), eps=2.0 ** -10)
    own = dict(beta=0.75, beta2=0.9375, epsilon=2.0 ** -10)
    yield case("", "SGD", {})
    yield case(", weight decay", "SGD", dict(weight_decay=0.25), weight_decay=0.25)
    yield case(", momentum, dampening", "SGD", dict(momentum=0.75, dampening=0.5, weight_decay=0.25), momentum=0.75,
               dampening=0.5, weight_decay=0.25)
    yield case(", nesterov", "SGD", dict(momentum=0.75, nesterov=1), momentum=0.75, nesterov=True)
    for centered in (False, True):
        fields = dict(beta=0.75, epsilon=2.0 ** -10, centered=centered or None)
        plain = dict(alpha=0.75, eps=2.0 ** -10, centered=centered)
        yield case(f", centered {centered:d}", "RMSPROP", fields, **plain)
        yield case(f", centered {centered:d}, momentum", "RMSPROP", dict(fields, momentum=0.5, weight_decay=0.25),
                   **dict(plain, momentum=0.5, weight_decay=0.25))
    for kind in ("ADAM", "ADAMW"):
        yield case(", defaults", kind, dict(beta=0.9, beta2=0.999, epsilon=2.0 ** -20), weight_decay=0, eps=2.0 ** -20)
        yield case("", kind, dict(own, weight_decay=0.25), weight_decay=0.25, **betas)
        yield case(", amsgrad", kind, dict(own, amsgrad=1), weight_decay=0, amsgrad=True, **betas)


def optimizer_scaled():
    """GradScaler's step written out, which PyTorch has for GPUs alone: unscaled; none where something is infinite."""
    scale = 1024.0
    for kind, make in (("SGD", lambda w: torch.optim.SGD(w, lr=0.125, momentum=0.75)),
                       ("RMSPROP", lambda w: torch.optim.RMSprop(w, lr=0.125, alpha=0.75, eps=2.0 ** -10)),
                       ("ADAM", lambda w: torch.optim.Adam(w, lr=0.125, betas=(0.75, 0.9375), eps=2.0 ** -10)),
                       ("ADAMW", lambda w: torch.optim.AdamW(w, lr=0.125, betas=(0.75, 0.9375), eps=2.0 ** -10,
                                                             weight_decay=0.25))):
        w = random(6).requires_grad_()
        before, grads, skips = w.detach().clone(), random(5, 6) * scale, []
        grads[1, 3] = math.inf
        grads[3, 0] = float("nan")
        step = make([w])
        for g in grads:
            w.grad = g / scale
            skips.append(float(not torch.isfinite(w.grad).all()))
            if not skips[-1]:
                step.step()
        fields = dict(kind="HUSK_OPTIMIZER_" + kind, rate=0.125)
        if kind == "SGD":
            fields["momentum"] = 0.75
        else:
            fields.update(beta=0.75, epsilon=2.0 ** -10)
        if kind.startswith("ADAM"):
            fields["beta2"] = 0.9375
        if kind == "ADAMW":
            fields["weight_decay"] = 0.25
        yield row(kind, params(**fields), scale, array(before), array(grads), array(torch.tensor(skips)),
                  array(w.detach()))


OPERATORS = [
    activation,
    activation_backward,
    unary,
    quantize,
    quantized_gemm,
    quantized_conv,
    binary,
    where,
    dropout,
    embedding,
    rotary,
    one_hot,
    gemm,
    gemm_backward,
    conv,
    conv_backward,
    conv_transpose,
    pool,
    pool_backward,
    softmax,
    softmax_backward,
    attention,
    rnn,
    rnn_backward,
    reduce,
    norm,
    loss,
    optimizer,
    optimizer_scaled,
    grad_norm,
    grad_scale,
    copy,
    concat,
    pad,
]


def main():
    tables = {}
    for operator in OPERATORS:
        torch.manual_seed(20150416)  # anew for each, so that a new case changes one table alone
        tables[operator.__name__] = list(operator())
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    write_tables(folder, f"make_golden.py, PyTorch {torch.__version__}", tables)


main()
