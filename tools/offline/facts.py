"""What the check knows of a kernel on a target, of a step and a pass on a device, and of a network there. Each
has a sentence, and values that limits are set for, by its name and its place."""
from types import SimpleNamespace as Facts

import model
import walk
from targets import resident_groups, resident_share


def kernel_facts(target, kernel):
    """busy is 1 where half of the warps are resident, or as many bytes as memory needs are in flight;
    instructions are those of an apply kernel for each float that it loads."""
    tensors, stored = walk.tensors_of(kernel)
    way = model.Walk(1, tensors=tensors, stored=stored)
    resident = resident_share(target, kernel)
    facts = Facts(name='%s/%s' % (kernel.program, kernel.name), place=target.name,
                  values={'stack': kernel.stack, 'spills': kernel.spills})
    facts.sentence = '%s %s: %d registers, %d B stack, %d B spills, %d B local, resident %.2f' % (
        target.name, facts.name, kernel.registers, kernel.stack, kernel.spills, kernel.local, resident)
    if kernel.simd:
        facts.sentence += ', SIMD%d' % kernel.simd
    if not kernel.disassembled:
        return facts
    in_flight = model.loads_in_flight(kernel, way)
    groups = resident_groups(target, kernel) / target.group_units
    busy = max(2 * resident, groups * kernel.items * in_flight * 4 / 1024 / target.needed)
    if busy:
        facts.values['busy'] = busy
    if in_flight:
        facts.sentence += ', %.1f loads in flight, busy %.1f' % (in_flight, busy)
    if 'apply' in kernel.name and not kernel.program.endswith('f16'):
        _, elements, instructions = model.trip(kernel, way, 1200, 3)
        facts.values['instructions'] = instructions / elements / tensors
        facts.sentence += ', %.1f instructions a float' % facts.values['instructions']
    return facts


def step_facts(device, target, kernel, add_slices, problem, plan):
    """A kernel; a reduction that leaves several slices, with the kernel that adds them."""
    shape, variant = walk.shape_of(problem), ''.join(kernel.program.partition('+')[1:])
    way = walk.walk_of(kernel, shape, plan)
    time = model.time_of(device, target, kernel, way)
    if plan.get('slices', 1) > 1:
        behind = walk.add_slices(kernel.name, shape, plan)
        time = model.together(device, time, model.time_of(device, target, add_slices, behind))
    facts = Facts(name=kernel.name + variant, place='%s/%s' % (device.name, problem),
                  values={'share': time.share}, device=device.name, problem=problem,
                  kernel=kernel.name, variant=variant, groups=way.groups, time=time)
    facts.sentence = ('%s %s %s: %d groups, %.1f us (memory %.1f, issue %.1f, latency %.1f), '
                      '%.3f of peak' % (device.name, problem, facts.name, way.groups, time.total,
                                        time.memory, time.issue, time.latency, time.share))
    return facts


def pass_facts(device, target, kernels, problem, plans, is_backward):
    """A pass of a replica that is alone, as it is enqueued, in us. kernels: by (program, kernel), with the
    variant of the problem's type."""
    name = 'backward' if is_backward else 'forward'
    variant = '+f16' if ',f16' in problem else '+bf16' if ',bf16' in problem else ''
    shape, more = walk.shape_of(problem), plans[name + '_pass']
    busy = 0
    for kernel_name, plan in plans.items():
        if not kernel_name.startswith(name) or kernel_name.endswith('_pass'):
            continue
        kernel = kernels[walk.program_of(kernel_name, shape) + variant, kernel_name]
        busy += model.time_of(device, target, kernel, walk.walk_of(kernel, shape, plan)).total
        if 'reduce' in kernel_name and more['adds']:
            busy += model.time_of(device, target, kernels['apply', 'add_slices'],
                                  walk.add_slices(kernel_name, shape, plan)).total
    # Of the other kernels each has next to nothing to do; behind a reduction neither the adding of slices nor
    # combining takes longer than in a command of its own.
    rest = more['tails'] or more['commands'] - 2 - more['adds']
    time = busy + rest * device.small + (more['commands'] - 1) * device.launch
    return Facts(name=name, place='%s/%s' % (device.name, problem),
                 values={'commands': more['commands']}, kernels=busy, time=time,
                 sentence='%s %s %s pass: %d commands, %.1f us, of which %.1f for what reads tensors' % (
                     device.name, problem, name, more['commands'], time, busy))


def network_facts(device, setting, passes):
    """ResNet-50's batch norms in a setting, forward and backward: of (how many, pass); in ms."""
    commands = sum(count * facts.values['commands'] for count, facts in passes)
    busy = sum(count * facts.kernels / 1000 for count, facts in passes)
    time = sum(count * facts.time / 1000 for count, facts in passes)
    return Facts(name='resnet50_batch2', place=device.name + (setting or ',first'),
                 values={'step': time}, device=device.name, setting=setting, commands=commands,
                 time=time, sentence='%s resnet50_batch2%s, a step: %d commands, %.2f ms, of which %.2f '
                 'for what reads tensors' % (device.name, setting, commands, time, busy))
