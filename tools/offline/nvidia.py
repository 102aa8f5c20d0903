"""NVIDIA: ptxas -v and nvdisasm -c."""
import re

from isa import Instruction, Kernel, element_bytes

REGISTER = re.compile(r'\bR(\d+)(\.64)?\b')
WIDTHS = {'.128': 16, '.64': 8, '.U16': 2, '.U8': 1}


def resources(log):
    """Kernels by name, from the messages of ptxas -v."""
    kernels = {}
    kernel = None
    for line in log.splitlines():
        found = re.search(r"Compiling entry function '(\w+)'", line)
        if found:
            kernel = kernels[found[1]] = Kernel(found[1])
        found = re.search(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes', line)
        if found and kernel:
            kernel.stack, kernel.spills = int(found[1]), int(found[2]) + int(found[3])
        found = re.search(r'Used (\d+) registers', line)
        if found and kernel:
            kernel.registers = int(found[1])
            found = re.search(r'(\d+) bytes smem', line)
            kernel.local = int(found[1]) if found else 0
    return kernels


def items(code):
    """Work-items of each kernel's groups, from LLVM's code: its PTX does not say them."""
    values = dict(re.findall(r'^(!\d+) = !\{(i32 \d+, i32 \d+, i32 \d+)\}', code, re.M))
    sizes = {}
    for name, size in re.findall(r'^define .*?@(\w+)\(.*!reqd_work_group_size (!\d+)', code, re.M):
        x, y, z = (int(n) for n in re.findall(r'i32 (\d+)', values[size]))
        sizes[name] = x * y * z
    return sizes


def registers(text):
    return frozenset(register for number, wide in REGISTER.findall(text)
                     for register in range(int(number), int(number) + (2 if wide else 1)))


def instruction(text):
    body = re.sub(r'^@!?U?P\d+ ', '', text)
    opcode, _, operands = body.partition(' ')
    name = opcode.split('.')[0]
    size = next((width for end, width in WIDTHS.items() if end in opcode), 4)
    if name in ('LDG', 'LD'):
        first, _, rest = operands.partition(',')
        base = re.match(r'R(\d+)', first)
        into = tuple(range(int(base[1]), int(base[1]) + max(size // 4, 1))) if base else ()
        return Instruction(text, 'load', element_bytes(size), into, registers(rest))
    kind = {'STG': 'store', 'ST': 'store', 'LDS': 'local', 'STS': 'local', 'LDL': 'private',
            'STL': 'private', 'BAR': 'barrier', 'BRA': 'branch'}.get(name, 'other')
    found = re.search(r'\((\.L_\w+)\)', operands)
    return Instruction(text, kind, element_bytes(size) if kind == 'store' else 0, (),
                       registers(operands), 0, found[1] if found else '')


def disassembly(text, kernels):
    """Fills the kernels' code."""
    kernel = None
    for line in text.splitlines():
        found = re.match(r'\.text\.(\w+):', line)
        if found:
            kernel = kernels.get(found[1])
        found = re.match(r'(\.L_\w+):', line)
        if found and kernel:
            kernel.labels[found[1]] = len(kernel.code)
        found = re.match(r'\s+/\*[0-9a-f]+\*/\s+(.*?) *;', line)
        if found and kernel:
            kernel.code.append(instruction(found[1].strip()))
    for kernel in kernels.values():
        while kernel.code and kernel.code[-1].text.startswith('NOP'):
            kernel.code.pop()
