"""The tables of doc/scaling.md from what tools/bench/scaling/scaling measured, in microseconds, and a model:

  S(P, n)  a sum of n bytes over P ranks, as MPICH adds: up to 2 KB by recursive doubling, L steps of n
           bytes, L = log2 P; larger ones halved and doubled, 2 L steps and 2 n (P - 1) / P bytes in all.
           A step costs alpha, a byte beta
  pass     S(P, header and words) + what the host does for each channel, gamma

More ranks than cores take turns: bytes and channels cost P / cores times as much, and each step waits
sigma for every turn of the others. The model is held against first quartiles: what else a machine does
only adds. Fitted and judged are up to two ranks a core; beyond that the scheduler decides.

  model.py COLUMNS
"""
import math
import sys

HEADER = 144
BYTES = {'forward': lambda C: 16 + 64 * C, 'backward': lambda C: 16 + 72 * C}
# Channels of ResNet-50's batch norms.
LAYERS = [64] + [width for stage, blocks in enumerate((3, 4, 6, 3)) for width in
                 [64 << stage, 64 << stage, 256 << stage] * blocks + [256 << stage]]
RANKS = (2, 8, 32, 128, 1250, 4095, 10000)

with open(sys.argv[1], encoding='ascii') as file:
    CORES = int(file.readline().split()[2])
    LINES = [line.split() for line in file if not line.startswith('#')]
MEASURED = {(int(P), int(C), name): [float(n) for n in rest] for P, C, name, *rest in LINES}
P_ALL, C_ALL = (list(dict.fromkeys(key[i] for key in MEASURED)) for i in (0, 1))


def low(P, C, name):
    return MEASURED[P, C, name][1]


def steps(P, n):
    return (1 if n <= 2048 else 2) * math.log2(P)


def moved(P, n):
    return n * math.log2(P) if n <= 2048 else 2 * n * (P - 1) / P


def turns(P):
    return max(1, P / CORES)


def terms(P, n):
    """What alpha, sigma and beta are multiplied by."""
    return [steps(P, n), steps(P, n) * (turns(P) - 1), moved(P, n) * turns(P)]


def least_squares(rows):
    """The factors of rows of terms that are nearest to 1, by Gauss and Jordan; 0 of a term that is always 0."""
    size = len(rows[0]) if rows else 0
    A = [[sum(row[i] * row[j] for row in rows) for j in range(size)] + [sum(row[i] for row in rows)]
         for i in range(size)]
    for i in range(size):
        for other in range(size):
            if other != i and A[i][i]:
                factor = A[other][i] / A[i][i]
                A[other] = [a - factor * b for a, b in zip(A[other], A[i])]
    return [row[size] / row[i] if row[i] else 0 for i, row in enumerate(A)]


JUDGED = [(P, C) for P in P_ALL for C in C_ALL if P > 1 and turns(P) <= 2]
FACTORS = least_squares([[term / low(P, C, 'sum') for term in terms(P, BYTES['forward'](C))]
                         for P, C in JUDGED]) or [0, 0, 0]


def host_of(which):
    """(fixed, a channel): a transport that answers at once against none, on one rank; a straight line."""
    costs = [low(1, C, 'echo-' + which) - low(1, C, 'alone-' + which) for C in C_ALL]
    n, C_mean, mean = len(C_ALL), sum(C_ALL) / len(C_ALL), sum(costs) / len(costs)
    slope = (sum((C - C_mean) * cost for C, cost in zip(C_ALL, costs)) /
             sum((C - C_mean)**2 for C in C_ALL)) if n > 1 else 0
    return max(0, mean - slope * C_mean), slope


HOST = {which: host_of(which) for which in BYTES}


def S(P, n):
    return sum(factor * term for factor, term in zip(FACTORS, terms(P, n)))


def host(C, which):
    return HOST[which][0] + HOST[which][1] * C


def table(which):
    print(f'\nCost of combining a {which} pass\n\n| channels |' + ''.join(f' {P} ranks |' for P in P_ALL))
    print('|---|' + '---|' * len(P_ALL))
    for C in C_ALL:
        spreads = (MEASURED[P, C, 'combine-' + which] for P in P_ALL)
        print(f'| {C} |' + ''.join(' %.0f [%.0f %.0f] |' % tuple(s[:3]) for s in spreads))


def judge(what, measured_of, model_of):
    quotients = [measured_of(P, C) / model_of(P, C) for P, C in JUDGED]
    if quotients and min(quotients) > 0:
        mean = sum(math.log(quotient)**2 for quotient in quotients) / len(quotients)
        print(f'{what}: off by a mean factor of {math.exp(math.sqrt(mean)):.2f}')
    else:
        print(f'{what}: no factor, less than nothing was measured or modelled')


def carry_on(name, alpha, beta):
    print(f'\n{name}: alpha {alpha:.3g} us, beta {1024 * beta:.3g} us a KB; milliseconds of a step of ResNet-50\n')
    print('| ranks | latency | bytes | host | in all |\n|---|---|---|---|---|')
    own = sum(host(C, which) for C in LAYERS for which in BYTES) / 1000
    for P in RANKS:
        sums = [HEADER + of(C) for C in LAYERS for of in BYTES.values()]
        latency = sum(steps(P, n) for n in sums) * alpha / 1000
        moving = sum(moved(P, n) for n in sums) * beta / 1000
        print(f'| {P} | {latency:.2f} | {moving:.2f} | {own:.2f} | {latency + moving + own:.2f} |')


for each in BYTES:
    table(each)
(fixed, slope), (fixed_back, slope_back) = HOST.values()
print('\nalpha %.2f us a step, sigma %.2f us a step and turn, beta %.3f us a KB; the host: %.1f us and %.1f ns '
      'a channel forward, %.1f us and %.1f ns backward' %
      (FACTORS[0], FACTORS[1], 1024 * FACTORS[2], fixed, 1000 * slope, fixed_back, 1000 * slope_back))
judge('a sum', lambda P, C: low(P, C, 'sum'), lambda P, C: S(P, BYTES['forward'](C)))
judge('combining a forward pass', lambda P, C: low(P, C, 'joined-forward') - low(P, C, 'alone-forward'),
      lambda P, C: S(P, HEADER + BYTES['forward'](C)) + host(C, 'forward') * turns(P))
carry_on('InfiniBand or RoCE, 100 Gbit/s', 3, 1 / 12000)
carry_on('Ethernet, 25 Gbit/s, TCP', 30, 1 / 3000)
