#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""draw_cases.py COUNT SEED [OPERATOR...]: a suite of random cases on stdout, so many of each operator.

What is it for: shapes that nobody has looked at while writing a kernel or a cost function. `clbench tune --predictions
--file` says how good the library's choice is on them, `clbench run --file` how fast they are.

The rule: sizes are drawn evenly by their logarithms, of what networks have; one in four is rounded to a multiple of 8.
A case has between 10 thousand and 2 billion operations, and tensors of at most 64 MiB.
"""
import math
import random
import sys

MOST_OPERATIONS, LEAST_OPERATIONS, MOST_ELEMENTS = 2e9, 1e4, 16 << 20


def size(rng, least, most):
    value = round(math.exp(rng.uniform(math.log(least), math.log(most))))
    return max(least, value // 8 * 8) if rng.random() < 0.75 and value >= 16 else value


def gemm(rng):
    m, n, k = (size(rng, 1, 2048) for _ in range(3))
    batch = 1 if rng.random() < 0.8 else size(rng, 2, 32)
    words = f"m={m} n={n} k={k}" + (f" batch={batch}" if batch > 1 else "")
    words += rng.choice(["", "", " ta=1", " tb=1"])
    if batch == 1 and rng.random() < 0.5:
        words += " packed=1"
    return words, 2.0 * m * n * k * batch, batch * max(m * n, n * k, m * k)


def image(rng):
    side = size(rng, 5, 112)
    return side, side if rng.random() < 0.8 else size(rng, 5, 112)


def conv(rng, direction=""):
    r = rng.choice([1, 1, 3, 3, 3, 5, 7])
    stride = rng.choice([1, 1, 1, 2])
    h, w = image(rng)
    n = 1 if rng.random() < 0.7 else size(rng, 2, 16)
    kind = rng.random()
    c = 3 if kind < 0.1 else size(rng, 4, 512)
    k = size(rng, 4, 512)
    groups = 1
    if kind > 0.8 and r > 1:
        groups = k = c
    elif kind > 0.72 and c % 4 == 0 and k % 4 == 0:
        groups = 4
    pad = r // 2
    oh, ow = (h + 2 * pad - r) // stride + 1, (w + 2 * pad - r) // stride + 1
    words = f"n={n} c={c} h={h} w={w} k={k} r={r} s={r}"
    words += f" pad={pad}" if pad else ""
    words += f" stride={stride}" if stride > 1 else ""
    words += f" groups={groups}" if groups > 1 else ""
    words += " layout=nhwc" if rng.random() < 0.3 else ""
    if direction:
        words += f" dir={direction}"
    elif rng.random() < 0.7:
        words += " packed=1"
    return words, 2.0 * n * oh * ow * k * (c // groups) * r * r, n * max(c * h * w, k * oh * ow)


def pool(rng, direction=""):
    r = rng.choice([2, 3, 3, 5, 7])
    h, w = image(rng)
    h, w = max(h, r), max(w, r)
    n, c = size(rng, 1, 16), size(rng, 4, 512)
    stride = rng.choice([1, 2, r])
    words = f"n={n} c={c} h={h} w={w} r={r} s={r} stride={stride}"
    words += rng.choice(["", " kind=avg"]) + (f" dir={direction}" if direction else "")
    return words, 1.0 * n * c * h * w * r * r / stride / stride, n * c * h * w


def softmax(rng):
    outer, axis, inner = size(rng, 1, 4096), size(rng, 2, 4096), 1 if rng.random() < 0.7 else size(rng, 2, 256)
    words = f"outer={outer} axis={axis}" + (f" inner={inner}" if inner > 1 else "")
    return words, 5.0 * outer * axis * inner, outer * axis * inner


def rnn(rng):
    steps, batch, inputs, hidden = size(rng, 1, 64), size(rng, 1, 64), size(rng, 8, 512), size(rng, 8, 512)
    cell = rng.choice(["lstm", "gru"])
    gates = 4 if cell == "lstm" else 3
    words = f"cell={cell} t={steps} b={batch} input={inputs} hidden={hidden}"
    return words, 2.0 * steps * batch * gates * hidden * (inputs + hidden), steps * batch * max(inputs, gates * hidden)


OPERATORS = {
    "gemm": ("gemm", gemm),
    "conv": ("conv", conv),
    "conv_backward_data": ("conv", lambda rng: conv(rng, "bwd_data")),
    "conv_backward_weights": ("conv", lambda rng: conv(rng, "bwd_weight")),
    "pool": ("pool", pool),
    "pool_backward": ("pool", lambda rng: pool(rng, "bwd")),
    "softmax": ("softmax", softmax),
    "rnn": ("rnn", rnn),
}


def main():
    if len(sys.argv) < 3 or any(name not in OPERATORS for name in sys.argv[3:]):
        sys.exit(f"{__doc__}\nOperators: {' '.join(OPERATORS)}")
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    for name in sys.argv[3:] or OPERATORS:
        rng = random.Random(f"{seed} {name}")
        word, draw = OPERATORS[name]
        drawn = 0
        while drawn < count:
            words, operations, elements = draw(rng)
            if LEAST_OPERATIONS <= operations <= MOST_OPERATIONS and elements <= MOST_ELEMENTS:
                print(word, words)
                drawn += 1


if __name__ == "__main__":
    main()
