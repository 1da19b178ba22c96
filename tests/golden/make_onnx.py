#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make the golden vectors that stand for "as ONNX" in Husk's headers.

    python3 tests/golden/make_onnx.py [FOLDER]

ONNX's own reference (PyPI: onnx, its onnx.reference) computes them in double from small inputs that f32 holds exactly.
The results are tables in FAMILY.safetensors (golden_file.py), which tests/ref/test_golden_onnx.c reads. They are
committed: the tests need no Python.
"""
import math
import os
import sys

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

sys.dont_write_bytecode = True
from golden_file import Array, params, rounded, row, write_tables

draw = np.random.default_rng(1)


def random(*shape, limit=48, unit=32):
    """Multiples of 1/unit in [-limit/unit, limit/unit], never zero."""
    return draw.integers(1, limit + 1, shape) * draw.choice([-1.0, 1.0], shape) / unit


def distinct(*shape):
    """Random, but no two alike: for maxima, whose positions must be unambiguous."""
    count = math.prod(shape)
    return (draw.permutation(count) - count // 2).reshape(shape) / 16.0


def run(op, inputs, outputs=1, domain="", opset=22, **attributes):
    """The node's outputs. Inputs that are None are left out."""
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(inputs)]
    results = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    feed = {name: value for name, value in zip(names, inputs) if name}
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feed.items()],
        [helper.make_value_info(name, onnx.TypeProto()) for name in results])
    opsets = [helper.make_opsetid(domain, 1 if domain else opset)]
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets)).run(None, feed)


def array(values):
    if values is None:
        return None
    values = np.asarray(values)
    return Array(values.shape, [rounded(float(value)) for value in values.astype(np.float64).flatten()])


# --- The operators -------------------------------------------------------------------------------------------


def onnx_softmax():
    for name, log in (("Softmax", None), ("LogSoftmax", 1)):
        for axis in (-1, 0, 1):
            x = random(3, 4, 5) * 4
            yield row(f"{name}, axis {axis}", params(axis=axis, log=log), array(x), array(run(name, [x], axis=axis)[0]))
        x = random(7) * 4
        yield row(f"{name}, the default axis", params(axis=-1, log=log), array(x), array(run(name, [x])[0]))


def onnx_reduce():
    kinds = {"SUM": "ReduceSum", "MEAN": "ReduceMean", "PRODUCT": "ReduceProd", "MAX": "ReduceMax", "MIN": "ReduceMin",
             "SUM_ABS": "ReduceL1", "NORM": "ReduceL2", "LOG_SUM_EXP": "ReduceLogSumExp"}
    for kind, name in kinds.items():
        for axes in ((0,), (-1,), (1, -3), (-2, 2), ()):
            x = random(2, 3, 4)
            given = [x, np.array(axes, dtype=np.int64)] if axes else [x]
            y, = run(name, given, keepdims=0)
            yield row(f"{name}, axes {list(axes)}",
                      params(kind="HUSK_REDUCE_" + kind, axis_count=len(axes), axes=axes or None), array(x), array(y))
    for kind in ("ARGMAX", "ARGMIN"):
        for axis in (0, 1, -1):
            x = random(3, 4, 5, limit=3, unit=1)  # with equal ones: the first counts
            y, = run("ArgMax" if kind == "ARGMAX" else "ArgMin", [x], axis=axis, keepdims=0)
            yield row(f"{kind}, axis {axis}", params(kind="HUSK_REDUCE_" + kind, axis_count=1, axes=(axis,)), array(x),
                      array(y))


def onnx_pool():
    def case(name, kind, x, window, stride, begin, end, ceil=0, count=0, dilation=None):
        space = len(window)
        given = dict(kernel_shape=window, strides=stride, pads=[*begin, *end], ceil_mode=ceil)
        if dilation:
            given["dilations"] = dilation
        extra = [after - before for before, after in zip(begin, end)]
        fields = params(kind="HUSK_POOL_" + kind, window=window, stride=stride, pad=begin,
                        pad_end_extra=extra if any(extra) else None, dilation=dilation, ceil_mode=ceil or None,
                        count_pad=count or None)
        if kind == "MAX":
            y, indices = run("MaxPool", [x], 2, **given)
            # ONNX counts from the whole tensor's beginning
            plane = math.prod(x.shape[2:])
            indices = indices % plane
        else:
            y, indices = run("AveragePool", [x], count_include_pad=count, **given)[0], None
        assert y.ndim == 2 + space
        return row(f"{kind}, {name}", fields, array(x), array(y), array(indices))

    for kind, make in (("MAX", distinct), ("AVG", random)):
        yield case("3x3", kind, make(2, 2, 7, 8), (3, 3), (2, 2), (1, 1), (1, 1))
        yield case("the ceiling", kind, make(1, 2, 8, 8), (3, 3), (2, 2), (0, 0), (0, 0), ceil=1)
        yield case("more at the end", kind, make(1, 2, 6, 7), (3, 2), (2, 1), (0, 1), (1, 0))
        yield case("1-D", kind, make(1, 3, 9), (4,), (3,), (1,), (1,))
    yield case("padding counted", "AVG", random(1, 2, 6, 6), (3, 3), (2, 2), (1, 1), (1, 1), count=1)


