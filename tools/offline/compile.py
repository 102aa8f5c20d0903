"""Compiles a program for a target and gives its kernels, and what is wrong with them."""
import functools
import os
import re
import struct
import subprocess

import amd
import intel
import nvidia

# The functions of OpenCL whose rounding is the device's.
LOOSE_CALLS = re.compile(r'@_Z\d+(\w*(?:sqrt|divide|recip|pow|exp|log|mad))(?:[DSfUP]|v)')


class Tools:
    """The folder that install.sh has filled."""

    def __init__(self, folder):
        debian = os.path.join(os.path.abspath(folder), 'debian', 'usr')
        pypi = os.path.join(os.path.abspath(folder), 'pypi', 'nvidia')
        self.libraries = os.path.join(debian, 'lib', 'x86_64-linux-gnu')
        self.clang = os.path.join(debian, 'lib', 'llvm-19', 'bin', 'clang')
        self.libclc = os.path.join(debian, 'lib', 'clc', 'nvptx64--nvidiacl.bc')
        self.ocloc = os.path.join(debian, 'bin', 'ocloc')
        self.iga = os.path.join(debian, 'bin', 'iga64')
        self.ptxas = os.path.join(pypi, 'cuda_nvcc', 'bin', 'ptxas')
        self.nvdisasm = os.path.join(pypi, 'cu13', 'bin', 'nvdisasm')

    def run(self, command, **more):
        """Standard output and error; an exit status other than 0 is an error."""
        environment = dict(os.environ, LD_LIBRARY_PATH=self.libraries)
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              errors='replace', check=False, **more)
        if done.returncode != 0:
            said = (done.stderr + done.stdout).strip().splitlines()
            raise OSError('%s: exit status %d: %s' % (os.path.basename(command[0]),
                                                      done.returncode, ' / '.join(said[:3])))
        return done.stdout, done.stderr


class Program:
    """A text and its options, as the library writes them: PATH.cl and PATH.options."""

    def __init__(self, name, path):
        self.name = name
        self.source = path + '.cl'
        with open(self.source, encoding='utf-8') as file:
            self.text = file.read()
        with open(path + '.options', encoding='ascii') as file:
            self.options = tuple(file.read().split())
        # NVIDIA's own option, which its driver hands to ptxas.
        limit = [o.split('=')[1] for o in self.options if o.startswith('-cl-nv-maxrregcount=')]
        self.options = tuple(o for o in self.options if not o.startswith('-cl-nv-'))
        self.assembler = ['--maxrregcount', limit[-1]] if limit else []


def warnings_of(messages):
    """Warnings of clang or ocloc, the same one once."""
    # What is spilled has a limit of its own: isa.Kernel.stack.
    found = [text for text in re.findall(r'warning: (.*)', messages) if 'spilled around' not in text]
    return ['warning: ' + text for text in dict.fromkeys(found)]


# Once for all targets that have the same text and options.
@functools.cache
def front_end_code(tools, text, options):
    """LLVM's code as clang's front end leaves it."""
    code, _ = tools.run([tools.clang, '-x', 'cl', *options, '-target',
                         'amdgcn-amd-amdhsa', '-mcpu=gfx90a', '-nogpulib', '-Xclang',
                         '-disable-llvm-passes', '-S', '-emit-llvm', '-o', '-', '-'], input=text)
    return code


@functools.cache
def nvidia_ptx(tools, text, options):
    ptx, messages = tools.run([
        tools.clang, '-x', 'cl', *options, '-target', 'nvptx64-nvidia-nvcl', '-Xclang',
        '-target-cpu', '-Xclang', 'sm_70', '-O3', '-S', '-Wno-linker-warnings', '-Xclang',
        '-mlink-bitcode-file', '-Xclang', tools.libclc, '-o', '-', '-'], input=text)
    return ptx, warnings_of(messages)


def counted(text, where, patterns):
    """A fault for each kind of thing that is found: how many, and the first."""
    found = [(what, re.findall(pattern, text)) for what, pattern in patterns]
    return ['%s: %d of %s in %s' % (what, len(all_), all_[0], where) for what, all_ in found if all_]


