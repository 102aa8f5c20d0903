"""How each kernel's source walks over a shape: to be changed with the kernels of cl/.

From a plan of the launch plan (tools/offline/library.c) and the shape comes a model.Walk.
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

    @property
    def elements(self):
        return self.samples * self.channels * self.plane

    @property
    def blocks(self):
        return -(-self.plane // BLOCK)


def shape_of(problem):
    numbers = dict(re.findall(r'(mb|ic|id|ih|iw|il)(\d+)', problem.split(',')[0]))
    plane = 1
    for extent in ('id', 'ih', 'iw', 'il'):
        plane *= int(numbers.get(extent, 1))
    return Shape(int(numbers['mb']), int(numbers['ic']), plane)


def ceil(a, b):
    return -(-a // b)


def words(name):
    """int64s of an accumulator."""
    return 8 if name.startswith('forward') else 9


def reduce_nchw(name, shape, plan):
    tensors = 1 if name.startswith('forward') else 2
    single = plan['strip'] == 1
    blocks = plan['per_slice'] if single else plan['strip'] * shape.blocks
    batch = min(blocks, 64)
    length = min(shape.plane, BLOCK)
    return Walk(groups=plan['groups'], rounds=ceil(blocks, 64) * (1 if single else plan['per_slice']),
                runs=ceil(batch, 4), run_length=length / LANES, single=True, tensors=tensors,
                latencies=1, hits=LANES - 1, local=words(name) * 64 / plan['strip'], end=2,
                bytes=4 * tensors * shape.elements,
                more_bytes=plan['slices'] * shape.channels * words(name) * 16)


def reduce_nhwc(name, shape, plan):
    tensors = 1 if name.startswith('forward') else 2
    length = min(shape.plane, BLOCK)
    # A round is 8 blocks, of which each of 8 rows of work-items adds one.
    return Walk(groups=plan['groups'], rounds=ceil(plan['per_slice'], 8),
                runs=8 * ceil(min(length, LANES), 8), run_length=ceil(length, LANES), single=True,
                tensors=tensors, latencies=8, meetings=8, local=words(name) * 8, end=2,
                bytes=4 * tensors * shape.elements,
                more_bytes=plan['slices'] * shape.channels * words(name) * 16)


def apply(name, shape, plan, items):
    tensors = 1 if name.startswith('forward') else 2
    return Walk(groups=plan['groups'], run_length=shape.elements / plan['groups'] / items,
                single=True, tensors=tensors, integers=0,
                bytes=4 * (tensors + 1) * shape.elements)


def add_slices(name, shape, plan):
    """Behind a reduction of several slices."""
    return Walk(groups=ceil(shape.channels * words(name), 64), run_length=plan['slices'] * 2,
                single=True, integers=0,
                more_bytes=plan['slices'] * shape.channels * words(name) * 8)


def walk_of(name, shape, plan, items):
    if 'apply' in name:
        return apply(name, shape, plan, items)
    return (reduce_nchw if name.endswith('nchw') else reduce_nhwc)(name, shape, plan)
