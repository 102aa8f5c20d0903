"""Reads the file of limits: lines "VALUE KERNEL PLACE OPERATOR NUMBER", of which the last that fits
holds. KERNEL and PLACE are patterns of the shell; # begins a comment."""
import fnmatch
import operator

OPERATORS = {'<=': operator.le, '>=': operator.ge}


class Limits:
    def __init__(self, path):
        self.lines = []
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                words = line.split('#')[0].split()
                if not words:
                    continue
                if len(words) != 5 or words[3] not in OPERATORS:
                    raise SystemExit('%s:%d: expected VALUE KERNEL PLACE <= or >= NUMBER, got %s' %
                                     (path, number, line.strip()))
                self.lines.append((words[0], words[1], words[2], words[3], float(words[4])))

    def broken(self, facts):
        """Sentences for the limits that these facts break."""
        faults = []
        for value, got in facts.values.items():
            found = None
            for line in self.lines:
                if (line[0] == value and fnmatch.fnmatchcase(facts.name, line[1]) and
                        fnmatch.fnmatchcase(facts.place, line[2])):
                    found = line
            if found and not OPERATORS[found[3]](round(got, 3), found[4]):
                faults.append('%s: expected %s %g, got %.3f' % (value, found[3], found[4], got))
        return faults
