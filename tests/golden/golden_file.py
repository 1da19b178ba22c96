# SPDX-License-Identifier: MIT
"""Golden vectors as files: tests/golden/FAMILY.safetensors, which tests/support/golden_table.c reads.

A file has tables, a table has cases, and a case has parameters and arrays. The arrays are tensors of F64,

    TABLE/NNN/FIELD       or, of a list of arrays, TABLE/NNN/FIELD.N

and all else is metadata:

    TABLE/cases           how many cases the table has: NNN is 000, 001 ...
    TABLE/made by         the script and the library
    TABLE/NNN/FIELD       the case's name; a parameter: numbers or names of C's constants, blanks between them;
                          of an array, or one of a list: "none", the case has none; of a list: how many it has

Everything is sorted by name, so the same vectors make the same bytes.
"""
import json
import math
import os
import struct

# FAMILY: TABLE: the fields, in the order in which the scripts give them to row(). A parameter that a case leaves out is
# zero; an array that it has not is None.
FAMILIES = {
    "attention": {
        "attention": "name params q k v is_boolean mask y log_sum_exp dy dq dk dv",
        "rotary": "name params x positions cosines sines y dy dx",
    },
    "conv": {
        "conv": "name params x w bias y",
        "conv_backward": "name params x w dy dx dw dbias",
        "conv_transpose": "name params x w bias y",
        "onnx_conv_transpose": "name params x w bias y",
    },
    "elementwise": {
        "activation": "name params x y",
        "activation_backward": "name params x y dy dx",
        "binary": "name params a b y dy da db",
        "dropout": "name params x y dy dx",
        "onnx_unary": "name params x y",
        "unary": "name params x y dy dx",
        "where": "name condition a b y dy da db",
    },
    "gemm": {
        "gemm": "name params alpha beta a b bias c out",
        "gemm_backward": "name params alpha beta a b bias c dy da db dbias dc",
    },
    "layout": {
        "concat": "name params inputs y dy gradients",
        "copy": "name from to x y",
        "onnx_concat": "name params a b y",
        "onnx_pad": "name params x y",
        "pad": "name params x y dy dx",
        "resize": "name params x y dy dx",
    },
    "lookup": {
        "embedding": "name params table indices y dy dtable",
        "one_hot": "name params labels y",
        "onnx_one_hot": "name params labels y",
    },
    "loss": {
        "loss": "name params target_dtype x target weight positive_weight loss dloss dx",
        "onnx_loss": "name params x labels weight y",
    },
    "norm": {
        "norm": "name params x scale bias running_mean running_variance y mean rstd running_mean_after "
                "running_variance_after dy dx dscale dbias",
        "onnx_norm": "name params x scale bias mean variance y after",
    },
    "optimizer": {
        "grad_norm": "name params tensors norm clipped",
        "grad_scale": "name params by found before after",
        "onnx_optimizer": "name params before gradients after",
        "optimizer": "name params before gradients after",
        "optimizer_scaled": "name params scale before gradients skips after",
    },
    "pool": {
        "onnx_pool": "name params x y indices",
        "pool": "name params x y indices",
        "pool_backward": "name params x dy dx",
    },
    "quantized": {
        "onnx_quantize": "name params x scale zero y back",
        "quantize": "name params is_unsigned x scale zero y back",
        "quantized_conv": "name params x_quantization y_quantization x_dtype y_dtype x w scale bias y",
        "quantized_gemm": "name params a_quantization c_quantization a_dtype c_dtype a b scale bias c",
    },
    "rate": {
        "plateau": "params values rates",
        "rate": "params milestones rates",
    },
    "reduce": {
        "onnx_reduce": "name params x y",
        "reduce": "name params x y dy dx",
    },
    "rnn": {
        "rnn": "name params x lengths h0 c0 weights y h_n c_n",
        "rnn_backward": "name params x lengths h0 c0 weights d_weights dy dh_n dc_n dx dh0 dc0",
    },
    "softmax": {
        "onnx_softmax": "name params x y",
        "softmax": "name params x y",
        "softmax_backward": "name params x dy dx",
    },
}


class Array:
    """A shape and its numbers, the last dimension fastest."""

    def __init__(self, shape, values):
        self.shape = [int(extent) for extent in shape]
        self.values = [math.nan if math.isnan(value) else float(value) for value in values]  # a NaN has no sign
        assert len(self.values) == math.prod(self.shape)


def rounded(value):
    """To 13 digits, finer than the tests look: those behind them may be others on another machine."""
    return value if len(repr(value)) <= 9 else float("%.13g" % value)


def params(**fields):
    """A struct's fields; those that are None are zero."""
    return {name: value for name, value in fields.items() if value is not None}


def row(*parts):
    """A case: the values of its table's fields."""
    return parts


def text(value):
    if isinstance(value, (tuple, list)):
        return " ".join(text(each) for each in value)
    if isinstance(value, bool):
        return str(int(value))
    assert isinstance(value, (str, int, float)), value
    return value if isinstance(value, str) else repr(value)


def add_field(tensors, metadata, key, value):
    if value is None:
        metadata[key] = "none"
    elif isinstance(value, Array):
        tensors[key] = (value.shape, struct.pack(f"<{len(value.values)}d", *value.values))
    elif isinstance(value, dict):
        for name, part in value.items():
            metadata[f"{key}.{name}"] = text(part)
    elif isinstance(value, list):
        metadata[key] = str(len(value))
        for i, part in enumerate(value):
            add_field(tensors, metadata, f"{key}.{i}", part)
    else:
        metadata[key] = text(value)


def read_file(path):
    """{name: (shape, bytes)} and the metadata."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__")
    return {name: (tensor["shape"], data[slice(*tensor["data_offsets"])]) for name, tensor in header.items()}, metadata


def write_file(path, tensors, metadata):
    header, offset = {"__metadata__": metadata}, 0
    for name, (shape, data) in sorted(tensors.items()):
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    head = json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + b"".join(data for _, (_, data) in sorted(tensors.items())))


def write_tables(folder, made_by, tables):
    """Put {table: cases} into their families' files. Tables that are there of other scripts stay as they are."""
    assert not set(tables) - {name for family in FAMILIES.values() for name in family}
    for family, layouts in FAMILIES.items():
        mine = [name for name in layouts if name in tables]
        if not mine:
            continue
        path = os.path.join(folder, family + ".safetensors")
        tensors, metadata = read_file(path) if os.path.exists(path) else ({}, {})
        tensors, metadata = ({key: value for key, value in part.items() if key.split("/")[0] not in mine}
                             for part in (tensors, metadata))
        for name in mine:
            fields = layouts[name].split()
            metadata[f"{name}/cases"], metadata[f"{name}/made by"] = str(len(tables[name])), made_by
            for i, case in enumerate(tables[name]):
                assert len(case) == len(fields), (name, case[0])
                for field, value in zip(fields, case):
                    add_field(tensors, metadata, f"{name}/{i:03}/{field}", value)
            print(f"{path}: {name}, {len(tables[name])} cases")
        write_file(path, tensors, metadata)
