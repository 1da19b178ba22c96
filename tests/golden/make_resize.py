#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make the golden vectors of resizing, in fractions, from the formulas of ONNX's Resize (version 19).

    python3 tests/golden/make_resize.py [FOLDER]

No library is needed: coordinates, weights and sums are exact, and rounded once at the end. PyTorch's interpolate has
the same formulas, with coordinates in floating point. The table is in layout.safetensors (golden_file.py), which
tests/ref/test_golden_resize.c reads.
"""
import itertools
import math
import os
import random
import sys
from fractions import Fraction

sys.dont_write_bytecode = True
from golden_file import Array, params, rounded, row, write_tables

MODES = ("nearest", "linear", "cubic")
COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
HALF = Fraction(1, 2)


def coordinate(kind, j, n, m, scale):
    scale = scale or Fraction(m, n)
    if kind == "align_corners":
        return Fraction(j * (n - 1), m - 1) if m > 1 else Fraction(0)
    if kind == "asymmetric":
        return j / scale
    if kind == "pytorch_half_pixel" and m == 1:
        return Fraction(0)
    return (j + HALF) / scale - HALF


def nearest(rounding, x):
    down, up = math.floor(x), math.ceil(x)
    if rounding == "round_prefer_floor":
        return down if x - down <= HALF else up
    if rounding == "round_prefer_ceil":
        return up if up - x <= HALF else down
    return down if rounding == "floor" else up


def cubic(t, a):
    """Weights of the four elements around, by their distances."""
    def kernel(d):
        return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return [kernel(1 + t), kernel(t), kernel(1 - t), kernel(2 - t)]


def matrix(mode, kind, rounding, a, n, m, scale):
    """m rows of n weights: y = matrix x."""
    rows = []
    for j in range(m):
        x = coordinate(kind, j, n, m, scale)
        base = math.floor(x)
        t = x - base
        if mode == "nearest":
            taps = {nearest(rounding, x): Fraction(1)}
        elif mode == "linear":
            taps = {base: 1 - t, base + 1: t}
        else:
            taps = dict(zip(range(base - 1, base + 3), cubic(t, a)))
        weights = [Fraction(0)] * n
        for position, weight in taps.items():
            weights[min(max(position, 0), n - 1)] += weight
        rows.append(weights)
    return rows


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def apply(matrices, shape, values):
    """Every dimension of space by its matrix; N and C stay."""
    for d, rows in enumerate(matrices, 2):
        outer, inner, n = math.prod(shape[:d]), math.prod(shape[d + 1:]), shape[d]
        values = [sum(weight * values[(o * n + k) * inner + i] for k, weight in enumerate(weights))
                  for o in range(outer) for weights in rows for i in range(inner)]
        shape = shape[:d] + [len(rows)] + shape[d + 1:]
    return values


def draw(count):
    return [Fraction(random.choice((-1, 1)) * random.randint(1, 48), 32) for _ in range(count)]


def resize():
    def array(shape, values):
        return Array(shape, [rounded(float(value)) for value in values])

    def case(mode, kind, x_shape, sizes, rounding="round_prefer_floor", a=Fraction(-3, 4), scales=None):
        x_shape = list(x_shape)
        y_shape, scales = x_shape[:2] + list(sizes), scales or (None,) * len(sizes)
        matrices = [matrix(mode, kind, rounding, a, n, m, scale and Fraction(scale))
                    for n, m, scale in zip(x_shape[2:], sizes, scales)]
        x, dy = draw(math.prod(x_shape)), draw(math.prod(y_shape))
        y = apply(matrices, x_shape, x)
        dx = apply([transposed(rows) for rows in matrices], y_shape, dy)
        options = params(mode=MODES.index(mode), coordinates=COORDINATES.index(kind),
                         rounding=ROUNDINGS.index(rounding), cubic_coefficient=float(a) if mode == "cubic" else None,
                         scale=[float(scale or 0) for scale in scales] + [0.0] * (3 - len(sizes)))
        options["scale"] = tuple(options["scale"])
        name = f"{mode}, {kind}, {x_shape[2:]} to {list(sizes)}" + (f", {rounding}" if mode == "nearest" else "")
        return row(name, options, array(x_shape, x), array(y_shape, y), array(y_shape, dy), array(x_shape, dx))

    for kind, rounding in itertools.product(COORDINATES, ROUNDINGS):
        yield case("nearest", kind, (1, 2, 4, 6), (7, 3), rounding)
    for mode, kind in itertools.product(("linear", "cubic"), COORDINATES):
        yield case(mode, kind, (2, 1, 3, 5), (4, 8))
        yield case(mode, kind, (1, 2, 7), (3,))
        yield case(mode, kind, (1, 1, 4), (1,))
    yield case("linear", "half_pixel", (1, 1, 2, 3, 2), (3, 4, 5))
    yield case("cubic", "half_pixel", (1, 1, 4, 4), (8, 8), a=-HALF)
    yield case("linear", "half_pixel", (1, 1, 4, 5), (6, 3), scales=(1.625, 0.75))
    yield case("cubic", "asymmetric", (1, 1, 5), (9,), scales=(1.75,))
    yield case("nearest", "half_pixel", (1, 1, 5), (8,), "round_prefer_ceil", scales=(1.6875,))


def main():
    random.seed(20150416)
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    write_tables(folder, "make_resize.py, fractions", {"resize": list(resize())})


main()
