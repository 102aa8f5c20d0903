"""A model of how long a kernel takes, from what compilers and the launch plan say.

Three times are found, of which the longest rules:

  memory    bytes / (bandwidth x reached). A tensor is read, or written, once; partial accumulators
            are written and read. Caches save nothing and waste nothing.
  issue     instructions of all warps / (units x issue x clock).
  latency   a work-group's own time x the groups that a unit works through one after the other:
            groups / (units x resident groups), at least 1, and half a group more where there are
            several (the last ones end at different times).

A work-group's own time is a chain: the main loop's trips, each as long as a warp that runs alone
needs, for which isa.trip_time lets every load take `latency`; loads that others wait for, before
and behind it; barriers; the integers of a round, an instruction every `cycles`; the store. That is
Little's law with the loads in flight that the disassembly shows, and the serial phases added.
walk.py says for each kernel how many rounds, trips and phases its source makes of a shape.

The three are added as fourth powers, so that two that are equal cost 19 %, not 100: kernels come
near a limit smoothly. The share of peak is bytes of tensors / (time x bandwidth). Gaps between
launches are not in it; they are in the time of a step, `launch` for each kernel behind the first.

Not in the model: clocks under load, banks and channels of memory, misses of the TLB, other queues.
"""
from dataclasses import dataclass

import isa
from targets import resident_groups

LOCAL = 30  # cycles of an access of local memory that others wait for


@dataclass
class Walk:
    """What the source makes of a shape: walk.py."""
    groups: int
    rounds: float = 1       # of a work-group
    runs: float = 1         # of the main loop, in a round
    run_length: float = 0   # elements of a work-item, in a run
    single: bool = False    # the last elements of a run that fill no trip are loaded one by one
    tensors: int = 1        # that an element is loaded from
    stored: int = 1         # that one is stored to: apply
    size: int = 4           # bytes of an element
    latencies: float = 0    # loads from memory that a round waits for, beside the main loop's
    hits: float = 0         # the same, from a cache
    integers: float = 1     # times that a round executes what its loop has beside the main loop
    meetings: float = 1     # times that a round meets at each of the loop's barriers
    sweeps: bool = False    # rounds are within a loop over sweeps of them
    local: float = 0        # accesses of local memory that others wait for, at the end
    start: float = 1        # latencies before the first round
    end: float = 0          # behind the last one
    bytes: float = 0        # of tensors
    more_bytes: float = 0   # beside them


@dataclass
class Time:
    total: float  # us
    memory: float
    issue: float
    latency: float
    share: float


def main_code(kernel):
    loop = isa.main_loop(kernel)
    return isa.own_code(kernel, loop) if loop else kernel.code


def trip(kernel, walk, latency, cycles):
    """(cycles, elements, instructions) of a trip of the main loop, for a work-item."""
    code = main_code(kernel)
    stored = sum(i.bytes for i in code if i.kind == 'store')
    # An apply kernel stores each element; a reduction stores nothing in its loop.
    size = stored / walk.stored if 'apply' in kernel.name else isa.loaded(code) / walk.tensors
    return isa.trip_time(code, latency, cycles), max(size / walk.size, 1), isa.instructions(code)


def loads_in_flight(kernel, walk, latency=1200, cycles=3):
    """Bytes of tensors that a work-item has under way, on the average of its main loop, in floats."""
    time, elements, _ = trip(kernel, walk, latency, cycles)
    return elements * walk.tensors * latency / time


def time_of(device, target, kernel, walk):
    clock, cycles = device.clock, device.cycles
    time, elements, instructions = trip(kernel, walk, device.latency * clock, cycles)
    loop = isa.main_loop(kernel)
    around = isa.outermost_loop(kernel, loop, walk.sweeps) if loop else None
    own = barriers = met = 0
    if loop:
        met = sum(i.kind == 'barrier' for i in main_code(kernel))
        barriers = kernel.count('barrier', around[0], around[1] + 1) - met
        own = isa.instructions(kernel.code[around[0]:around[1] + 1]) - instructions

    runs, length = walk.runs, walk.run_length
    if elements > length > 0:
        # The compiler has unrolled the loop around, too.
        runs, length = max(runs * length / elements, 1), elements
    trips, rest = divmod(length, elements)
    run = trips * time / clock + (trips * met + met * (rest > 0)) * device.barrier
    if rest > 0:
        run += rest * device.latency if walk.single else time / clock
    round_time = (runs * run + walk.latencies * device.latency + walk.hits * device.hit +
                  barriers * walk.meetings * device.barrier +
                  walk.integers * own * cycles / clock)
    group_time = (walk.rounds * round_time + (walk.start + walk.end) * device.latency +
                  walk.local * LOCAL / clock)

    warps = -(-kernel.items // (target.lanes or kernel.simd))
    executed = walk.rounds * (runs * max(length / elements, 1) * instructions +
                              walk.integers * own)
    if not loop:
        executed = instructions
        group_time = time / clock + walk.start * device.latency
    resident = resident_groups(target, kernel) / target.group_units
    waves = walk.groups / (device.units * resident)
    latency = group_time * (waves + 0.5 if waves > 1 else 1) / 1000
    # Intel's units execute 8 work-items in a cycle.
    slots = executed * (kernel.simd / 8 if kernel.simd else 1)
    issue = walk.groups * warps * slots / (device.units * device.issue * clock) / 1000
    memory = (walk.bytes + walk.more_bytes) / (device.bandwidth * device.reached) / 1000
    total = (latency**4 + issue**4 + memory**4)**0.25
    return Time(total, memory, issue, latency, walk.bytes / (total * device.bandwidth * 1000))


def together(device, first, second):
    """A kernel and the one behind it: the share leaves the gap between them out, the time not."""
    total = first.total + second.total
    return Time(total + device.launch, first.memory, first.issue, first.latency,
                first.share * first.total / total)
