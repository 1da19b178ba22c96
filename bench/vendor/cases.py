# SPDX-License-Identifier: MIT
"""clbench's cases as PyTorch does them: for each operator the ways in which it can be called, and what comes out.

build(case, device) gives a Job. A way is a name and a function that prepares a call; the call takes nothing and returns
the result. On the device "meta" nothing is allocated: that is enough to name the ways. What PyTorch cannot do is
Absent, with the reason. A new operator is a function of its name here, with its keys' defaults as clbench has them.
"""
import itertools
import math

import torch
from job import (BLASLT, CHECKED, DNN, HIP, Absent, Job, activate, activation_gradient, libraries, plain)
F = torch.nn.functional


# ---- products ----

def matrix(job, batch, rows, columns, turned, leading):
    """A stored matrix, seen as [rows, columns]; leading: elements from a stored row to the next, 0: packed."""
    stored = (columns, rows) if turned else (rows, columns)
    whole = job.rand(*((batch,) if batch > 1 else ()), stored[0], leading or stored[1])[..., :stored[1]]
    return whole.transpose(-1, -2) if turned else whole


def column_major(b):
    return b.transpose(-1, -2).contiguous().transpose(-1, -2)


def gemm(job):
    c = job.case
    m, n, k, batch = (c.number(key, 1) for key in ("m", "n", "k", "batch"))
    alpha, beta, act = c.real("alpha", 1), c.real("beta", 0), c.word("act", "none")
    kind = {"1": "row"}.get(c.word("bias", "0"), c.word("bias", "0"))
    a = matrix(job, batch, m, k, c.word("ta") == "1", c.number("lda", 0))
    b = matrix(job, batch, k, n, c.word("tb") == "1", c.number("ldb", 0))
    if c.dir != "fwd":
        return gemm_gradient(job, a, b, kind)
    bias = None if kind == "0" else job.rand(n) if kind == "row" else job.rand(m, 1)
    old = job.rand(*a.shape[:-1], n) if beta else None
    job.updates = old is not None
    if c.number("ldc", 0):
        job.notes.append("C without what lies between its rows")
    forms = [("", b)]
    if c.word("packed") == "1" and min(n, k) > 1:  # weights may lie as the library likes them
        forms = [(" B by rows", b.contiguous()), (" B by columns", column_major(b))]
    for (library, settings), (form, right) in itertools.product(libraries(job), forms):
        for name, prepare in gemm_calls(a, right, bias, old, alpha, beta, act, kind):
            job.way(f"{library} {name}{form}", prepare, **settings)
    rows = slice(None)
    if 2.0 * batch * m * n * k > CHECKED:
        rows = torch.randperm(m)[:64]
        job.pick = lambda y: y[..., rows, :]

    def expected():
        y = alpha * (a[..., rows, :].double() @ b.double())
        if old is not None:
            y += beta * old[..., rows, :].double()
        if bias is not None:
            y += (bias[rows] if kind == "col" else bias).double()
        return activate(act, y)
    job.expected = expected
    return job


def gemm_calls(a, b, bias, old, alpha, beta, act, kind):
    """Bias and activation in the library's epilogue where there is one, else in kernels after it."""
    single = a.dim() == 2

    def after(y):
        return activate(act, y, in_place=True)

    def updated():
        c = old.clone()  # each way has its own, and changes it in place
        product = c.addmm_ if single else c.baddbmm_
        if bias is None and act == "none":
            return lambda: product(a, b, beta=beta, alpha=alpha)
        return lambda: after(product(a, b, beta=beta, alpha=alpha) + (0 if bias is None else bias))
    if old is not None:
        return [("addmm_" if single else "baddbmm_", updated)]
    found = []
    if bias is not None:
        if single:
            found.append(("addmm", lambda: lambda: after(torch.addmm(bias, a, b, alpha=alpha))))
        else:
            wide = bias.expand(a.shape[0], a.shape[1], b.shape[2])
            found.append(("baddbmm", lambda: lambda: after(torch.baddbmm(wide, a, b, alpha=alpha))))
        if single and kind == "row" and alpha == 1 and act in ("relu", "gelu_tanh"):
            found.append(("addmm_activation",
                          lambda: lambda: torch._addmm_activation(bias, a, b, use_gelu=act != "relu")))
    elif alpha != 1:
        empty = a.new_empty((1,) * a.dim()).expand(*a.shape[:-1], b.shape[-1])  # beta=0: it is not read
        scaled = torch.addmm if single else torch.baddbmm
        found.append((scaled.__name__, lambda: lambda: after(scaled(empty, a, b, beta=0, alpha=alpha))))
    else:
        found.append(("mm" if single else "bmm", lambda: lambda: after(torch.matmul(a, b))))
    return found


