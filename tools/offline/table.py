"""The tables of doc/devices.md, in Markdown; * marks a share that misses its goal."""


def rows(title, head, lines):
    text = ['', title, '', '| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    return text + ['| ' + ' | '.join(line) + ' |' for line in lines]


def write(path, steps, networks, limits):
    text = []
    devices = list(dict.fromkeys(s.device for s in steps))
    cells = {(s.problem, s.kernel.split('_')[0], 'apply' in s.kernel, s.variant, s.device):
             '%.1f %%%s, %.0f us, %d' % (100 * s.time.share, '*' if limits.misses(s, 'share') else '',
                                         s.time.total, s.groups) for s in steps}
    keys = list(dict.fromkeys(key[:4] for key in cells))
    text += rows('Modelled share of peak bandwidth (* misses its goal), time, work-groups', ['step', *devices],
                 [['%s %s %s%s' % (problem, way, 'apply' if applies else 'reduce', variant)] +
                  [cells.get((problem, way, applies, variant, device), '') for device in devices]
                  for problem, way, applies, variant in keys])
    cells = {(n.setting, n.device): '%.2f%s, %d' % (n.time, '*' if limits.misses(n, 'step') else '',
                                                    n.commands) for n in networks}
    settings = list(dict.fromkeys(n.setting for n in networks))
    text += rows('ResNet-50 with 2 images, a step: modelled ms (* misses its goal), commands',
                 ['setting', *devices], [[(setting or ',first')[1:]] + [cells.get((setting, d), '')
                                          for d in devices] for setting in settings])
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(text) + '\n')
