"""Reads the file of limits and goals: lines "VALUE KERNEL OPERATOR PLACE:NUMBER ...", or "goal" and the same,
of which the last PLACE that fits holds. KERNEL and PLACE are patterns of the shell; # begins a comment.
A limit that is broken is a failure; a goal that is missed is said beside what was found."""
import fnmatch
import operator

OPERATORS = {'<=': operator.le, '>=': operator.ge}


def find(lines, value, facts):
    """The last line that fits: (operator, number), or None."""
    for line in reversed(lines):
        if (line[0] == value and fnmatch.fnmatchcase(facts.name, line[1]) and
                fnmatch.fnmatchcase(facts.place, line[2])):
            return line[3:]
    return None


def holds(got, line):
    return OPERATORS[line[0]](round(got, 3), line[1])


class Limits:
    def __init__(self, path):
        self.limits, self.goals = [], []
        self.met = self.missed = 0
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                words = line.split('#')[0].split()
                if not words:
                    continue
                of = self.goals if words[0] == 'goal' else self.limits
                words = words[words[0] == 'goal':]
                places = [word.rpartition(':') for word in words[3:]]
                try:
                    of += [(words[0], words[1], place, words[2], float(most)) for place, _, most in places]
                except ValueError:
                    places = []
                if not places or words[2] not in OPERATORS:
                    raise SystemExit('%s:%d: expected [goal] VALUE KERNEL <= or >= PLACE:NUMBER..., got %s' %
                                     (path, number, line.strip()))

    def broken(self, facts):
        """Sentences for the limits that these facts break."""
        faults = []
        for value, got in facts.values.items():
            line = find(self.limits, value, facts)
            if line and not holds(got, line):
                faults.append('%s: expected %s %g, got %.3f' % (value, *line, got))
        return faults

    def verdict(self, facts):
        """" (share: goal >= 0.8 missed, spills: ...)" for the values that have a goal."""
        words = []
        for value, got in facts.values.items():
            line = find(self.goals, value, facts)
            if not line:
                continue
            met = holds(got, line)
            self.met += met
            self.missed += not met
            words.append('%s %.3g: goal %s %g %s' % (value, got, *line, 'met' if met else 'MISSED'))
        return ' (%s)' % ', '.join(words) if words else ''

    def misses(self, facts, value):
        line = find(self.goals, value, facts)
        return bool(line) and not holds(facts.values[value], line)
