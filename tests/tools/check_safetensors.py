#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_safetensors.py COPY: files of Python's safetensors package are read by Husk, and Husk's by the package.

COPY is the program tests/tools/copy_safetensors.c. Ends with 77 where the package or NumPy is missing.
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

DTYPES = ["float32", "float16", "float64", "int8", "uint8", "int32", "int64"]
FOREIGN = ["bool", "int16", "uint16", "uint32", "uint64"]
SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 0, 4), (2, 3, 4, 5), (1, 2, 1, 3, 1, 2, 1, 2)]


def refused(path, change):
    """Whether the package refuses the file after change(bytes)."""
    with open(path, "rb") as file:
        data = change(file.read())
    with open(path + ".bad", "wb") as file:
        file.write(data)
    try:
        safetensors.numpy.load_file(path + ".bad")
    except Exception:
        return True
    return False


def main(copy):
    draw = numpy.random.default_rng(5)
    tensors = {}
    for dtype in DTYPES + FOREIGN:
        for shape in SHAPES:
            name = f"Größe \"{dtype}\"\t{list(shape)}"
            tensors[name] = numpy.asarray(draw.random(shape) * 100, dtype=dtype)
    metadata = {"format": "np", "": "leer", "épochs": "\\ \"3\"\n\U0001f600"}
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = os.path.join(folder, "theirs"), os.path.join(folder, "ours")
        safetensors.numpy.save_file(tensors, theirs, metadata)
        result = subprocess.run([copy, theirs, ours], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        left_out = result.stdout.count("left out: ")
        assert left_out == len(FOREIGN) * len(SHAPES), result.stdout
        wanted = {name: value for name, value in tensors.items() if str(value.dtype) in DTYPES}
        found = safetensors.numpy.load_file(ours)
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            assert found[name].dtype == value.dtype and found[name].shape == value.shape, name
            assert found[name].tobytes() == value.tobytes(), name
        with safetensors.safe_open(ours, "np") as file:
            said = file.metadata()
        assert all(len(said.pop(key)) == 32 for key in ("husk.header", "husk.xxh3"))
        assert said == metadata, said

        # Husk's own again: the same bytes but for the checksums' places, which the copy refuses to be given.
        result = subprocess.run([copy, ours, theirs], capture_output=True, text=True)
        assert result.returncode == 2 and "the writer's" in result.stderr, result.stderr
        # And it is a file that the package looks at: less or more is refused.
        assert refused(ours, lambda data: data[:-1])
        assert refused(ours, lambda data: data + b"x")
    print(f"{len(wanted)} tensors of {len(DTYPES)} dtypes read and written; {left_out} of other dtypes read")


main(sys.argv[1])
