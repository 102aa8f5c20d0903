"""Sets the model against what a GPU has measured, so that the model is judged.

  judge.py --library PROGRAM --tools FOLDER --out FOLDER --bench FILE --devices FILE

FILEs are of syncbn bench --json and syncbn devices --json, from the machine with the GPU; PROGRAM and
FOLDERs as of check.py. A line for each problem and pass: what was measured, what the model says for the
device of devices.py that is most like it, and their quotient. A device that is not in devices.py is taken
with its own compute units and with the bandwidth that its fastest copy reached here.

Modelled time of a pass: its kernels, and the gaps between them, as one replica alone enqueues them.
"""
import argparse
import json
import math
import os
import re
import sys

import check
from compile import Tools
from devices import DEVICES
from facts import pass_facts
from targets import TARGETS

# Names of devices, and what of devices.py they are most like; the first that fits.
LIKE = [(r'H200|H100|H800|GH200|H20\b', 'H200'), (r'NVIDIA|GeForce|Tesla|Quadro', 'RTX_4090'),
        (r'AMD|gfx|Radeon|Instinct', 'MI300X'), (r'Arc|Data Center GPU|Battlemage', 'A770'),
        (r'', 'iGPU_24EU')]
KNOWN = r'H200|RTX 4090|MI300X|A770'


def series(problem, contender, name):
    for one in problem.get('series', []):
        if one['contender'] == contender and one['pass'] == name:
            return one
    return None


def copied(problems):
    """GB/s of the fastest copy of 64 MB and more; of any, where none is so large."""
    rates = [(p['bytes'] >= 64e6, s['gb_per_s']) for p in problems if p['ok']
             for s in p['series'] if s['pass'] == 'copy']
    return max(rates)[1] if rates else None


def device_like(measured, listed, problems):
    text = '%s %s' % (listed.get('vendor', ''), measured['name'])
    name = next(name for pattern, name in LIKE if re.search(pattern, text, re.IGNORECASE))
    device = next(d for d in DEVICES if d.name == name)
    if re.search(KNOWN, text):
        return device
    rate = copied(problems)
    return device._replace(units=listed['compute_units'],
                           bandwidth=rate / device.reached if rate else device.bandwidth)


def judge(arguments):
    with open(arguments.bench, encoding='utf-8') as file:
        bench = json.load(file)
    with open(arguments.devices, encoding='utf-8') as file:
        platforms = json.load(file)['platforms']
    measured = bench['devices'][0]
    listed = next(d for p in platforms for d in p['devices'] if d['index'] == measured['index'])
    problems = [p for p in bench['problems'] if p['ok']]
    device = device_like(measured, listed, problems)
    os.makedirs(arguments.out, exist_ok=True)
    kernels, targets = {}, [TARGETS[device.target]]
    folders = check.texts_of(arguments.library, targets, arguments.out)
    compiled = check.compile_all(Tools(arguments.tools), targets, check.MODELLED, folders,
                                 arguments.out)
    for (_, name), (found, faults) in compiled.items():
        if not found:
            sys.exit('judge: %s: %s' % (name, '; '.join(faults)))
        kernels.update({(name, kernel): code for kernel, code in found.items()})
    plans = check.plans_of(arguments.library, [device], [p['problem'] for p in problems], arguments.out)
    print('%s, as %s of the model: %d units, %.0f GB/s' %
          (measured['name'], device.name, device.units, device.bandwidth))
    print('%-40s %-9s %12s %12s %10s' % ('microseconds', 'pass', 'measured', 'modelled', 'quotient'))
    logs = []
    for problem in problems:
        for name in ('forward', 'backward'):
            one = series(problem, 'syncbn', name)
            if not one:
                continue
            got = 1e6 * one['seconds']['median']
            said = pass_facts(device, TARGETS[device.target], kernels, problem['problem'],
                              check.plans_by_kernel(plans, device, problem['problem']),
                              name == 'backward').time
            logs.append(math.log(got / said))
            print('%-40s %-9s %12.1f %12.1f %10.2f' %
                  (problem['problem'], name, got, said, got / said))
    if logs:
        print('measured / modelled: geometric mean %.2f, from %.2f to %.2f' %
              (math.exp(sum(logs) / len(logs)), math.exp(min(logs)), math.exp(max(logs))))


def main():
    parser = argparse.ArgumentParser()
    for name in ('library', 'tools', 'out', 'bench', 'devices'):
        parser.add_argument('--' + name, required=True)
    judge(parser.parse_args())


if __name__ == '__main__':
    main()
