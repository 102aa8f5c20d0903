"""Intel: .ze_info of a binary of ocloc, and the disassembly of iga64."""
import re

from isa import Instruction, Kernel, element_bytes

RANGE = re.compile(r'\br(\d+)\b')


def resources(info):
    """Kernels by name, from the text of .ze_info."""
    kernels = {}
    info = info.split('kernels_misc_info:')[0]
    for part in re.split(r'^  - name: +', info, flags=re.M)[1:]:
        name = part.split()[0]
        values = dict(re.findall(r'^ +(\w+): +(\d+)$', part, re.M))
        sizes = re.search(r'required_work_group_size: \[ (\d+), (\d+), (\d+) \]', part)
        # Scratch is given for a hardware thread of `simd_size` items, private memory for an item.
        simd = int(values['simd_size'])
        memory = [int(size) // (simd if kind == 'scratch' else 1) for kind, size in re.findall(
            r'- type: +(scratch|global)\n +usage: +\w+_space\n +size: +(\d+)', part)]
        kernels[name] = Kernel(
            name, items=int(sizes[1]) * int(sizes[2]) * int(sizes[3]) if sizes else 64,
            registers=int(values['grf_count']), simd=simd, local=int(values.get('slm_size', 0)),
            stack=sum(memory), spills=int(values.get('spill_size', 0)))
    return kernels


def message(text, comment):
    """The kind of memory that a send goes to."""
    if 'barrier' in comment:
        return 'barrier'
    descriptor = re.search(r'0x([0-9A-Fa-f]+) +\{|0x([0-9A-Fa-f]+) *$', text)
    surface = int((descriptor[1] or descriptor[2])[-2:], 16) if descriptor else 0
    if '.slm' in text or 'slm' in comment or ('hdc' in comment and surface == 0xfe):
        return 'local'
    if 'ss[a0' in comment or 'scratch' in comment:
        return 'private'
    if 'load' in comment or 'read' in comment:
        # Constants and arguments: blocks that the whole thread shares.
        return 'other' if 'block' in comment or re.search(r'd32x\d+t', comment) else 'load'
    return 'store' if 'store' in comment or 'write' in comment else 'other'


def width_of(comment):
    found = re.search(r'\.d(\d+)(?:x(\d+))?', comment)
    if found:
        return int(found[1]) // 8 * int(found[2] or 1)
    found = re.search(r'with ([xyzw]+)', comment)
    return 4 * len(found[1]) if found else 4


def instruction(line):
    text, _, comment = line.partition('//')
    text = text.strip()
    body = re.sub(r'^\([^)]*\) +', '', text)
    opcode = body.split()[0]
    numbers = [int(n) for n in RANGE.findall(body)]
    if opcode.startswith('send'):
        kind = message(text, comment)
        filled = re.search(r'rd:(\d+)', comment)
        first = re.match(r'send\S* +\([^)]*\) +r(\d+)', body)
        if kind == 'load' and first:
            into = range(int(first[1]), int(first[1]) + int(filled[1]))
            return Instruction(text, kind, element_bytes(width_of(comment)), tuple(into),
                               frozenset(numbers[1:]))
        size = element_bytes(width_of(comment)) if kind == 'store' else 0
        return Instruction(text, kind, size, (), frozenset(numbers))
    labels = re.findall(r'\bL\d+\b', body)
    if opcode.split('.')[0] in ('jmpi', 'goto', 'while', 'brd', 'brc'):
        return Instruction(text, 'branch', target=min(labels, key=lambda l: int(l[1:]), default=''))
    return Instruction(text, uses=frozenset(numbers))


def code(text, kernel):
    """A thread's instruction is for as many work-items as its execution size says, and takes the
    hardware as long as one for 8 at least."""
    for line in text.splitlines():
        found = re.match(r'(L\d+):', line)
        if found:
            kernel.labels[found[1]] = len(kernel.code)
        elif line.strip() and not line.startswith('//'):
            found = re.search(r'\((\d+)\|M', line)
            size = int(found[1]) if found else 1
            parsed = instruction(line)
            parsed.weight = max(size, 8) / kernel.simd
            parsed.bytes *= min(size / kernel.simd, 1)
            kernel.code.append(parsed)
