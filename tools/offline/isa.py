"""What disassemblers of three vendors say, in one form: instructions, loops, loads in flight."""
from dataclasses import dataclass, field


@dataclass
class Instruction:
    text: str
    kind: str = 'other'  # load, store (global memory), local, private, barrier, branch, wait
    bytes: int = 0       # of elements, of a work-item: load, store; a byte of a mask is none
    defines: tuple = ()  # registers, or tokens, that a load fills
    uses: frozenset = frozenset()
    outstanding: int = 0    # wait: so many loads may still be under way
    target: str = ''        # branch
    weight: float = 1       # Intel: a thread's instruction may be for some of its work-items


def element_bytes(width):
    return width if width > 1 else 0


@dataclass
class Kernel:
    name: str
    program: str = ''
    items: int = 0      # of a work-group
    registers: int = 0
    stack: int = 0      # bytes of private memory of a work-item, or scratch
    spills: int = 0
    local: int = 0
    simd: int = 0
    code: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)  # name -> index into code
    disassembled: bool = True
    loops: list = None  # loops_of

    def count(self, kind, first=0, last=None):
        return sum(i.kind == kind for i in self.code[first:last])


def is_within(kernel, first, last):
    """Whether a path leads from the first of these instructions to the last without leaving them. AMD's
    compiler puts rare blocks behind all others, from where they jump back."""
    seen, ahead = set(), [first]
    while ahead:
        at = ahead.pop()
        if at == last:
            return True
        if at in seen or not first <= at <= last:
            continue
        seen.add(at)
        instruction = kernel.code[at]
        if instruction.kind == 'branch' and instruction.target in kernel.labels:
            ahead.append(kernel.labels[instruction.target])
        if not instruction.text.startswith('s_branch'):
            ahead.append(at + 1)
    return False


def loops_of(kernel):
    """Ranges (first, last) of instructions, one for each label that is jumped back to."""
    if kernel.loops is None:
        ends = {}
        for at, instruction in enumerate(kernel.code):
            if instruction.kind == 'branch' and instruction.target in kernel.labels:
                to = kernel.labels[instruction.target]
                if to <= at and is_within(kernel, to, at):
                    ends[to] = max(ends.get(to, at), at)
        kernel.loops = sorted(ends.items())
    return kernel.loops


def contains(outer, inner):
    return outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]


def own_code(kernel, loop):
    """A loop's instructions without those of the loops within it."""
    inner = [l for l in loops_of(kernel) if contains(loop, l)]
    return [kernel.code[at] for at in range(loop[0], loop[1] + 1)
            if not any(first <= at <= last for first, last in inner)]


def loaded(code):
    return sum(i.bytes for i in code if i.kind == 'load')


def main_loop(kernel):
    """The shortest of the loops that load at least half as much as any does itself, without those within it,
    or None: the kernel has no loop with loads. A reduction's loop over blocks loads what makes a pivot, or is
    summed again, beside the one over elements. What a reduction loads as int64s, or loads and stores in one
    loop, are accumulators, not tensors; on Intel, whose messages are larger, it adds no slices."""
    reduces = 'reduce' in kernel.name
    adds = reduces and not kernel.simd
    loops = {l: loaded(i for i in own_code(kernel, l) if not adds or i.bytes < 8) for l in loops_of(kernel)
             if not reduces or not kernel.count('store', l[0], l[1] + 1)}
    most = max(loops.values(), default=0)
    return min((l for l in loops if most > 0 and loops[l] >= most / 2),
               key=lambda l: l[1] - l[0], default=None)


def outermost_loop(kernel, loop, sweeps):
    """The largest loop around a loop, or the loop; with `sweeps` within the loop over those (cl/gpu/wide_blocks.cl)."""
    around = [loop] + sorted((l for l in loops_of(kernel) if contains(l, loop)), key=lambda l: l[1] - l[0])
    return around[-2] if sweeps and len(around) > 1 else around[-1]


def instructions(code):
    return sum(i.weight for i in code)


def trip_time(code, latency, issue):
    """Cycles that one trip takes a warp that is alone: an instruction every `issue` cycles, a load
    there after `latency`; who needs what is not there waits. The second of two trips, so that
    loads ahead of their use count."""
    now, ends = 0.0, []
    ready = {}
    for _ in range(3):
        for instruction in code:
            needed = [ready[r] for r in instruction.uses if r in ready]
            if needed:
                now = max([now] + needed)
                for register in instruction.uses:
                    ready.pop(register, None)
            if instruction.kind == 'wait':
                under_way = sorted(set(ready.values()))
                done = under_way[:len(under_way) - instruction.outstanding]
                if done:
                    now = max(now, done[-1])
                    ready = {r: t for r, t in ready.items() if t > now}
            if instruction.kind == 'load':
                for register in instruction.defines or (len(ready), ):
                    ready[register] = now + latency
            now += issue * instruction.weight
        ends.append(now)
    return ends[2] - ends[1]