def onnx_conv_transpose():
    def case(name, x, w, bias=None, **given):
        y, = run("ConvTranspose", [x, w, bias], **given)
        pads = given.get("pads", [0] * (2 * (x.ndim - 2)))
        begin, end = pads[:x.ndim - 2], pads[x.ndim - 2:]
        extra = [after - before for before, after in zip(begin, end)]
        fields = params(stride=given.get("strides"), pad=begin, pad_end_extra=extra if any(extra) else None,
                        dilation=given.get("dilations"), groups=given.get("group"))
        return row(name, fields, array(x), array(w), array(bias), array(y))

    yield case("stride 2", random(1, 3, 4, 5), random(3, 2, 3, 3), random(2), strides=[2, 2], pads=[1, 1, 1, 1])
    yield case("output_padding", random(1, 3, 4, 5), random(3, 2, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1],
               output_padding=[1, 1])
    yield case("more at the end", random(2, 2, 5), random(2, 3, 4), random(3), strides=[3], pads=[0, 2])


def onnx_quantize():
    scale, zero = np.array([0.5, 0.25, 2.0], np.float32), np.array([3, -7, 0], np.int8)
    for axis in (0, 1, -1):
        shape = [2, 4, 5]
        shape[axis] = 3
        x = (random(*shape) * 64).astype(np.float32)
        y, = run("QuantizeLinear", [x, scale, zero], axis=axis)
        back, = run("DequantizeLinear", [y, scale, zero], axis=axis)
        yield row(f"axis {axis}", params(axis=axis), array(x), array(scale), array(zero), array(y), array(back))


def onnx_one_hot():
    labels = np.array([[0, 2, 1], [3, 9, 2]], np.int64)
    y, = run("OneHot", [labels, np.array(4), np.array([-0.5, 2.0])])
    yield row("on and off", params(on=2.0, off=-0.5), array(labels), array(y))


def onnx_pad():
    modes = {"constant": "CONSTANT", "reflect": "REFLECT", "edge": "REPLICATE", "wrap": "CIRCULAR"}
    for mode, own in modes.items():
        for before, after in (((1, 2), (2, 0)), ((0, 2), (2, 3))):
            x = random(4, 5)
            pads = np.array([*before, *after], np.int64)
            y, = run("Pad", [x, pads, np.array(0.25) if mode == "constant" else None], mode=mode)
            yield row(f"{mode} {before} {after}",
                      params(mode="HUSK_PAD_" + own, value=0.25 if mode == "constant" else None, before=before,
                             after=after),
                      array(x), array(y))


def onnx_norm():
    for axis in (-1, 1, 0):
        x = random(3, 4, 5)
        scale, bias = random(*x.shape[axis:]), random(*x.shape[axis:])
        y, = run("LayerNormalization", [x, scale, bias], axis=axis, epsilon=0.125)
        yield row(f"LayerNormalization, axis {axis}", params(kind="HUSK_NORM_LAYER", axis=axis, epsilon=0.125),
                  array(x), array(scale), array(bias), array(None), array(None), array(y), array(None))
    x, scale, bias, mean, variance = random(3, 2, 4), random(2), random(2), random(2), abs(random(2))
    y, = run("BatchNormalization", [x, scale, bias, mean, variance], epsilon=0.125)
    yield row("BatchNormalization", params(kind="HUSK_NORM_BATCH", epsilon=0.125), array(x), array(scale), array(bias),
              array(mean), array(variance), array(y), array(None))
    y, after, _ = run("BatchNormalization", [x, scale, bias, mean, variance], 3, epsilon=0.125, momentum=0.75,
                      training_mode=1)
    yield row("BatchNormalization, training; its momentum is 1 - ours",
              params(kind="HUSK_NORM_BATCH", epsilon=0.125, momentum=0.25, training=1), array(x), array(scale),
              array(bias), array(mean), array(variance), array(y), array(after))
    x = random(2, 4, 3)
    scale, bias = random(4), random(4)
    y, = run("GroupNormalization", [x, scale, bias], num_groups=2, epsilon=0.125, stash_type=onnx.TensorProto.DOUBLE)
    yield row("GroupNormalization", params(kind="HUSK_NORM_GROUP", groups=2, epsilon=0.125), array(x), array(scale),
              array(bias), array(None), array(None), array(y), array(None))
    y, = run("InstanceNormalization", [x, scale, bias], epsilon=0.125)
    yield row("InstanceNormalization", params(kind="HUSK_NORM_INSTANCE", epsilon=0.125), array(x), array(scale),
              array(bias), array(None), array(None), array(y), array(None))


