"""mutants.py: plants faults in a copy of the source, one by one, and tells which tests see them.

    mutants.py SOURCE BUILD RESULTS NUMBER SEED LIST JOBS CACHE TEST...

SOURCE is the copy, BUILD where it is configured, RESULTS a file of what is known already. The faults
are those of LIST, lines FILE[:LINE]: TEXT => TEXT INSTEAD, or else NUMBER of all that the rules make,
drawn by SEED. A fault that no test can see has a line in tests/mutants.equivalent.
"""
import collections
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import tokenize
import typing

sys.dont_write_bytecode = True  # the source is not written to
from kernel_coverage import masked

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
RELATIONS = RULES[:6]
PYTHON_RULES = RELATIONS + [(re.compile(pattern), new) for pattern, new in [
    (r' and ', ' or '), (r' or ', ' and '), (r'\bnot ', ''), (r' is None', ' is not None'),
    (r'\bTrue\b', 'False'), (r'\bFalse\b', 'True'), (r'(?<![\w.])0(?![\w.])', '1'),
    (r'(?<![\w.])1(?![\w.])', '2'), (r', \w+=[\w.]+(?=\))', ''),
    (r'^( {4,})(?!return|raise|yield|import|from|del)([\w.]+\(.*\)|[\w.\[\]]+ [-+|&]?= .*)$',
     r'\1pass'),
]]

# Tests by the beginnings of their names: those of a folder first, then others, in batches, then the rest.
PASS = ['pass/passes pass/on_device pass/branches pass/saved',
        'pass/a pass/f pass/h pass/o', 'pass', 'faults']
KERNELS = ['pass/judged pass/passes', 'device/races', 'pass/golden',
           'device/combine device/soft_doubles device/self_test pass/planes_of_one']
BATCHES = {
    'src/base': ['base', 'model device', 'pass/passes faults'],
    'src/safetensors': ['model', 'faults'],
    'src/exact': ['exact device/combine pass/narrow', 'pass/golden', 'pass/saved collective'],
    'src/program': ['device', 'pass/passes', 'faults'],
    'src/device': ['device pass/passes pass/on_device pass/any_order', 'pass', 'faults'],
    'src/plan': ['device', 'pass/golden', 'pass'],
    'src/collective': ['collective pass/one_request', 'pass/branches parallel', 'mpi'],
    'src/group': ['collective pass/passes', 'pass device', 'faults'],
    'src/model': ['model', 'faults'],
    'src/parallel': ['parallel', 'pass/any_order faults mpi'],
    'src/mpi': ['mpi', 'faults'],
    'python/syncbn': ['python/module python/replicas', 'python'],
    'cl': KERNELS,
    'cl/gpu': KERNELS,
}
# What takes long comes last, unless a batch names it.
SLOW = ['tools/check', 'pass/golden', 'pass/same']
REST = 'base exact device collective pass model parallel faults mpi'
RACES = 'tests/device/races.sh'
PASSED = 'passes the tests of its folder'
SILENT_SECONDS = 150

sound = set()


class Fault(typing.NamedTuple):
    file: str
    at: int
    old: str
    new: str

    def __str__(self):
        return f'{self.file}:{self.at + 1}: {self.old.strip()} => {self.new.strip()}'

    def folder(self):
        folder = 'python/syncbn' if self.file.endswith('.py') else os.path.dirname(self.file)
        return folder if folder in BATCHES or folder.startswith('src/') else 'cl'


# From Python 3.12 on, what stands between the values of an f-string, too.
TEXTS = tokenize.STRING, tokenize.COMMENT, getattr(tokenize, 'FSTRING_MIDDLE', tokenize.STRING)


def masked_python(text):
    """The text with blanks for comments and strings."""
    lines = [[*line] for line in text.split('\n')]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in TEXTS:
            for row in range(token.start[0], token.end[0] + 1):
                begin = token.start[1] if row == token.start[0] else 0
                end = token.end[1] if row == token.end[0] else len(lines[row - 1])
                lines[row - 1][begin:end] = ' ' * (end - begin)
    return '\n'.join(map(''.join, lines))


def mutants_of(file):
    """All that the rules make in a file."""
    text = open(os.path.join(source, file)).read()
    mask, rules = (masked_python, PYTHON_RULES) if file.endswith('.py') else (masked, RULES)
    for at, (line, seen) in enumerate(zip(text.split('\n'), mask(text).split('\n'))):
        for rule, new in rules:
            for match in rule.finditer(seen):
                yield Fault(file, at, line,
                            line[:match.start()] + match.expand(new) + line[match.end():])


def drawn():
    tops = [os.path.join(source, top) for top in ('src', 'cl', 'python/syncbn')]
    files = sorted(os.path.relpath(os.path.join(at, name), source) for top in tops
                   for at, _, names in os.walk(top) for name in names
                   if name.endswith(('.c', '.h', '.cl', '.py')))
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
            yield Fault(file, at, lines[at], lines[at].replace(old, new, 1))


def started(*words, output=os.devnull):
    """make, in a session of its own."""
    return subprocess.Popen(['make', '-C', build, f'-j{jobs}', *words], start_new_session=True,
                            stdin=subprocess.DEVNULL, stdout=open(output, 'w'),
                            stderr=subprocess.DEVNULL)


