"""The package's ctypes and constants against the headers. Environment: srcdir, CC, OPENCL_CFLAGS."""

import ctypes
import os
import subprocess
import sys

import tap
from syncbn import _c

folder, include = sys.argv[1], os.environ.get("srcdir", ".") + "/include"
compiler = os.environ.get("CC", "cc").split() + os.environ.get("OPENCL_CFLAGS", "").split()

# Of each struct, and of the constants: name: value here, expression in C
groups = {"constants": {name: (value, name) for name, value in _c.CONSTANTS.items()}}
for name, kind in _c.STRUCTS.items():
    made = groups[name] = {f"sizeof {name}": (ctypes.sizeof(kind), f"sizeof({name})")}
    for field, *_ in kind._fields_:
        place = getattr(kind, field)
        made[f"{name}.{field}"] = place.offset, f"offsetof({name}, {field})"
        made[f"{name}.{field}, size"] = place.size, f"sizeof((({name} *)0)->{field})"

with open(f"{folder}/layout.c", "w") as file:
    file.write("#include <stddef.h>\n#include <stdio.h>\n#include <syncbn.h>\nint main(void)\n{\n")
    for made in groups.values():
        for key, (_, value) in made.items():
            print(f'    printf("{key} %lld\\n", (long long)({value}));', file=file)
    print("    return 0;\n}", file=file)
program = f"{folder}/layout"
subprocess.run([*compiler, f"-I{include}", f"{folder}/layout.c", "-o", program], check=True)
printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
found = dict(line.rsplit(" ", 1) for line in printed.splitlines())

for name, made in groups.items():
    differing = [(key, here) for key, (here, _) in made.items() if str(here) != found[key]]
    wrong = [f"{key}: {here} here, {found[key]} in C" for key, here in differing]
    tap.ok(len(made) > 2 and not wrong, f"{name}: {len(made)} values", "\n".join(wrong))
tap.end()
