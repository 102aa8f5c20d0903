"""make check-offline: the kernels of the GPU form through the vendors' code generators.

  check.py --library PROGRAM --tools FOLDER --out FOLDER --limits FILE [--targets 'sm_90 gfx90a']

Prints TAP: a line for each program of a target (it compiles, without warnings, and nothing in it
may be contracted or is a division or a root), one for each kernel of a target (what it takes), one
for each step on a device (what the model says), each with its limits from FILE, and whether it
meets the goals there. OUT/table.md has the steps as tables, with * behind what misses its goal.
"""
import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import planted
import table
import walk
from compile import Program, Tools, compile_program, front_end_faults
from devices import DEVICES, PASSES, RESNET50, SETTINGS, SHAPES, problem_of
from facts import kernel_facts, network_facts, pass_facts, step_facts
from limits import Limits
from targets import TARGETS, traits

# The variants of library.c for which the model is asked.
VARIANTS = ['', '+relu', '+residual+relu', '+output', '+views']
SUMS = ['forward', 'last_forward', 'backward', 'last_backward']
PROGRAMS = SUMS + ['apply']
# A fusion changes no sums of the forward pass.
PROGRAMS += [name + variant for variant in VARIANTS[1:4] for name in (*SUMS[2:], 'apply')]
# Views have their own programs for step 1 alone.
PROGRAMS += [name + '+views' for name in SUMS]
MODELLED = [name + kind for kind in ('', '+f16', '+bf16') for name in SUMS + ['apply']]
PROGRAMS += MODELLED[len(SUMS) + 1:]


class Tap:
    def __init__(self):
        self.number = self.failed = 0

    def line(self, what, faults):
        self.number += 1
        self.failed += bool(faults)
        print('%sok %d - %s' % ('not ' if faults else '', self.number, what))
        for fault in faults:
            print('# ' + fault)


def plans_of(library, devices, compiled, problems):
    """Plans by kernel, of each (device, problem)."""
    plans, asked = {}, ''
    for device in devices:
        kernels, _ = compiled.get((device.target, 'apply'), ({}, None))
        counts = 'self_test_slices' in kernels
        for problem in problems:
            asked += '%s %d %d %d %s\n' % (device.name, device.units, device.cache, counts, problem)
            plans[device.name, problem] = {}
    done = subprocess.run([library, 'plans'], input=asked, capture_output=True, text=True,
                          check=True)
    for line in done.stdout.splitlines():
        device, problem, kernel, *rest = line.split()
        plan = dict(word.split('=') for word in rest)
        plans[device, problem][kernel] = {key: int(value) for key, value in plan.items()}
    return plans


def texts_of(library, targets, out):
    """The texts of each target, as the library writes them for a device of it: where, but for the name."""
    folders = {}
    shutil.rmtree(os.path.join(out, 'texts'), ignore_errors=True)
    for target in targets:
        asked = traits(target)
        folder = os.path.join(out, 'texts', '-'.join(asked))
        folders[target.name] = os.path.join(folder, 'gpu_')
        if not os.path.isdir(folder):
            os.makedirs(folder)
            subprocess.run([library, 'kernels', folder, *asked], check=True)
    return folders


def compile_all(tools, targets, names, folders, out):
    """Kernels by (target, program name), and what is wrong."""
    jobs = [(target, Program(name, folders[target.name] + name)) for target in targets for name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: compile_program(tools, *job, out), jobs)
        return {(target.name, program.name): result
                for (target, program), result in zip(jobs, results)}


def check_front_end(tap, tools, programs):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda program: front_end_faults(tools, program), programs))
    for program, faults in zip(programs, results):
        tap.line('%s: nothing may be contracted, no division, no root' % program.name, faults)


def check_targets(tap, limits, targets, compiled):
    """The facts of all kernels."""
    for target in targets:
        for name in PROGRAMS:
            kernels, faults = compiled[target.name, name]
            if not kernels and not faults:
                faults = ['no kernels']
            tap.line('%s %s: compiled without warnings' % (target.name, name), faults)
            for kernel in kernels.values():
                if kernel.name.startswith('self_test'):
                    continue
                facts = kernel_facts(target, kernel)
                tap.line(facts.sentence + limits.verdict(facts), limits.broken(facts))


def steps_of(device, kernels, plans):
    """What the model says of a device, with the kernels of its target by (program, kernel)."""
    for problem in SHAPES:
        for kernel_name, plan in plans[device.name, problem].items():
            program = walk.program_of(kernel_name, walk.shape_of(problem))
            for variant in VARIANTS:
                kernel = kernels.get((program + variant, kernel_name))
                if kernel:
                    yield step_facts(device, TARGETS[device.target], kernel,
                                     kernels['apply', 'add_slices'], problem, plan)


def passes_of(device, kernels, plans, setting):
    """(how many, pass) of ResNet-50's batch norms."""
    for shape, count in RESNET50.items():
        problem = problem_of(shape, setting)
        for is_backward in (False, True):
            yield count, pass_facts(device, TARGETS[device.target], kernels, problem,
                                    plans[device.name, problem], is_backward)


def check_devices(tap, limits, compiled, plans):
    """The steps, passes and networks of the devices whose target was compiled; returns steps and networks."""
    all_steps, networks = [], []
    for device in DEVICES:
        kernels = {(program, name): kernel for (target, program), (found, _) in compiled.items()
                   if target == device.target for name, kernel in found.items()}
        if ('apply', 'add_slices') not in kernels:
            continue
        steps = list(steps_of(device, kernels, plans))
        passes = {setting: list(passes_of(device, kernels, plans, setting)) for setting in SETTINGS}
        own = [network_facts(device, setting, passes[setting]) for setting in SETTINGS]
        for facts in steps + [facts for some in passes.values() for _, facts in some] + own:
            tap.line(facts.sentence + limits.verdict(facts), limits.broken(facts))
        all_steps += steps
        networks += own
    return all_steps, networks


def main():
    parser = argparse.ArgumentParser()
    for name in ('library', 'tools', 'out', 'limits'):
        parser.add_argument('--' + name, required=True)
    parser.add_argument('--targets', default='')
    arguments = parser.parse_args()
    unknown = set(arguments.targets.split()) - set(TARGETS)
    if unknown:
        sys.exit('check-offline: TARGETS: expected some of %s, got %s' %
                 (' '.join(TARGETS), ' '.join(sorted(unknown))))
    names = arguments.targets.split() or list(TARGETS)
    targets = [TARGETS[name] for name in names]
    tap, limits = Tap(), Limits(arguments.limits)
    os.makedirs(arguments.out, exist_ok=True)
    folders = texts_of(arguments.library, targets, arguments.out)
    tools = Tools(arguments.tools)
    planted.check(tap, tools, names, arguments.out)
    check_front_end(tap, tools, [Program(name, folders[names[0]] + name) for name in PROGRAMS])
    compiled = compile_all(tools, targets, PROGRAMS, folders, arguments.out)
    check_targets(tap, limits, targets, compiled)
    plans = plans_of(arguments.library, DEVICES, compiled, SHAPES + PASSES)
    steps, networks = check_devices(tap, limits, compiled, plans)
    table.write(os.path.join(arguments.out, 'table.md'), steps, networks, limits)
    print('1..%d' % tap.number)
    print('# %d of %d failed; goals: %d met, %d missed' %
          (tap.failed, tap.number, limits.met, limits.missed))


if __name__ == '__main__':
    main()