def front_end_faults(tools, program):
    """
    What clang's front end lets later stages contract, or rounds as a device likes. Divisions and
    roots of doubles are rounded correctly by OpenCL's rules; the kernels that combine need them.
    """
    try:
        text = front_end_code(tools, program.text, program.options)
    except OSError as error:
        return ['not compiled: %s' % error]
    faults = counted(text, 'LLVM code', [
        ('contraction', r'llvm\.fmuladd|\bf\w+ (?:\w+ )*contract\b'),
        ('fast arithmetic', r'\bf\w+ (?:\w+ )*(?:fast|reassoc|arcp|afn|nnan)\b'),
        ('division', r'= (?:frem|fdiv (?:<\d+ x )?(?:float|half))\b')])
    calls = sorted(set(LOOSE_CALLS.findall(text)))
    if calls:
        faults.append('calls of ' + ', '.join(calls))
    return faults


def ptx_faults(text):
    """ptxas may contract what does not say how it rounds."""
    return counted(text, 'PTX', [
        ('contraction', r'\b(?:add|sub|mul|mad)\.(?:ftz\.)?f(?:32|64)\b'),
        ('division or root', r'\b(?:div|sqrt|rsqrt|rcp)\.(?!rn\.f64\b)[\w.]*f(?:32|64)\b')])