def onnx_loss():
    labels = np.array([4, 0, 1, 2], np.int64)
    for reduction in ("mean", "sum", "none"):
        for op, kind in (("SoftmaxCrossEntropyLoss", "CROSS_ENTROPY"), ("NegativeLogLikelihoodLoss", "NEGATIVE_LOG")):
            for ignored in (None, 1):
                x, weight = random(4, 6), abs(random(6))
                given = {} if ignored is None else dict(ignore_index=ignored)
                y = run(op, [x, labels, weight], reduction=reduction, **given)[0]
                yield row(f"{op}, {reduction}, ignored {ignored}",
                          params(kind="HUSK_LOSS_" + kind, reduction="HUSK_LOSS_" + reduction.upper(),
                                 ignore_index=-100 if ignored is None else ignored),
                          array(x), array(labels), array(weight), array(np.asarray(y)))


def onnx_optimizer():
    """Steps T = 1, 2, 3 of ONNX, which Husk's headers say in Husk's numbers."""
    training = "ai.onnx.preview.training"
    for nesterov in (0, 1):
        x, v, gradients = random(5), np.zeros(5), random(3, 5)
        before, after = x, x
        for t, g in enumerate(gradients):
            after, v = run("Momentum", [np.array(0.125), np.array(t), after, g, v], 2, training, alpha=0.75,
                           beta=1.0 if nesterov else 0.5, mode="nesterov" if nesterov else "standard",
                           norm_coefficient=0.25)
        fields = params(kind="HUSK_OPTIMIZER_SGD", rate=0.125, momentum=0.75, dampening=None if nesterov else 0.5,
                        weight_decay=0.25, nesterov=nesterov or None)
        yield row("Momentum" + (", nesterov" if nesterov else ""), fields, array(before), array(gradients),
                  array(after))
    x, v, h, gradients = random(5), np.zeros(5), np.zeros(5), random(3, 5)
    before, after = x, x
    for t, g in enumerate(gradients):
        after, v, h = run("Adam", [np.array(0.125), np.array(t + 1), after, g, v, h], 3, training, alpha=0.75,
                          beta=0.9375, epsilon=2.0**-10, norm_coefficient=0.25, norm_coefficient_post=0.0)
    fields = params(kind="HUSK_OPTIMIZER_ADAM", rate=0.125, beta=0.75, beta2=0.9375, epsilon=2.0**-10,
                    weight_decay=0.25)
    yield row("Adam", fields, array(before), array(gradients), array(after))


def onnx_concat():
    for axis in (0, -1, 1):
        shapes = [[2, 3, 4], [2, 3, 4]]
        shapes[1][axis] = 2
        a, b = random(*shapes[0]), random(*shapes[1])
        yield row(f"axis {axis}", params(axis=axis), array(a), array(b), array(run("Concat", [a, b], axis=axis)[0]))


def onnx_unary():
    special = np.array([0.0, -0.0, math.inf, -math.inf, math.nan])
    x = np.concatenate([random(8), special])
    plain = {"NEGATE": "Neg", "ABSOLUTE": "Abs", "RECIPROCAL": "Reciprocal", "SQRT": "Sqrt", "FLOOR": "Floor",
             "CEIL": "Ceil", "ROUND": "Round", "EXP": "Exp", "LOG": "Log", "SIN": "Sin", "COS": "Cos"}
    with np.errstate(all="ignore"):
        for own, name in plain.items():
            yield row(name, params(op="HUSK_UNARY_" + own), array(x), array(run(name, [x])[0]))
        y = run("Clip", [x[:-1], np.array(-0.5), np.array(0.75)])[0]
        yield row("Clip", params(op="HUSK_UNARY_CLAMP", low=-0.5, high=0.75), array(x[:-1]), array(y))
        for exponent in (-1.5, -1.0, 0.0, 1.5, 2.0, 3.0):
            y = run("Pow", [x, np.array(exponent)])[0]
            yield row(f"Pow {exponent}", params(op="HUSK_UNARY_POWER", exponent=exponent), array(x), array(y))


if __name__ == "__main__":
    tables = {}
    for make in (onnx_softmax, onnx_reduce, onnx_pool, onnx_conv_transpose, onnx_quantize, onnx_one_hot, onnx_pad,
                 onnx_norm, onnx_loss, onnx_optimizer, onnx_concat, onnx_unary):
        tables[make.__name__] = list(make())
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    write_tables(folder, f"make_onnx.py, onnx {onnx.__version__}", tables)