def run(batch):
    """The first test of a batch that fails, at its first line, after which all stop; None: all pass."""
    output = results + '.output'
    process = started('check-TESTS', 'TESTS=' + ' '.join(batch), f'TEST_CACHE={cache}', output=output)
    said, deadline = 0, time.monotonic() + SILENT_SECONDS
    while True:
        ended = process.poll() is not None
        text = open(output, errors='replace').read()
        if len(text) > said:
            said, deadline = len(text), time.monotonic() + SILENT_SECONDS
        failed = re.search(r'^(?:FAIL|ERROR): (\S+)', text, re.MULTILINE)
        if not (failed or ended or time.monotonic() > deadline):
            time.sleep(0.2)
            continue
        if not ended:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
        return failed[1] if failed else None if ended else 'a test that does not end'


def failed_of(batch):
    """The same, of tests to be built, which must fail twice: deadlines pass on a busy machine."""
    wanted = [test for test in batch if not test.endswith(('.sh', '.py'))] + ['tools/syncbn/syncbn']
    if any(test.startswith('tests/mpi/') or test == 'tests/faults/mpi.sh' for test in batch):
        wanted.append('check-mutants-here')
    if started(*wanted).wait():
        return 'does not build'
    failed = run(batch)
    return run([failed]) if failed in batch else failed


def parses(path):
    try:
        compile(open(path).read(), path, 'exec')
    except SyntaxError:
        return False
    return True


def outcome_of(faults, batches):
    """The test that sees the faults, planted for as long as this takes; None: no test of the batches."""
    paths = {os.path.join(source, fault.file) for fault in faults}
    texts = {path: open(path).read() for path in paths}
    write(results + '.planted', json.dumps(texts))
    broken = False
    for path, text in texts.items():
        lines = text.split('\n')
        for fault in faults:
            if os.path.join(source, fault.file) == path:
                lines[fault.at] = fault.new
        write(path, '\n'.join(lines))
        broken |= path.endswith('.py') and not parses(path)
    known = [*tests, RACES] if any(fault.file.startswith('cl/') for fault in faults) else tests
    failed = 'does not build' if broken or started('tools/syncbn/syncbn').wait() else None
    done = set()
    for batch in batches:
        later = tuple('tests/' + name for name in SLOW if name != batch)
        names = tuple('tests/' + name for name in batch.split())
        chosen = [test for test in known
                  if test.startswith(names) and not test.startswith(later) and test not in done]
        done.update(chosen)
        if chosen and not failed:
            failed = failed_of(chosen)
    restore()
    if failed in done and failed not in sound:
        sound.add(failed)
        if failed_of([failed]):
            sys.exit(f'{failed} fails without a fault')
    return failed


def judged_together(faults):
    """(fault, outcome) of those that the tests of their folders pass: the other tests run once for all of
    them, and for each half if one fails."""
    outcome = outcome_of(faults, [*SLOW, REST])
    if not outcome or len(faults) == 1:
        return [(fault, outcome or 'survives') for fault in faults]
    half = len(faults) // 2
    return judged_together(faults[:half]) + judged_together(faults[half:])


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def restore():
    """Takes out what is planted: also after a run that was killed."""
    if os.path.exists(results + '.planted'):
        for path, text in json.load(open(results + '.planted')).items():
            write(path, text)
        os.unlink(results + '.planted')


def main():
    restore()
    faults = list(listed() if named else drawn())
    reasons = open(os.path.join(source, 'tests/mutants.equivalent'))
    equivalent = {f'{old} => {new}' for line in reasons
                  for old, *all_new in [line.split(' because ')[0].split(' => ')] for new in all_new}
    known = {}
    for fault in faults:
        line = f'{fault.file}: {fault.old.strip()} => '
        if equivalent & {line + fault.new.strip(), line + '*'}:
            known[str(fault)] = 'equivalent'
    if os.path.exists(results):
        known.update(json.loads(line) for line in open(results))

    def learn(fault, outcome):
        known[str(fault)] = outcome
        with open(results, 'a') as out:
            out.write(json.dumps([str(fault), outcome]) + '\n')
        print(f'{fault}: {outcome}', flush=True)

    for fault in faults:
        if str(fault) not in known:
            least = 'survives' if fault.file.endswith('.py') else PASSED
            learn(fault, outcome_of([fault], BATCHES.get(fault.folder(), PASS)) or least)
    while left := {fault[:2]: fault for fault in faults if known[str(fault)] == PASSED}:
        for fault, outcome in judged_together([*left.values()]):
            learn(fault, outcome)

    table = collections.defaultdict(collections.Counter)
    killers = collections.Counter()
    for fault in faults:
        outcome = known[str(fault)]
        if outcome in ('equivalent', 'survives'):
            table[fault.folder()][outcome] += 1
        elif outcome != 'does not build':
            table[fault.folder()]['caught'] += 1
            killers[outcome] += 1
    print(f'\n{"folder":16} {"caught":>8} {"survived":>8} {"equivalent":>10}')
    for folder, row in [*sorted(table.items()), ('all', sum(table.values(), collections.Counter()))]:
        caught, survived = row['caught'], row['survives']
        part = f'{100 * caught // (caught + survived)} %' if caught + survived else ''
        print(f'{folder:16} {caught:8} {survived:8} {row["equivalent"]:10}  {part}')
    for test, count in killers.most_common():
        print(f'{count:4} {test}')


main()
