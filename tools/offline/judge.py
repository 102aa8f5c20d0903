"""Sets the model against what a GPU has measured, so that the model is judged.

  judge.py --like DEVICE --library PROGRAM --tools FOLDER --out FOLDER --bench FILE --devices FILE

FILEs are of syncbn bench --json and syncbn devices --json, from the machine with the GPU; PROGRAM and
FOLDERs as of check.py. A line for each problem and pass: what was measured, what the model says for a DEVICE
of devices.py with the compute units and the bandwidth of the fastest copy that were found here, and their
quotient.

Modelled time of a pass: its kernels, and the gaps between them, as one replica alone enqueues them.
"""
import argparse
import json
import math
import os
import sys

import check
from compile import Tools
from devices import DEVICES
from facts import pass_facts
from targets import TARGETS

def copied(problems):
    """GB/s of the fastest copy of 64 MB and more; of any, where none is so large."""
    rates = [(p['bytes'] >= 64e6, s['gb_per_s']) for p in problems if p['ok']
             for s in p['series'] if s['pass'] == 'copy']
    return max(rates)[1] if rates else None


def judge(arguments):
    with open(arguments.bench, encoding='utf-8') as file:
        bench = json.load(file)
    with open(arguments.devices, encoding='utf-8') as file:
        platforms = json.load(file)['platforms']
    measured = bench['devices'][0]
    listed = next(d for p in platforms for d in p['devices'] if d['index'] == measured['index'])
    problems = [p for p in bench['problems'] if p['ok']]
    device = next(d for d in DEVICES if d.name == arguments.like)
    rate = copied(problems)
    device = device._replace(units=listed['compute_units'],
                             bandwidth=rate / device.reached if rate else device.bandwidth)
    os.makedirs(arguments.out, exist_ok=True)
    kernels, targets = {}, [TARGETS[device.target]]
    folders = check.texts_of(arguments.library, targets, arguments.out)
    compiled = check.compile_all(Tools(arguments.tools), targets, check.MODELLED, folders,
                                 arguments.out)
    for (_, name), (found, faults) in compiled.items():
        if not found:
            sys.exit('judge: %s: %s' % (name, '; '.join(faults)))
        kernels.update({(name, kernel): code for kernel, code in found.items()})
    plans = check.plans_of(arguments.library, [device], compiled, [p['problem'] for p in problems])
    print('%s, as %s of the model: %d units, %.0f GB/s' %
          (measured['name'], device.name, device.units, device.bandwidth))
    print('%-40s %-9s %12s %12s %10s' % ('microseconds', 'pass', 'measured', 'modelled', 'quotient'))
    logs = []
    for problem in problems:
        for name in ('forward', 'backward'):
            one = next((s for s in problem['series'] if (s['contender'], s['pass']) == ('syncbn', name)), None)
            if not one:
                continue
            got = 1e6 * one['seconds']['median']
            said = pass_facts(device, TARGETS[device.target], kernels, problem['problem'],
                              plans[device.name, problem['problem']], name == 'backward').time
            logs.append(math.log(got / said))
            print('%-40s %-9s %12.1f %12.1f %10.2f' %
                  (problem['problem'], name, got, said, got / said))
    if logs:
        print('measured / modelled: geometric mean %.2f, from %.2f to %.2f' %
              (math.exp(sum(logs) / len(logs)), math.exp(min(logs)), math.exp(max(logs))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--like', required=True, choices=[device.name for device in DEVICES])
    for name in ('library', 'tools', 'out', 'bench', 'devices'):
        parser.add_argument('--' + name, required=True)
    judge(parser.parse_args())


if __name__ == '__main__':
    main()
