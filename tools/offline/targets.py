"""The targets that kernels are compiled for, and what a compute unit of each holds.

A unit is what the driver counts as a compute unit: an SM, a CU, and on Intel an execution unit
(EU, XVE), of which `group_units` share a work-group's local memory. `lanes` is the width of a warp
or wave; Intel's compiler chooses it for each kernel (0 here).
"""
from collections import namedtuple

Target = namedtuple('Target', 'name vendor lanes warps groups registers granule local reserved '
                    'group_units isa needed')

# registers: NVIDIA: of an SM, given out by warps, `granule` at a time. AMD: VGPRs of a SIMD's lane;
# `warps` are those of 4 SIMDs (2 on RDNA). Intel: threads of an EU; with 256 registers each, half.
# local: bytes that the groups of a unit (Intel: of `group_units` units) share; `reserved` is what
# the driver adds for each group. needed: KB in flight on a unit for the memory of a usual device of
# the target, bandwidth x latency / units.
TARGETS = {t.name: t for t in [
    Target('sm_70', 'nvidia', 32, 64, 32, 65536, 256, 96 << 10, 0, 1, '70', 7),
    Target('sm_80', 'nvidia', 32, 64, 32, 65536, 256, 164 << 10, 1024, 1, '80', 12),
    Target('sm_89', 'nvidia', 32, 48, 24, 65536, 256, 100 << 10, 1024, 1, '89', 4.7),
    Target('sm_90', 'nvidia', 32, 64, 32, 65536, 256, 228 << 10, 1024, 1, '90', 25),
    Target('sm_120', 'nvidia', 32, 48, 24, 65536, 256, 100 << 10, 1024, 1, '120', 7),
    Target('gfx906', 'amd', 64, 40, 16, 256, 4, 64 << 10, 0, 1, '906', 12),
    Target('gfx90a', 'amd', 64, 32, 16, 512, 8, 64 << 10, 0, 1, '90a', 12),
    Target('gfx942', 'amd', 64, 32, 16, 512, 8, 64 << 10, 0, 1, '940', 15),
    Target('gfx1030', 'amd', 32, 32, 16, 1024, 8, 64 << 10, 0, 1, '1030', 3.2),
    # Debian's device libraries end at gfx1036; what they say of a version is not used here.
    Target('gfx1100', 'amd', 32, 32, 16, 1536, 24, 64 << 10, 0, 1, '1030', 6),
    Target('skl', 'intel', 0, 7, 16, 128, 0, 64 << 10, 0, 8, '9', 0.5),
    Target('tgllp', 'intel', 0, 7, 16, 128, 0, 128 << 10, 0, 16, '12p1', 0.25),
    Target('dg2', 'intel', 0, 8, 32, 128, 0, 128 << 10, 0, 16, '12p71', 0.8),
    Target('pvc', 'intel', 0, 8, 32, 128, 0, 128 << 10, 0, 8, '12p72', 2.8),
]}


def traits(target):
    """What src/program/compiler_options.c goes by: an extension, the least sub-group, the capability."""
    if target.vendor == 'nvidia':
        return 'cl_nv_compiler_options', '32', target.isa[:-1]
    if target.vendor == 'intel':
        return 'cl_intel_required_subgroup_size', '16' if target.name == 'pvc' else '8', '0'
    return 'none', '0', '0'


def round_up(value, step):
    return -(-value // step) * step


def intel_local(size):
    """Local memory is given out in powers of two, from 1 KB on."""
    return 0 if size == 0 else max(1024, 1 << (size - 1).bit_length())


def resident_groups(target, kernel):
    """How many work-groups of a kernel are resident on a unit (Intel: on group_units of them)."""
    lanes = target.lanes or kernel.simd
    warps = -(-kernel.items // lanes)
    limits = [target.groups]
    if target.vendor == 'nvidia':
        per_warp = round_up(kernel.registers * 32, target.granule)
        limits += [target.registers // (per_warp * warps), target.warps // warps]
        local = round_up(kernel.local, 128) + target.reserved if kernel.local else 0
    elif target.vendor == 'amd':
        simds = 4 if lanes == 64 else 2
        waves = min(target.warps // simds,
                    target.registers // round_up(max(kernel.registers, 1), target.granule))
        limits = [waves * simds // warps]
        # Groups of one wave need no barrier, and are not counted.
        if warps > 1:
            limits.append(target.groups)
        local = round_up(kernel.local, 512)
    else:
        threads = target.warps * (1 if kernel.registers <= 128 else 0.5) * target.group_units
        limits.append(int(threads) // warps)
        local = intel_local(kernel.local)
    if local:
        limits.append(target.local // local)
    return max(min(limits), 1)


def resident_share(target, kernel):
    """Resident warps, of those that a unit can have."""
    lanes = target.lanes or kernel.simd
    warps = -(-kernel.items // lanes) * resident_groups(target, kernel)
    return warps / (target.warps * target.group_units)
