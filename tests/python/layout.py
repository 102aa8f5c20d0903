"""Sizes, offsets and constants of the package's ctypes against the headers, by a C program.

Argument: a folder for files. Environment: srcdir, CC, OPENCL_CFLAGS.
"""

import ctypes
import os
import subprocess
import sys

import tap
from syncbn import _c

folder, include = sys.argv[1], os.environ.get("srcdir", ".") + "/include"
compiler = os.environ.get("CC", "cc").split() + os.environ.get("OPENCL_CFLAGS", "").split()

lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <syncbn.h>", "int main(void)", "{"]


def prints(key, value):
    lines.append(f'    printf("{key} %lld\\n", (long long)({value}));')


expected = {}
for name, kind in _c.STRUCTS.items():
    expected[f"sizeof {name}"] = ctypes.sizeof(kind)
    prints(f"sizeof {name}", f"sizeof({name})")
    for field, *_ in kind._fields_:
        expected[f"{name}.{field}"] = getattr(kind, field).offset
        expected[f"{name}.{field}, size"] = getattr(kind, field).size
        prints(f"{name}.{field}", f"offsetof({name}, {field})")
        prints(f"{name}.{field}, size", f"sizeof((({name} *)0)->{field})")
for name, value in _c.CONSTANTS.items():
    expected[name] = value
    prints(name, name)
lines += ["    return 0;", "}"]

with open(f"{folder}/layout.c", "w") as file:
    file.write("\n".join(lines) + "\n")
program = f"{folder}/layout"
subprocess.run([*compiler, f"-I{include}", f"{folder}/layout.c", "-o", program], check=True)
printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
found = dict(line.rsplit(" ", 1) for line in printed.splitlines())

for name in _c.STRUCTS:
    keys = [key for key in expected if key.split(",")[0].split(".")[0].split(" ")[-1] == name]
    differing = [key for key in keys if str(expected[key]) != found[key]]
    wrong = [f"{key}: {expected[key]} here, {found[key]} in C" for key in differing]
    tap.ok(len(keys) > 2 and not wrong, f"{name}: {len(keys)} sizes and offsets", "\n".join(wrong))
wrong = [name for name, value in _c.CONSTANTS.items() if str(value) != found[name]]
tap.ok(not wrong, f"{len(_c.CONSTANTS)} constants", wrong)
tap.end()