def spirv_faults(path):
    """Entry points without ContractionOff; divisions, roots and mad."""
    with open(path, 'rb') as file:
        words = struct.unpack('<%dI' % (os.path.getsize(path) // 4), file.read())
    entries, off, faults, doubles, at = {}, set(), [], set(), 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xffff
        if opcode == 15:
            name = struct.pack('<%dI' % (length - 3), *words[at + 3:at + length])
            entries[words[at + 2]] = name.split(b'\0')[0].decode()
        elif opcode == 16 and words[at + 2] == 31:
            off.add(words[at + 1])
        elif opcode == 22 and words[at + 2] == 64:
            doubles.add(words[at + 1])
        elif opcode in (136, 140, 141) and (opcode != 136 or words[at + 1] not in doubles):
            faults.append('division in SPIR-V')
        elif opcode == 12 and words[at + 4] in (42, 56, 61) and (
                words[at + 4] != 61 or words[at + 1] not in doubles):
            faults.append('mad or root in SPIR-V')
        at += max(length, 1)
    # These have no arithmetic of floats, and clang says nothing of them.
    none = ['add_slices', 'self_test_storage']
    none += [] if doubles else ['forward_combine', 'backward_combine']
    loose = [name for entry, name in entries.items() if entry not in off and name not in none]
    if loose:
        faults.append('contraction: allowed in ' + ', '.join(loose))
    return list(dict.fromkeys(faults))


def compile_nvidia(tools, target, program, out):
    ptx, faults = nvidia_ptx(tools, program.text, program.options)
    path = os.path.join(out, program.name + '.ptx')
    with open(path, 'w', encoding='ascii') as file:
        file.write(ptx)
    cubin = os.path.join(out, program.name + '.cubin')
    _, messages = tools.run([tools.ptxas, '-v', '-O3', '-arch=' + target.name, *program.assembler,
                             '-o', cubin, path])
    kernels = nvidia.resources(messages)
    sizes = nvidia.items(front_end_code(tools, program.text, program.options))
    for name, kernel in kernels.items():
        # Those of no size of their own are launched as single work-items.
        kernel.items = sizes.get(name, 64)
    if target.name == 'sm_70':
        # PyPI's nvdisasm begins at sm_75.
        for kernel in kernels.values():
            kernel.disassembled = False
    else:
        text, _ = tools.run([tools.nvdisasm, '-c', cubin])
        nvidia.disassembly(text, kernels)
    return kernels, faults + ptx_faults(ptx)


def passes_barrier(kernel):
    """
    Whether the kernel's last store in front of its first barrier may be under way behind it. Loads and stores are
    counted together before RDNA, where only a store is waited for by vscnt.
    """
    texts = [i.text for i in kernel.code]
    before = texts[:next(at for at, i in enumerate(kernel.code) if i.kind == 'barrier')]
    store = max(at for at, text in enumerate(before) if text.startswith('global_store'))
    counter = 'vscnt' if any('vscnt' in text for text in texts) else 'vmcnt(0)'
    return not any(counter in text for text in before[store:])


def amd_faults(kernels):
    """
    Divisions, roots and mad, which rounds twice. The self-test has a division of integers; those of
    doubles are what the compiler makes a correctly rounded one of. Also a store that the barrier of is_last_slice
    (cl/gpu/last_slice.cl) does not wait for.
    """
    faults = []
    for kernel in kernels.values():
        rough = [i.text for i in kernel.code
                 if re.match(r'(?!v_\w*f64)v_(?:div_|sqrt_|rsq_|rcp_f|ma[dc]\w*_f32)', i.text)]
        if rough and kernel.name != 'self_test':
            faults.append('division, root or mad in %s: %s' % (kernel.name, rough[0]))
        if kernel.name == 'self_test_slices' and passes_barrier(kernel):
            faults.append('a store passes the barrier in ' + kernel.name)
    return faults


def compile_amd(tools, target, program, out):
    wave = 'on' if target.lanes == 64 else 'off'
    names = ['opencl', 'ocml', 'ockl', 'oclc_isa_version_' + target.isa,
             'oclc_wavefrontsize64_' + wave, 'oclc_daz_opt_off', 'oclc_unsafe_math_off',
             'oclc_finite_only_off', 'oclc_correctly_rounded_sqrt_off', 'oclc_abi_version_500']
    libraries = []
    for name in names:
        path = os.path.join(tools.libraries, 'amdgcn', 'bitcode', name + '.bc')
        libraries += ['-Xclang', '-mlink-builtin-bitcode', '-Xclang', path]
    path = os.path.join(out, program.name + '.s')
    _, messages = tools.run([
        tools.clang, '-x', 'cl', *program.options, '-target', 'amdgcn-amd-amdhsa',
        '-mcpu=' + target.name, '-mcode-object-version=5', '-nogpulib', *libraries, '-O3', '-S',
        '-o', path, program.source])
    with open(path, encoding='utf-8') as file:
        text = file.read()
    kernels = amd.kernels_of(text)
    return kernels, warnings_of(messages) + amd_faults(kernels)


def sections(path):
    """The sections of an ELF file, 64 bits, by name."""
    with open(path, 'rb') as file:
        data = file.read()
    offset, = struct.unpack_from('<Q', data, 40)
    size, number, names = struct.unpack_from('<HHH', data, 58)
    headers = [struct.unpack_from('<IIQQQQ', data, offset + i * size) for i in range(number)]
    table = data[headers[names][4]:headers[names][4] + headers[names][5]]
    return {table[h[0]:table.index(b'\0', h[0])].decode(): data[h[4]:h[4] + h[5]]
            for h in headers}


def compile_intel(tools, target, program, out):
    device = {'dg2': 'dg2-g10'}.get(target.name, target.name)
    said, messages = tools.run([
        tools.ocloc, 'compile', '-file', program.source, '-device', device, '-options',
        ' '.join(program.options), '--format', 'zebin', '-output', program.name,
        '-output_no_suffix', '-out_dir', out])
    binary = sections(os.path.join(out, program.name))
    kernels = intel.resources(binary['.ze_info'].decode())
    for name, kernel in kernels.items():
        path = os.path.join(out, program.name + '.' + name)
        with open(path, 'wb') as file:
            file.write(binary['.text.' + name])
        text, _ = tools.run([tools.iga, '-d', '-p=' + target.isa, path])
        intel.code(text, kernel)
    return kernels, (warnings_of(said + messages) +
                     spirv_faults(os.path.join(out, program.name + '.spv')))


COMPILERS = {'nvidia': compile_nvidia, 'amd': compile_amd, 'intel': compile_intel}


def compile_program(tools, target, program, folder):
    """(kernels by name, faults). A tool that is missing or fails is a fault."""
    out = os.path.join(folder, target.name)
    os.makedirs(out, exist_ok=True)
    try:
        kernels, faults = COMPILERS[target.vendor](tools, target, program, out)
    except OSError as error:
        return {}, ['not compiled: %s' % error]
    for kernel in kernels.values():
        kernel.program = program.name
    return kernels, faults
