#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_checkpoint.py PROGRAM: Python's safetensors package reads a checkpoint of Husk's, and Husk weights of its.

PROGRAM is tests/train/test_checkpoint.c. Ends with 77 where the package or NumPy is missing.
"""
import os
import subprocess
import sys
import tempfile

# Where ./run test --tier train puts the package; one that is installed comes first.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "python"))
try:
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as missing:
    print(f"skipped: {missing}; ./run test --tier train fetches it")
    sys.exit(77)

SHAPES = {"conv.weight": (8, 1, 3, 3), "bn.weight": (8,), "bn.bias": (8,), "bn.running_mean": (8,),
          "bn.running_var": (8,), "fc.weight": (10, 128), "fc.bias": (10,)}
STATISTICS = ["bn.running_mean", "bn.running_var"]


def run(*arguments):
    result = subprocess.run(arguments, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, back = (os.path.join(folder, name) for name in ("ours", "theirs", "back"))
        run(program, "--train", ours, "5")
        tensors = safetensors.numpy.load_file(ours)
        with safetensors.safe_open(ours, "np") as file:
            metadata = file.metadata()
        weights = {name: value for name, value in tensors.items() if not name.startswith("husk.")}
        assert {name: value.shape for name, value in weights.items()} == SHAPES
        states = {f"husk.optimizer.{which}.{name}": shape for which in ("first", "second")
                  for name, shape in SHAPES.items() if name not in STATISTICS}
        assert tensors.keys() == weights.keys() | states.keys() | {"husk.rate"}
        for name, shape in states.items():
            assert tensors[name].shape == shape and tensors[name].dtype == numpy.float32, name
            assert numpy.isfinite(tensors[name]).all() and tensors[name].any(), name
        assert tensors["husk.rate"] == numpy.float32(0.01)
        wanted = {"husk.updates": "5", "husk.batches": "5", "husk.optimizer": "adam", "format": "pt"}
        assert wanted.items() <= metadata.items(), metadata

        draw = numpy.random.default_rng(3)
        other = {name: draw.random(shape, numpy.float32) for name, shape in SHAPES.items()}
        safetensors.numpy.save_file(other, theirs)
        run(program, "--weights", theirs, back)
        found = safetensors.numpy.load_file(back)
        assert found.keys() == other.keys()
        assert all(found[name].tobytes() == other[name].tobytes() for name in other)

        other["fc.bias"] = other["fc.bias"][:9].copy()
        safetensors.numpy.save_file(other, theirs)
        result = subprocess.run([program, "--weights", theirs, back], capture_output=True, text=True)
        assert result.returncode != 0 and "fc.bias: F32 [9], for F32 [10]" in result.stdout + result.stderr
    print(f"{len(weights)} parameters and statistics and {len(states)} states read; weights of Python's loaded")


main(sys.argv[1])
