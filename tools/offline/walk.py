"""How each kernel's source walks over a shape: to be changed with the kernels of cl/.

From a plan of the launch plan (tools/offline/library.c) and the shape comes a model.Walk. A fusion with
a residual loads it in forward_apply, stores its gradient in backward_apply, and has a byte of a mask for
every four elements.
"""
import re
from dataclasses import dataclass

from model import Walk

BLOCK, LANES = 256, 16


@dataclass
class Shape:
    samples: int
    channels: int
    plane: int
    channels_last: bool

    @property
    def elements(self):
        return self.samples * self.channels * self.plane


def shape_of(problem):
    numbers = dict(re.findall(r'(mb|ic|id|ih|iw|il)(\d+)', problem.split(',')[0]))
    plane = 1
    for extent in ('id', 'ih', 'iw', 'il'):
        plane *= int(numbers.get(extent, 1))
    return Shape(int(numbers['mb']), int(numbers['ic']), plane, ',last' in problem)


def program_of(kernel_name, shape):
    """The program that has a kernel of a pass, without its variant."""
    if 'apply' in kernel_name:
        return 'apply'
    last = shape.channels_last or shape.plane == 1
    return ('last_' if last else '') + kernel_name.split('_')[0]


def ceil(a, b):
    return -(-a // b)


def words(name):
    """int64s of an accumulator."""
    return 8 if name.startswith('forward') else 9


def tensors_of(kernel):
    """How many a kernel loads and how many it stores."""
    is_backward, applies = kernel.name.startswith('backward'), 'apply' in kernel.name
    more = applies and 'residual' in kernel.program
    return 1 + is_backward + (more and not is_backward), applies + (more and is_backward)


def element_size(kernel):
    return 2 if kernel.program.endswith('f16') else 4


def bytes_of(kernel, shape):
    """Of tensors, and of the mask."""
    has_mask = 'residual' in kernel.program and ('apply' in kernel.name or
                                                 kernel.name.startswith('backward'))
    return (element_size(kernel) * sum(tensors_of(kernel)) + has_mask / 4) * shape.elements


# src/program/kernel_constants.h
ITEMS, LOADS, PARTS, SMALL_PLANE, SLICE_WORDS = 256, 16, 4, 64, 16


def reduce_planes(kernel, shape, plan, steps):
    """A round is a batch of 64 blocks, in turns, of which each loads what the next one sums. None is
    summed again, here or below: that takes a poor pivot."""
    tensors, _ = tensors_of(kernel)
    tasks = min(plan['per_slice'], shape.samples * ceil(shape.plane, BLOCK)) * plan['strip']
    batch, turn = ITEMS // PARTS, ITEMS // LANES * LOADS // steps
    rounds = ceil(tasks, batch)
    return Walk(groups=plan['groups'], rounds=rounds, runs=ceil(tasks, turn) / rounds,
                run_length=LOADS, tensors=tensors, size=element_size(kernel),
                local=LANES + 2 * 5, end=1, sweeps=True, bytes=bytes_of(kernel, shape),
                more_bytes=plan['slices'] * shape.channels * words(kernel.name) * 8)


def reduce_rows(kernel, shape, plan):
    """A round is a run of rows of each item: 16, or 8 of each tensor."""
    tensors, _ = tensors_of(kernel)
    run = LOADS // tensors
    units = min(plan['per_slice'], shape.samples)
    return Walk(groups=plan['groups'], rounds=ceil(units * plan['strip'], ITEMS * run),
                run_length=run, tensors=tensors, size=element_size(kernel), integers=0, local=4 * words(kernel.name), end=1,
                bytes=bytes_of(kernel, shape),
                more_bytes=plan['slices'] * shape.channels * words(kernel.name) * 8)


def apply(kernel, shape, plan):
    tensors, stored = tensors_of(kernel)
    return Walk(groups=plan['groups'], run_length=shape.elements / plan['groups'] / kernel.items,
                single=True, tensors=tensors, stored=stored, size=element_size(kernel), integers=0,
                bytes=bytes_of(kernel, shape))


def add_slices(name, shape, plan):
    """Behind a reduction of several slices."""
    parts = ITEMS // SLICE_WORDS
    return Walk(groups=ceil(shape.channels * words(name), SLICE_WORDS),
                run_length=2 * ceil(plan['slices'], parts), integers=0, local=2 * 4,
                more_bytes=plan['slices'] * shape.channels * words(name) * 8)


REDUCTIONS = {'large_planes': lambda *a: reduce_planes(*a, BLOCK // LANES),
              'small_planes': lambda *a: reduce_planes(*a, SMALL_PLANE // LANES),
              'rows': reduce_rows}


def walk_of(kernel, shape, plan):
    if 'apply' in kernel.name:
        return apply(kernel, shape, plan)
    return REDUCTIONS[kernel.name.split('reduce_')[1]](kernel, shape, plan)
