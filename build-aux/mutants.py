"""mutants.py: plants faults in a copy of the source, one by one, and tells which tests see them.

    mutants.py SOURCE BUILD RESULTS NUMBER SEED LIST JOBS CACHE TEST...

SOURCE is the copy, BUILD where it is configured, RESULTS a file of what is known already. The faults
are those of LIST, lines FILE[:LINE]: TEXT => TEXT INSTEAD, or else NUMBER of all that the rules make,
drawn by SEED. A fault that no test can see has a line in tests/mutants.equivalent.
"""
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

source, build, results, number, seed, named, jobs, cache = sys.argv[1:9]
tests = sys.argv[9:]

# What is changed into what: relations, logic, arithmetic, constants, statuses, offsets, statements.
RULES = [(re.compile(pattern), new) for pattern, new in [
    (r' < ', ' <= '), (r' <= ', ' < '), (r' > ', ' >= '), (r' >= ', ' > '),
    (r' == ', ' != '), (r' != ', ' == '), (r' && ', ' || '), (r' \|\| ', ' && '),
    (r'(?<=[(\s])!(?=\w)', ''),
    (r' \+ ', ' - '), (r' - ', ' + '), (r' << ', ' >> '), (r' >> ', ' << '), (r' (\||\+)= ', ' = '),
    (r'(?<![\w.])0(?![\w.])', '1'), (r'(?<![\w.])1(?![\w.])', '2'),
    (r'(?<![\w.])([2-9]|\d\d+)(?![\w.])', r'(\1 - 1)'),
    (r'\breturn status;', 'return 0;'), (r'if \(status\)', 'if (0)'),
    (r'\bSBN_(INVALID|OUT_OF|UNSUPPORTED)\w+(?=,)', 'SBN_SUCCESS'),
    (r'(?<=\+ )(\w*offset\w*)', r'0 * \1'),
    (r'^ {4,}(?!return|goto|break|continue|case|else)'
     r'(\w+\(.*\)|[\w>.\[\]*-]+ [-+|&^]?= .*|\+\+.*);$', ';'),
]]

# Tests by the beginnings of their names: those of a folder first, then others, in batches, then the rest.
PASS = ['pass/passes pass/on_device pass/branches pass/saved',
        'pass/a pass/e pass/f pass/h pass/o', 'pass', 'faults']
KERNELS = ['pass/judged pass/passes', 'pass/golden', 'device', 'pass/planes_of_one', 'pass']
BATCHES = {
    'src/base': ['base', 'model device', 'pass/passes faults'],
    'src/safetensors': ['model', 'faults'],
    'src/exact': ['exact', 'pass/golden', 'pass/saved collective'],
    'src/program': ['device', 'pass/passes', 'faults'],
    'src/device': ['device pass/passes pass/on_device pass/events', 'pass', 'faults'],
    'src/plan': ['device', 'pass/golden', 'pass'],
    'src/collective': ['collective', 'pass/branches parallel', 'mpi'],
    'src/group': ['collective pass/passes', 'pass device', 'faults'],
    'src/model': ['model', 'faults'],
    'src/parallel': ['parallel', 'faults mpi'],
    'src/mpi': ['mpi', 'faults'],
    'cl': KERNELS,
    'cl/gpu': [KERNELS[0], 'device/races', *KERNELS[1:]],
}
# What takes long comes last, unless a batch names it.
SLOW = ['tools/check', 'pass/golden', 'pass/same']
REST = 'base exact device collective pass model parallel faults mpi'
RACES = 'tests/device/races.sh'
TEST_SECONDS = 150


def masked(text):
    """The text with blanks for comments, strings and the preprocessor's lines."""
    pattern = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*'
    return re.sub(pattern, lambda m: re.sub(r'[^\n]', ' ', m[0]), text, flags=re.S | re.M)


def mutants_of(file):
    """(file, number of the line, the line, the line instead) of all that the rules make in a file."""
    text = open(os.path.join(source, file)).read()
    for at, (line, seen) in enumerate(zip(text.split('\n'), masked(text).split('\n'))):
        for rule, new in RULES:
            for match in rule.finditer(seen):
                yield file, at, line, line[:match.start()] + match.expand(new) + line[match.end():]


def drawn():
    tops = [os.path.join(source, top) for top in ('src', 'cl')]
    files = sorted(os.path.relpath(os.path.join(at, name), source) for top in tops
                   for at, _, names in os.walk(top) for name in names
                   if name.endswith(('.c', '.h', '.cl')))
    everything = [m for file in files for m in mutants_of(file)]
    random.Random(int(seed)).shuffle(everything)
    return everything[:int(number)]


def listed():
    for entry in open(named):
        if entry.strip() and not entry.startswith('#'):
            place, fault = entry.strip().split(': ', 1)
            old, new = fault.split(' => ')
            file, _, line = place.partition(':')
            lines = open(os.path.join(source, file)).read().split('\n')
            at = int(line) - 1 if line else next(i for i, text in enumerate(lines) if old in text)
            assert old in lines[at], entry
            yield file, at, lines[at], lines[at].replace(old, new, 1)