def gemm_gradient(job, a, b, kind):
    c = job.case
    act, alpha = c.word("act", "none"), c.real("alpha", 1)
    dy = job.rand(*a.shape[:-1], b.shape[-1])
    saved = None if act == "none" else job.rand(*dy.shape)

    def both(left, right, d, before):
        if before is not None:
            d = activation_gradient(act, d, before)
        scaled = d * alpha if alpha != 1 else d
        da, db = scaled @ right.transpose(-1, -2), left.transpose(-1, -2) @ scaled
        if kind == "0":
            return da, db
        return da, db, d.flatten(0, -2).sum(0) if kind == "row" else d.sum(-1).reshape(-1, d.shape[-2]).sum(0)
    if c.real("beta", 0):
        raise Absent("gradients with beta are not done here")
    for library, settings in libraries(job):
        job.way(f"{library} two products", lambda: lambda: both(a, b, dy, saved), **settings)
    if 4.0 * dy.numel() * a.shape[-1] <= CHECKED:
        job.expected = lambda: both(a.double(), b.double(), dy.double(), None if saved is None else saved.double())
    return job


def quantized_gemm(job):
    c = job.case
    m, n, k = (c.number(key) for key in "mnk")
    if c.word("u8") == "1":
        raise Absent("torch._int_mm takes s8 alone")
    if job.device != "cpu" and (m <= 16 or n % 8 or k % 8):
        raise Absent("torch._int_mm wants m above 16 and n and k that are multiples of 8")
    a = job.integers(128, m, k, dtype=torch.int8, low=-128)
    b = job.integers(128, *((n, k) if c.word("tb") == "1" else (k, n)), dtype=torch.int8, low=-128)
    b = b.t() if c.word("tb") == "1" else b
    forms = [("", b)]
    if c.word("packed") == "1":
        forms = [(" B by rows", b.contiguous()), (" B by columns", column_major(b))]
    for form, right in forms:
        job.way(f"{BLASLT} int_mm{form}", lambda right=right: lambda: torch._int_mm(a, right))
    job.notes.append("sums alone: without scales, zero points, bias and activation")
    if 2.0 * m * n * k <= CHECKED:
        job.expected = lambda: a.double() @ b.double()
    return job


# ---- convolution and pooling ----

def image_sizes(c, names):
    """Rank (one dimension becomes two) and the extents of space under these names, of d, h and w."""
    given = [c.number(name, 0) for name in names]
    rank = 3 if c.number("d", 0) else 2 if c.number("h", 0) else 1
    return rank, given[3 - rank:] if rank > 1 else [1] + given[2:]


def spread(rank, numbers, one):
    return list(numbers) if rank > 1 else [one] + list(numbers)


def last_format(x):
    return torch.channels_last_3d if x.dim() == 5 else torch.channels_last


def laid_out(x, layout):
    return x.contiguous(memory_format=last_format(x)) if layout == "nhwc" else x.contiguous()


