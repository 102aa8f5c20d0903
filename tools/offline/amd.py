"""AMD: the assembly that clang writes, with its metadata."""
import re

from isa import Instruction, Kernel, element_bytes

WIDTHS = {'dwordx2': 8, 'dwordx3': 12, 'dwordx4': 16, 'b64': 8, 'b96': 12, 'b128': 16, 'ubyte': 1,
          'ushort': 2, 'u16': 2, 'u8': 1, 'sbyte': 1, 'sshort': 2}


def instruction(text):
    opcode, _, operands = text.partition(' ')
    if opcode == 's_waitcnt':
        found = re.search(r'vmcnt\((\d+)\)', operands)
        if found:
            return Instruction(text, 'wait', outstanding=int(found[1]))
        return Instruction(text)
    if opcode.startswith(('s_cbranch', 's_branch')):
        return Instruction(text, 'branch', target=operands.strip())
    if opcode == 's_barrier':
        return Instruction(text, 'barrier')
    size = next((width for end, width in WIDTHS.items() if opcode.endswith(end)), 4)
    if opcode.startswith(('global_load', 'flat_load')):
        return Instruction(text, 'load', element_bytes(size))
    if opcode.startswith(('global_store', 'flat_store')):
        return Instruction(text, 'store', element_bytes(size))
    if opcode.startswith(('scratch_', 'buffer_load', 'buffer_store')):
        return Instruction(text, 'private')
    return Instruction(text, 'local' if opcode.startswith('ds_') else 'other')


def code(text, kernels):
    kernel = None
    for line in text.splitlines():
        line = line.split(';')[0].rstrip()
        found = re.match(r'(\.?\w+):$', line)
        if found and found[1] in kernels:
            kernel = kernels[found[1]]
        elif found and kernel:
            kernel.labels[found[1]] = len(kernel.code)
        elif kernel and re.match(r'\t[a-z]\w+( |$)', line):
            kernel.code.append(instruction(line.strip()))
            if line.strip() == 's_endpgm':
                kernel = None


def kernels_of(text):
    """Kernels by name, from an assembly file."""
    kernels = {}
    metadata = text[text.index('amdhsa.kernels:'):].split('\namdhsa.')[0]
    for part in re.split(r'^  - ', metadata, flags=re.M)[1:]:
        values = dict(re.findall(r'^ *\.(\w+): +(\S+)$', part, re.M))
        name = values['name']
        sizes = re.search(r'\.reqd_workgroup_size:\s+- (\d+)\s+- (\d+)\s+- (\d+)', part)
        kernels[name] = Kernel(
            name, items=int(sizes[1]) * int(sizes[2]) * int(sizes[3]) if sizes else 64,
            registers=int(values['vgpr_count']), stack=int(values['private_segment_fixed_size']),
            # Scalar registers are spilled to vector registers, which costs no memory.
            spills=int(values['vgpr_spill_count']),
            local=int(values['group_segment_fixed_size']))
    code(text, kernels)
    return kernels
