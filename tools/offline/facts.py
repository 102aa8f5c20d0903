"""What the check knows of a kernel on a target, and of a step on a device: each has a sentence,
and values that limits are set for."""
from dataclasses import dataclass

import isa
import model
import walk
from targets import resident_groups, resident_share


@dataclass
class KernelFacts:
    target: str
    kernel: isa.Kernel
    resident: float      # warps, of those that a unit can have
    in_flight: float     # loads of a float in flight
    busy: float          # 1: half of the warps are resident, or as many bytes as memory needs in flight
    per_float: float     # instructions for each that an apply kernel loads; None of others, and of halves

    @property
    def name(self):
        return '%s/%s' % (self.kernel.program, self.kernel.name)

    @property
    def place(self):
        return self.target

    @property
    def values(self):
        values = {'stack': self.kernel.stack, 'spills': self.kernel.spills}
        if self.busy:
            values['busy'] = self.busy
        if self.per_float is not None:
            values['instructions'] = self.per_float
        return values

    def sentence(self):
        k = self.kernel
        text = '%s %s: %d registers, %d B stack, %d B spills, %d B local, resident %.2f' % (
            self.target, self.name, k.registers, k.stack, k.spills, k.local, self.resident)
        if k.simd:
            text += ', SIMD%d' % k.simd
        if k.disassembled and self.in_flight:
            text += ', %.1f loads in flight, busy %.1f' % (self.in_flight, self.busy)
        if self.per_float is not None:
            text += ', %.1f instructions a float' % self.per_float
        return text


def kernel_facts(target, kernel):
    tensors, stored = walk.tensors_of(kernel)
    way = model.Walk(1, tensors=tensors, stored=stored)
    in_flight, busy, per_float = 0, 0, None
    resident = resident_share(target, kernel)
    if kernel.disassembled:
        in_flight = model.loads_in_flight(kernel, way)
        groups = resident_groups(target, kernel) / target.group_units
        busy = max(2 * resident, groups * kernel.items * in_flight * 4 / 1024 / target.needed)
        if 'apply' in kernel.name and not kernel.program.endswith('f16'):
            _, elements, instructions = model.trip(kernel, way, 1200, 3)
            per_float = instructions / elements / tensors
    return KernelFacts(target.name, kernel, resident, in_flight, busy, per_float)


@dataclass
class StepFacts:
    device: str
    kernel: str
    variant: str     # "", or "+relu"
    groups: int
    time: model.Time
    problem: str = ''

    @property
    def name(self):
        return self.kernel + self.variant

    @property
    def place(self):
        return '%s/%s' % (self.device, self.problem)

    @property
    def values(self):
        return {'share': self.time.share}

    def sentence(self):
        return ('%s %s %s: %d groups, %.1f us (memory %.1f, issue %.1f, latency %.1f), '
                '%.3f of peak' % (self.device, self.problem, self.name, self.groups,
                                  self.time.total, self.time.memory, self.time.issue,
                                  self.time.latency, self.time.share))


def step(device, kernel, time, way):
    variant = ''.join(kernel.program.partition('+')[1:])
    return StepFacts(device.name, kernel.name, variant, way.groups, time)


def apply_facts(device, target, kernel, shape, plan):
    way = walk.walk_of(kernel, shape, plan)
    return step(device, kernel, model.time_of(device, target, kernel, way), way)


def step_facts(device, target, kernel, add_slices, shape, plan):
    """A reduction, and where it leaves several slices, the kernel that adds them."""
    way = walk.walk_of(kernel, shape, plan)
    time = model.time_of(device, target, kernel, way)
    if plan['slices'] > 1:
        behind = walk.add_slices(kernel.name, shape, plan)
        time = model.together(device, time, model.time_of(device, target, add_slices, behind))
    return step(device, kernel, time, way)


@dataclass
class PassFacts:
    """A pass of a replica that is alone, as it is enqueued; of `more` kernels each has next to nothing to do."""
    device: str
    problem: str
    name: str        # forward, backward
    commands: int
    more: int
    kernels: float   # us of those that read or write tensors
    time: float

    @property
    def place(self):
        return '%s/%s' % (self.device, self.problem)

    @property
    def values(self):
        return {'commands': self.commands}

    def sentence(self):
        return '%s %s %s pass: %d commands, %.1f us, of which %.1f for what reads tensors' % (
            self.device, self.problem, self.name, self.commands, self.time, self.kernels)


def pass_facts(device, target, kernels, problem, plans, is_backward):
    """kernels: by (program, kernel), with the variant of the problem's type."""
    name = 'backward' if is_backward else 'forward'
    variant = '+f16' if ',f16' in problem else '+bf16' if ',bf16' in problem else ''
    shape, more = walk.shape_of(problem), plans[name + '_pass']
    time = 0
    for kernel_name, plan in plans.items():
        if not kernel_name.startswith(name) or kernel_name.endswith('_pass'):
            continue
        kernel = kernels[walk.program_of(kernel_name, shape) + variant, kernel_name]
        time += model.time_of(device, target, kernel, walk.walk_of(kernel, shape, plan)).total
        if 'reduce' in kernel_name and more['adds']:
            time += model.time_of(device, target, kernels['apply', 'add_slices'],
                                  walk.add_slices(kernel_name, shape, plan)).total
    # Behind a reduction combining takes no longer than in a command of its own.
    rest = max(more['commands'] - 2 - more['adds'], 1)
    total = time + rest * device.small + (more['commands'] - 1) * device.launch
    return PassFacts(device.name, problem, name, more['commands'], rest, time, total)


@dataclass
class NetworkFacts:
    """ResNet-50's batch norms in a setting, forward and backward."""
    device: str
    setting: str
    commands: int
    kernels: float   # ms
    time: float
    name: str = 'resnet50_batch2'

    @property
    def place(self):
        return self.device + (self.setting or ',first')

    @property
    def values(self):
        return {'step': self.time}

    def sentence(self):
        return '%s %s%s, a step: %d commands, %.2f ms, of which %.2f for what reads tensors' % (
            self.device, self.name, self.setting, self.commands, self.time, self.kernels)
