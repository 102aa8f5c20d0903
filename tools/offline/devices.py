"""The devices that the model speaks of. Their figures are from data sheets and from published
measurements of latency, and rounded; nothing here was measured with this library."""
from collections import namedtuple

Device = namedtuple('Device', 'name target units clock bandwidth reached latency launch small '
                    'cache issue cycles barrier hit')

# units: as the driver counts them.     clock: GHz.
# bandwidth: GB/s, the data sheet's.    reached: the share of it that the best copy reaches.
# latency: ns of a load from memory under load.   hit: ns of one from the nearest cache.
# launch: us between two kernels, of which one waits for the other.
# small: us of a kernel with next to nothing to do. An estimate.
# cache: bytes of the last level.
# issue: instructions of a warp or wave that a unit issues in a cycle.
# cycles: between two instructions of a warp that runs alone.
# barrier: ns until a work-group has met.
DEVICES = [
    Device('H200', 'sm_90', 132, 1.75, 4800, 0.91, 700, 2.0, 2.0, 50 << 20, 4.0, 3, 25, 20),
    Device('RTX_4090', 'sm_89', 128, 2.5, 1008, 0.93, 600, 2.0, 1.8, 72 << 20, 4.0, 3, 20, 15),
    Device('MI300X', 'gfx942', 304, 2.1, 5300, 0.82, 850, 4.0, 3.0, 256 << 20, 1.0, 5, 40, 60),
    Device('A770', 'dg2', 512, 2.1, 560, 0.90, 700, 5.0, 4.0, 16 << 20, 1.0, 4, 80, 60),
    Device('iGPU_24EU', 'skl', 24, 1.05, 34, 0.85, 350, 10.0, 6.0, 8 << 20, 1.0, 4, 120, 60),
]

# Problems (tools/check/problem.h).
SHAPES = ['mb32ic64ih112iw112', 'mb32ic256ih56iw56,last', 'mb32ic2048ih7iw7', 'mb1024ic1024',
          'mb1ic64ih512iw512', 'mb32ic256ih56iw56', 'mb32ic1024ih14iw14',
          'mb32ic1024ih14iw14,last', 'mb32ic2048ih7iw7,last']

# The batch norms of ResNet-50 (tools/bench/lists/resnet50_batch2), and how many there are of each.
RESNET50 = {'ic64ih112iw112': 1, 'ic64ih56iw56': 6, 'ic256ih56iw56': 4, 'ic128ih28iw28': 8,
            'ic512ih28iw28': 5, 'ic256ih14iw14': 12, 'ic1024ih14iw14': 7, 'ic512ih7iw7': 6,
            'ic2048ih7iw7': 4}
# A step is a forward and a backward pass of all of them, in one of these settings.
SETTINGS = ['', ',last', ',f16', ',f16,last']


def problem_of(shape, setting):
    return 'mb2' + shape + setting


PASSES = [problem_of(shape, setting) for setting in SETTINGS for shape in RESNET50]