def conv(job):
    c = job.case
    n, channels, filters, groups = c.number("n", 1), c.number("c"), c.number("k"), c.number("groups", 1)
    rank, size = image_sizes(c, "dhw")
    _, window = image_sizes(c, "trs")
    begin, end = (spread(rank, p, 0) for p in c.pad(rank))
    stride, dilation = (spread(rank, c.space(key, rank, 1), 1) for key in ("stride", "dilation"))
    act, layout, packed = c.word("act", "none"), c.word("layout", "nchw"), c.word("packed") == "1"
    x = laid_out(job.rand(n, channels, *size), layout)
    w = job.rand(filters, channels // groups, *window)
    bias = job.rand(filters) if c.word("bias") == "1" else None
    outer = None if begin == end else [p for pair in zip(reversed(begin), reversed(end)) for p in pair]
    pad = [0] * len(begin) if outer else begin
    function = F.conv3d if rank == 3 else F.conv2d

    def forward(image, weights, added):
        return function(F.pad(image, outer) if outer else image, weights, added, stride, pad, dilation, groups)
    if c.dir != "fwd":
        return conv_gradient(job, x, w, bias, outer, (stride, pad, dilation, groups), forward)
    forms = [layout] if not packed else ["nchw", "nhwc"]
    for form in forms:
        image = laid_out(x, form)
        weights = laid_out(w, form) if packed else w  # plain: what is reordered is in the time
        name = DNN + (" channels last" if form == "nhwc" else " channels first")

        def prepare(image=image, weights=weights):
            return lambda: activate(act, forward(image, weights, bias), in_place=True)
        job.way(name, prepare)
        fused = getattr(torch, "miopen_convolution_relu" if HIP else "cudnn_convolution_relu", None)
        if act == "relu" and fused and not outer and job.device != "cpu":
            job.way(name + " with relu", lambda image=image, weights=weights: lambda: fused(
                image, weights, bias, stride, pad, dilation, groups))
    # One image, and of that so many groups as do not take too long.
    each = 2.0 * w[0].numel() * filters * math.prod((s + b + e) // t for s, b, e, t in zip(size, begin, end, stride))
    some = max(1, min(groups, int(groups * CHECKED / max(each, 1))))
    taken = filters // groups * some if groups > 1 else max(1, min(filters, int(filters * CHECKED / max(each, 1))))
    job.pick = lambda y: y[:1, :taken]

    def expected():
        image = x[:1, :channels // groups * some].double()
        if outer:
            image = F.pad(image, outer)
        added = None if bias is None else bias[:taken].double()
        return activate(act, function(image, w[:taken].double(), added, stride, pad, dilation, some))
    job.expected = expected if n and filters else None
    return job


def conv_gradient(job, x, w, bias, outer, numbers, forward):
    c = job.case
    if c.dir not in ("bwd_data", "bwd_weight"):
        raise Absent(f"dir={c.dir} has no counterpart here")
    if outer:
        raise Absent("gradients with padding that differs from side to side are not done here")
    stride, pad, dilation, groups = numbers
    shape = forward(x.to("meta"), w.to("meta"), None).shape
    dy = laid_out(job.rand(*shape), c.word("layout", "nchw"))
    mask = [c.dir == "bwd_data", c.dir == "bwd_weight", bias is not None and c.dir == "bwd_weight"]
    biases = [shape[1]] if mask[2] else None

    def gradient(d, image, weights):
        found = torch.ops.aten.convolution_backward(d, image, weights, biases, stride, pad, dilation, False,
                                                    [0] * len(stride), groups, mask)
        return [t for t, wanted in zip(found, mask) if wanted]
    job.way(f"{DNN} gradient", lambda: lambda: gradient(dy, x, w))
    if 2.0 * dy.numel() * w[0].numel() <= CHECKED:
        job.expected = lambda: gradient(dy.double(), x.double(), w.double())
    return job


def pool(job):
    c = job.case
    kind = c.word("kind", "max")
    rank, size = image_sizes(c, "dhw")
    x = laid_out(job.rand(c.number("n", 1), c.number("c"), *size), c.word("layout", "nchw"))
    places = list(range(2, x.dim()))
    if c.word("global") == "1":
        if c.word("indices") == "1":
            raise Absent("indices of a maximum over all of space are not done here")
        return plain(job, (lambda t: t.amax(places)) if kind == "max" else (lambda t: t.mean(places)), [x])
    _, window = image_sizes(c, "trs")
    given = spread(rank, c.space("stride", rank, 0), 1)
    stride = [s or r for s, r in zip(given, window)]
    dilation = spread(rank, c.space("dilation", rank, 1), 1)
    begin, end = (spread(rank, p, 0) for p in c.pad(rank))
    ceil, suffix = c.word("ceil") == "1", "3d" if rank == 3 else "2d"
    if begin != end:
        raise Absent("PyTorch's pooling has the same padding on both sides")
    if kind == "avg" and max(dilation) > 1:
        raise Absent("PyTorch's means have no dilation")
    if kind == "avg":
        function = getattr(F, "avg_pool" + suffix)
        return plain(job, lambda t: function(t, window, stride, begin, ceil, c.word("count_pad") == "1"), [x])
    function, indices = getattr(F, "max_pool" + suffix), c.word("indices") == "1"
    if indices and c.dir == "fwd":
        return plain(job, lambda t: function(t, window, stride, begin, dilation, ceil, True), [x])
    return plain(job, lambda t: function(t, window, stride, begin, dilation, ceil), [x])


# ---- attention, softmax, normalisation, recurrent layers ----

def attention(job):
    c = job.case
    n, heads, length, d = c.number("n", 1), c.number("heads"), c.number("length"), c.number("d")
    kv, keys, e = c.number("kv_heads", 0) or heads, c.number("keys", 0) or length, c.number("e", 0) or d
    causal, drop = c.word("causal", "none"), c.number("percent", 0) / 100
    q, k, v = job.rand(n, heads, length, d), job.rand(n, kv, keys, d), job.rand(n, kv, keys, e)
    options = {"dropout_p": drop, "is_causal": causal != "none"}
    if causal == "bottom_right" and length != keys:
        if job.device == "meta":
            options = {"dropout_p": drop}
        else:
            from torch.nn.attention.bias import causal_lower_right
            options = {"dropout_p": drop, "attn_mask": causal_lower_right(length, keys)}
    if kv != heads:
        options["enable_gqa"] = True

    def call(*operands):
        return F.scaled_dot_product_attention(*operands, **options)
    plain(job, call, [q, k, v], checked=drop == 0 and 4.0 * n * heads * length * keys * d <= CHECKED)
    (name, prepare, _), = job.ways
    job.ways = []
    for backend in ("flash", "efficient", "cudnn", "math"):
        job.way(f"{backend}{name[4:]}", prepare, attention=backend)
    if c.dir == "fwd":
        job.bound *= 2
    else:
        job.bound *= 4
        job.notes.append("the gradient is timed alone, after an untimed forward")
    return job


def softmax(job):
    c = job.case
    function = F.log_softmax if c.word("log") == "1" else F.softmax
    return plain(job, lambda t: function(t, 1), [job.rand(c.number("outer"), c.number("axis"), c.number("inner", 1),
                                                          low=-4, high=4)])


def norm(job):
    c = job.case
    kind, n, channels = c.word("kind", "layer"), c.number("n"), c.number("c")
    space = [c.number("h"), c.number("w")] if c.number("h", 0) else []
    x = job.rand(n, channels, *space)
    if space:
        x = laid_out(x, c.word("layout", "nchw"))
    # cuDNN's batch norm of f16 and bf16 takes f32 parameters.
    own = torch.float32 if kind == "batch" and c.dtype != torch.float64 else c.dtype
    scale, bias = job.rand(channels, dtype=own, low=0.5, high=1.5), job.rand(channels, dtype=own)
    mean, variance = job.rand(channels, dtype=own), job.rand(channels, dtype=own, low=0.5, high=1.5)
    if kind == "rms":
        job.notes.append("without bias")
        return plain(job, lambda t, s: F.rms_norm(t, (channels,), s, 1e-5), [x, scale])
    functions = {
        "layer": lambda t, s, b: F.layer_norm(t, (channels,), s, b),
        "group": lambda t, s, b: F.group_norm(t, c.number("groups", 1), s, b),
        "instance": lambda t, s, b: F.instance_norm(t, None, None, s, b),
        "batch": lambda t, s, b: F.batch_norm(t, mean.to(s.dtype), variance.to(s.dtype), s, b,
                                              c.word("training") == "1"),
    }
    return plain(job, functions[kind], [x, scale, bias])


def rnn(job):
    c = job.case
    cell, t, b, hidden = c.word("cell"), c.number("t"), c.number("b"), c.number("hidden")
    layers, two = c.number("layers", 1), c.word("bidir") == "1"
    if c.word("reset", "after") == "before":
        raise Absent("PyTorch's GRU resets after the product")
    if c.dir not in ("fwd", "bwd"):
        raise Absent(f"dir={c.dir} has no counterpart here")
    make = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(cell, torch.nn.RNN)
    options = {} if cell in ("lstm", "gru") else {"nonlinearity": cell}
    torch.manual_seed(1)
    model = make(c.number("input"), hidden, layers, bias=c.word("bias", "1") == "1", bidirectional=two,
                 device=job.device, dtype=c.dtype, **options).train(c.dir == "bwd")
    if job.device != "meta":
        model.flatten_parameters()
    x = job.rand(t, b, c.number("input"))
    states = None
    if c.word("state") == "1":
        states = [job.rand(layers * (1 + two), b, hidden) for _ in range(1 + (cell == "lstm"))]
    lengths = None
    if c.word("lengths") == "1":
        lengths = sorted(torch.randint(1, t + 1, (b,)).tolist(), reverse=True)
        lengths[0] = t
        job.notes.append("sequences are packed beforehand")

    def operands(dtype, grad):
        image = x.to(dtype).detach().requires_grad_(grad)
        start = None if states is None else [s.to(dtype) for s in states]
        if lengths is None:
            return image, image, start
        return image, torch.nn.utils.rnn.pack_padded_sequence(image, lengths), start

    def output(network, image, start):
        y = network(image, None if start is None else tuple(start) if cell == "lstm" else start[0])[0]
        return y.data if lengths is not None else y

    def prepare(network=model, dtype=c.dtype):
        image, packed, start = operands(dtype, False)
        if c.dir == "fwd":
            return lambda: output(network, packed, start)
        with torch.enable_grad():
            image, packed, start = operands(dtype, True)
            y = output(network, packed, start)
        torch.manual_seed(2)
        dy = torch.rand(y.shape, device=y.device).to(c.dtype).to(dtype)
        wanted = [image] + list(network.parameters())
        return lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True)

    def expected():
        twin = make(c.number("input"), hidden, layers, bias=c.word("bias", "1") == "1", bidirectional=two,
                    device=job.device, dtype=torch.float64, **options).train(c.dir == "bwd")
        twin.load_state_dict(model.state_dict())
        return prepare(twin, torch.float64)()
    job.way(f"{DNN} {cell}" + (" autograd" if c.dir == "bwd" else ""), prepare)
    job.expected = expected
    job.bound *= 4
    return job


# ---- element by element, and what moves numbers ----

def activation(job):
    act = job.case.word("act", "relu")
    if act == "none":
        raise Absent("act=none computes nothing")
    return plain(job, lambda t: activate(act, t), [job.rand(job.case.number("count"), low=-4, high=4)])


def unary(job):
    op = job.case.word("op", "exp")
    functions = {"negate": torch.neg, "absolute": torch.abs, "clamp": lambda t: t.clamp(-0.5, 0.5),
                 "power": lambda t: t.pow(2.5)}
    low = 0.5 if op in ("reciprocal", "sqrt", "rsqrt", "log", "log1p", "power") else -1
    return plain(job, functions.get(op) or getattr(torch, op), [job.rand(job.case.number("count"), low=low)])


def binary(job):
    c = job.case
    op, rows, columns = c.word("op", "add"), c.number("rows"), c.number("columns")
    names = {"subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow", "equal": "eq", "not_equal": "ne",
             "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
    shape = {"full": (rows, columns), "row": (columns,), "column": (rows, 1), "scalar": (1,)}[c.word("b", "full")]
    function = getattr(torch, names.get(op, op))
    if names.get(op, "long")[1:] in ("q", "e", "t"):
        job.notes.append("the answers are bytes")
    return plain(job, function, [job.rand(rows, columns, low=0.5, high=1.5), job.rand(*shape, low=0.5, high=1.5)])


def reduce(job):
    c = job.case
    kind, axes = c.word("kind", "sum"), (0, 2) if c.word("ends") == "1" else (1,)
    x = job.rand(c.number("outer"), c.number("axis"), c.number("inner", 1))
    if len(axes) > 1 and kind in ("product", "argmax", "argmin"):
        raise Absent(f"PyTorch's {kind} takes one axis")
    functions = {
        "sum": lambda t: t.sum(axes), "mean": lambda t: t.mean(axes), "product": lambda t: t.prod(axes[0]),
        "max": lambda t: t.amax(axes), "min": lambda t: t.amin(axes), "argmax": lambda t: t.argmax(axes[0]),
        "argmin": lambda t: t.argmin(axes[0]), "sum_abs": lambda t: torch.linalg.vector_norm(t, 1, axes),
        "norm": lambda t: torch.linalg.vector_norm(t, 2, axes), "log_sum_exp": lambda t: t.logsumexp(axes)}
    return plain(job, functions[kind], [x])


def copy(job):
    c = job.case
    outer, rows, columns = c.number("outer", 1), c.number("rows"), c.number("columns")
    turned = c.word("turn") == "1"
    x = job.rand(outer, columns, rows).transpose(1, 2) if turned else job.rand(outer, rows, columns)
    return plain(job, lambda t: t.clone(memory_format=torch.contiguous_format), [x])


def where(job):
    c = job.case
    shape = c.number("rows"), c.number("columns")
    if c.word("numbers") == "1":
        raise Absent("PyTorch's condition is of bytes")
    condition = job.integers(2, *shape).bool()
    b = job.rand(*((1,) if c.word("scalar") == "1" else shape))
    return plain(job, lambda a, other: torch.where(condition, a, other), [job.rand(*shape), b])


def pad(job):
    c = job.case
    width, mode = c.number("width", 1), c.word("mode", "constant")
    return plain(job, lambda t: F.pad(t, (width,) * 4, mode),
                 [job.rand(c.number("outer", 1), c.number("h"), c.number("w"))])


def concat(job):
    c = job.case
    parts = [job.rand(c.number("outer", 1), c.number(key), c.number("inner", 1)) for key in "ab"]
    return plain(job, lambda *tensors: torch.cat(tensors, 1), parts)


def embedding(job):
    c = job.case
    indices = job.integers(c.number("rows"), c.number("lookups"))
    return plain(job, lambda table: F.embedding(indices, table), [job.rand(c.number("rows"), c.number("columns"))])


def dropout(job):
    return plain(job, lambda t: F.dropout(t, job.case.number("percent", 10) / 100, True),
                 [job.rand(job.case.number("count"))], checked=False)


def loss(job):
    c = job.case
    kind, reduction = c.word("kind", "cross_entropy"), c.word("reduction", "mean")
    shape = [c.number("n"), c.number("c")] + ([c.number("inner")] if c.number("inner", 1) > 1 else [])
    labelled = kind in ("cross_entropy", "negative_log") and c.word("probabilities") != "1"
    if kind == "negative_log" and not labelled:
        raise Absent("PyTorch's nll_loss takes labels alone")
    target = job.integers(shape[1], shape[0], *shape[2:]) if labelled else job.rand(*shape, low=0.01, high=0.99)
    function = {"cross_entropy": F.cross_entropy, "negative_log": F.nll_loss, "mean_square": F.mse_loss,
                "absolute": F.l1_loss, "smooth_absolute": F.smooth_l1_loss, "huber": F.huber_loss,
                "binary_logits": F.binary_cross_entropy_with_logits, "divergence": F.kl_div}[kind]
    return plain(job, lambda t: function(t, target.to(t.dtype) if not labelled else target, reduction=reduction),
                 [job.rand(*shape)])


def optimizer(job):
    c = job.case
    parameter = torch.nn.Parameter(job.rand(c.number("count")))
    parameter.grad = job.rand(c.number("count"))
    kind = c.word("kind", "adam")
    make = {"sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop, "adam": torch.optim.Adam,
            "adamw": torch.optim.AdamW}[kind]
    gpu = job.device != "cpu"
    options = {"foreach": True} if kind == "rmsprop" or not gpu else {"fused": True}
    if gpu and kind != "sgd":
        options["capturable"] = True
    if kind == "sgd":
        options["momentum"] = 0.9

    def prepare():
        step = make([parameter], lr=1e-6, **options).step

        def call():
            step()
            return parameter.detach()
        return call
    job.way("torch.optim " + ("foreach" if "foreach" in options else "fused"), prepare)
    return job


def grad_norm(job):
    c = job.case
    order = math.inf if c.word("kind", "euclidean") == "maximum" else 2.0
    tensors = [job.rand(c.number("count")) for _ in range(c.number("tensors", 1))]

    def norm_of_norms(*all_of_them):
        return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(list(all_of_them), order)), order)
    return plain(job, norm_of_norms, tensors, name="foreach_norm")


OPERATORS = {f.__name__: f for f in (
    gemm, quantized_gemm, conv, pool, attention, softmax, norm, rnn, activation, unary, binary, reduce, copy, where,
    pad, concat, embedding, dropout, loss, optimizer, grad_norm)}
REASONS = {
    "quantized_conv": "PyTorch has no convolution of bytes on GPUs",
    "quantize": "PyTorch's quantized tensors are another form",
    "dequantize": "PyTorch's quantized tensors are another form",
    "rotary": "PyTorch has no such operator", "one_hot": "PyTorch's has 64-bit integers",
    "grad_scale": "PyTorch has no such operator"}


def build(case, device):
    """The Job of a case, its operands on the device. Raises Absent, or whatever PyTorch does."""
    if case.op not in OPERATORS:
        raise Absent(REASONS.get(case.op, "no counterpart is written here"))
    torch.manual_seed(1)
    return OPERATORS[case.op](Job(case, device))
