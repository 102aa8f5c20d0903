#!/usr/bin/env python3
"""The reference implementation reads what the library writes.

    python3 tests/model/data/read_files.py OLD NEW COMMAND...

COMMAND (tests/model/rewrite) writes NEW from OLD: the layers named on its command line multiplied by 2
and counted one more, all other tensors left. Needs the packages safetensors and numpy.
"""
import subprocess
import sys

from safetensors import safe_open
from safetensors.numpy import load_file

old, new, *command = sys.argv[1:]
layers = ["1", "4.1"]
subprocess.run([*command, old, new], check=True, stdout=subprocess.DEVNULL)
before, after = load_file(old), load_file(new)
count = 0


def ok(condition, what):
    global count
    count += 1
    print(f"{'ok' if condition else 'not ok'} {count} - {what}")


ok(set(before) == set(after), f"{len(after)} tensors, the same names")
for name, tensor in before.items():
    layer, leaf = name.rsplit(".", 1)
    if layer in layers:
        expected = tensor + 1 if leaf == "num_batches_tracked" else tensor * 2
    else:
        expected = tensor
    got = after.get(name)
    same = got is not None and got.dtype == expected.dtype and got.shape == expected.shape
    ok(same and got.tobytes() == expected.tobytes(), f"{name}: {tensor.dtype}{list(tensor.shape)}")
with safe_open(new, "np") as file:
    ok(file.metadata() == {"format": "pt"}, f"metadata {file.metadata()}")
print(f"1..{count}")
