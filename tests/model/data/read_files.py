#!/usr/bin/env python3
"""The reference implementation reads what the library writes.

    python3 tests/model/data/read_files.py COMMAND NEW OLD...

COMMAND (tests/model/checkpoint_files) writes NEW from each OLD: its layers "1" and "4.1" multiplied by 2 and counted
one more, all other tensors left. Needs the packages safetensors and numpy, and tests/python in PYTHONPATH.
"""
import subprocess
import sys

from safetensors import safe_open
from safetensors.numpy import load_file

import tap

command, new, *files = sys.argv[1:]
for old in files:
    with tap.part(old):
        subprocess.run([command, old, new], check=True, stdout=sys.stderr)
        before, after = load_file(old), load_file(new)
        tap.ok(set(before) == set(after), f"{len(after)} tensors, the same names")
        for name, tensor in before.items():
            layer, leaf = name.rsplit(".", 1)
            expected = tensor
            if layer in ("1", "4.1"):
                expected = tensor + 1 if leaf == "num_batches_tracked" else tensor * 2
            got = after.get(name)
            same = got is not None and got.dtype == expected.dtype and got.shape == expected.shape
            same = same and got.tobytes() == expected.tobytes()
            tap.ok(same, f"{name}: {tensor.dtype}{list(tensor.shape)}")
        with safe_open(new, "np") as file:
            tap.ok(file.metadata() == {"format": "pt"}, f"metadata {file.metadata()}")
tap.end()