def started(*words):
    """make, in a session of its own."""
    return subprocess.Popen(['make', '-C', build, f'-j{jobs}', *words], start_new_session=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def run(batch):
    """The first test of a batch that fails, after which the others stop; None: all pass."""
    results_of = {test: os.path.join(build, re.sub(r'\.(sh|py)$', '', test)) for test in batch}
    for name in results_of.values():
        for end in ('.log', '.trs'):
            if os.path.exists(name + end):
                os.unlink(name + end)
    process = started('check-TESTS', 'TESTS=' + ' '.join(batch), f'TEST_CACHE={cache}')
    done, deadline = [], time.monotonic() + TEST_SECONDS
    while True:
        ended = process.poll() is not None
        before, done = done, [test for test, name in results_of.items()
                              if os.path.exists(name + '.trs')]
        if len(done) > len(before):
            deadline = time.monotonic() + TEST_SECONDS
        failed = [test for test in done
                  if re.search(r'test-result: (FAIL|ERROR)', open(results_of[test] + '.trs').read())]
        if not (failed or ended or time.monotonic() > deadline):
            time.sleep(0.2)
            continue
        if not ended:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
        return failed[0] if failed else None if ended else 'a test that does not end'


def failed_of(batch):
    """The same, of tests to be built, which must fail twice: deadlines pass on a busy machine."""
    wanted = [test for test in batch if not test.endswith(('.sh', '.py'))] + ['tools/syncbn/syncbn']
    if any(test.startswith('tests/mpi/') or test == 'tests/faults/mpi.sh' for test in batch):
        wanted.append('check-mutants-here')
    if started(*wanted).wait():
        return 'does not build'
    failed = run(batch)
    return run([failed]) if failed in batch else failed


def folder_of(file):
    folder = os.path.dirname(file)
    return folder if folder.startswith('src/') or folder == 'cl/gpu' else 'cl'


def outcome_of(file):
    if started('tools/syncbn/syncbn').wait():
        return 'does not build'
    known = [*tests, RACES] if folder_of(file) == 'cl/gpu' else tests
    done = set()
    for batch in [*BATCHES.get(folder_of(file), PASS), *SLOW, REST]:
        later = tuple('tests/' + name for name in SLOW if name != batch)
        names = tuple('tests/' + name for name in batch.split())
        chosen = [test for test in known
                  if test.startswith(names) and not test.startswith(later) and test not in done]
        done.update(chosen)
        failed = failed_of(chosen) if chosen else None
        if failed:
            return failed
    return 'survives'


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def restore():
    """Takes out the fault that is planted, if one is: also after a run that was killed."""
    if os.path.exists(results + '.planted'):
        write(*json.load(open(results + '.planted')))
        os.unlink(results + '.planted')


def key_of(file, old, new):
    return f'{file}: {old.strip()} => {new.strip()}'


def main():
    restore()
    reasons = open(os.path.join(source, 'tests/mutants.equivalent'))
    equivalent = {line.split(' because ')[0] for line in reasons}
    known = dict(json.loads(line) for line in open(results)) if os.path.exists(results) else {}
    table = collections.defaultdict(collections.Counter)
    killers = collections.Counter()
    sound = set()
    for file, at, old, new in listed() if named else drawn():
        key = key_of(file, old, new)
        if key not in equivalent and f'{at} {key}' not in known:
            path = os.path.join(source, file)
            text = open(path).read()
            lines = text.split('\n')
            lines[at] = new
            write(results + '.planted', json.dumps([path, text]))
            write(path, '\n'.join(lines))
            known[f'{at} {key}'] = outcome = outcome_of(file)
            restore()
            if outcome in tests + [RACES] and outcome not in sound:
                sound.add(outcome)
                if failed_of([outcome]):
                    sys.exit(f'{outcome} fails without a fault')
            with open(results, 'a') as out:
                out.write(json.dumps([f'{at} {key}', known[f'{at} {key}']]) + '\n')
        outcome = 'equivalent' if key in equivalent else known[f'{at} {key}']
        print(f'{file}:{at + 1}{key[len(file):]}: {outcome}', flush=True)
        if outcome in ('equivalent', 'survives'):
            table[folder_of(file)][outcome] += 1
        elif outcome != 'does not build':
            table[folder_of(file)]['caught'] += 1
            killers[outcome] += 1
    print(f'\n{"folder":16} {"caught":>8} {"survived":>8} {"equivalent":>10}')
    for folder, row in [*sorted(table.items()), ('all', sum(table.values(), collections.Counter()))]:
        caught, survived = row['caught'], row['survives']
        part = f'{100 * caught // (caught + survived)} %' if caught + survived else ''
        print(f'{folder:16} {caught:8} {survived:8} {row["equivalent"]:10}  {part}')
    for test, count in killers.most_common():
        print(f'{count:4} {test}')


main()
