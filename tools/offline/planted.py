"""Faults planted into small programs: the check must find each of them."""
import os

from compile import Program, compile_program, front_end_faults
from targets import TARGETS

HEAD = 'kernel void planted(global float *p, global const int *at, uint n) { '
# (what, source, target, a word of the fault that is to be found)
FAULTS = [
    ('a product beside a sum', HEAD + 'p[0] = p[1] * p[2] + p[3]; }', '', 'contraction'),
    ('a division', HEAD + 'p[0] = p[1] / p[2]; }', '', 'division'),
    ('a root', HEAD + 'p[0] = sqrt(p[1]); }', '', 'sqrt'),
    ('a division', HEAD + 'p[0] = p[1] / p[2]; }', 'sm_90', 'division'),
    ('a division', HEAD + 'p[0] = p[1] / p[2]; }', 'gfx90a', 'division'),
    ('a division', HEAD + 'p[0] = p[1] / p[2]; }', 'dg2', 'division'),
    ('a loop that is not unrolled',
     HEAD + '_Pragma("unroll 4") for (uint i = 0; i < n; ++i) { p[i] = p[i + 1]; '
     'barrier(CLK_LOCAL_MEM_FENCE); } }', 'gfx90a', 'unrolled'),
    ('an error', HEAD + 'undeclared(); }', 'gfx90a', 'not compiled'),
    ('an error', HEAD + 'undeclared(); }', 'dg2', 'not compiled'),
]
STACK = (HEAD + 'float all[256]; p += get_global_id(0); at += get_global_id(0); '
         'for (uint i = 0; i < 256; ++i) all[i] = p[i]; '
         'for (uint i = 0; i < n; ++i) all[at[i] & 255] += 1.0f; '
         'for (uint i = 0; i < 256; ++i) p[i] = all[i]; }')


def program(folder, number, source):
    name = 'planted%d' % number
    path = os.path.join(folder, name)
    with open(path + '.cl', 'w', encoding='ascii') as file:
        file.write(source + '\n')
    with open(path + '.options', 'w', encoding='ascii') as file:
        file.write('-cl-std=CL1.2')
    return Program(name, path)


def check(tap, tools, targets, folder):
    """The faults of the chosen targets, and of the front end."""
    for number, (what, source, target, word) in enumerate(FAULTS):
        if target and target not in targets:
            continue
        planted = program(folder, number, source)
        if target:
            _, found = compile_program(tools, TARGETS[target], planted, folder)
        else:
            found = front_end_faults(tools, planted)
        tap.line('planted, found: %s (%s)' % (what, target or 'front end'),
                 [] if any(word in fault for fault in found) else ['found only: %s' % found])
    for target in targets:
        kernels, found = compile_program(tools, TARGETS[target],
                                         program(folder, len(FAULTS), STACK), folder)
        stack = kernels['planted'].stack if kernels else 0
        tap.line('planted, found: an array in memory (%s)' % target,
                 [] if stack > 0 else ['%d bytes, %s' % (stack, found)])
