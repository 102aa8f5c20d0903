"""Reads what `syncbn bench --json` wrote.

  report.py goals FILE: the goals with their verdicts. A goal is judged by the worst of all problems and
                        passes that it is about: by medians, never by a lucky round
  report.py data FILE:  columns for plot.gp: problems of 0.1 MB and more in dense floats without a fusion
"""
import json
import math
import re
import sys

MB = 1e6
PASSES = ("forward", "backward")


class Problem:
    def __init__(self, entry):
        self.entry = entry
        self.line = entry["problem"]
        self.bytes = entry.get("bytes", 0)
        self.last = entry.get("layout") == "last"
        self.f32 = entry.get("type") not in ("f16", "bf16")
        self.extents = dict(re.findall("(mb|ic|id|ih|iw|il)([0-9]+)", self.line.split(",")[0]))
        activation = entry.get("activation")
        self.relu = activation == "relu"
        self.residual = entry.get("residual", False)
        self.from_output = entry.get("from_output", False)
        self.unfused = not (self.residual or self.from_output or activation in ("relu", "leaky"))
        self.plain = self.f32 and self.unfused
        self.tiny = self.extents.get("mb") == "2" and set(self.extents) == {"mb", "ic"}

    def median(self, entries, key, **values):
        """The median under the key in the first entry that has these values; NaN without one."""
        for entry in self.entry.get(entries, []):
            if all(entry.get(name) == value for name, value in values.items()) and key in entry:
                return float(entry[key]["median"])  # "nan" where none was measured
        return math.nan

    def series(self, contender, which, key="share_of_copy"):
        return self.median("series", key, contender=contender, **{"pass": which})

    def against(self, other, which, key="quotient", of="syncbn"):
        return self.median("comparisons", key, of=of, **{"with": other, "pass": which})

    def onednn(self, which):
        return (self.entry.get("fastest_onednn") or {}).get(which)

    # What goals are about.
    def share(self, which):
        return self.series("syncbn", which)

    def same_layout(self, which):
        return 1 / self.against("onednn nhwc" if self.last else "onednn nchw", which)

    def best_layout(self, which):
        return 1 / self.against(self.onednn(which), which)

    def exactness(self, which):
        return 100 * (self.against("unordered", which) - 1)

    def apart(self, which):
        return 100 * (self.against("apart", which, of="synchronised") - 1)

    def beyond(self, which):
        return 1e6 * self.against("unordered", which, "difference")

    def returned(self, which):
        return 1e6 * self.series("syncbn", which, "returned")

    def workspace(self, _):
        return self.entry.get("workspace_bytes", math.nan) / max(MB, self.bytes / 100)


def size(least, most=math.inf):
    return lambda p: p.plain and least * MB <= p.bytes <= most * MB


def tiny(channels):
    return lambda p: p.plain and p.tiny and p.extents["ic"] == str(channels)


def laid(last, least):
    return lambda p: size(least)(p) and p.last == last


def copies(least, first, last):
    """Goals of a pass's speed as a share of copies of as many bytes."""
    return [(f"{which} against {word} passes of a copy, >= {least} MB, channels {'last' if at else 'first'}", "",
             ">=", last if at else first, Problem.share, laid(at, least), (which,))
            for which, word in (("forward", "three"), ("backward", "five")) for at in (False, True)]


ABOVE_4 = size(math.nextafter(4, 5))

# What, unit, relation and limit, value, which problems, which passes, and the share of them that must meet it.
ON_CPU = [
    ("against oneDNN given the same layout, >= 0.4 MB", " x", ">=", 1, Problem.same_layout, size(0.4)),
    ("against oneDNN's best layout, > 4 MB", " x", ">=", 0.9, Problem.best_layout, ABOVE_4),
    ("the same, on half of them", " x", ">=", 1, Problem.best_layout, ABOVE_4, PASSES, 0.5),
    ("against oneDNN's best layout, 0.4 to 4 MB", " x", ">=", 0.7, Problem.best_layout, size(0.4, 4)),
    ("exact sums against unordered ones, >= 16 MB, cost", " %", "<=", 10, Problem.exactness, size(16)),
    ("exact sums against unordered ones, >= 0.4 MB, cost", " %", "<=", 25, Problem.exactness, size(0.4)),
    *copies(16, 0.85, 0.8),
    ("fixed cost of a pass beyond its kernels, 64 channels", " us", "<=", 20, Problem.beyond, tiny(64)),
    ("fixed cost of a pass beyond its kernels, 2048 channels", " us", "<=", 40, Problem.beyond, tiny(2048)),
    ("time until a pass returns, 64 channels", " us", "<=", 30, Problem.returned, tiny(64)),
    ("time until a pass returns, 2048 channels", " us", "<=", 30, Problem.returned, tiny(2048)),
    ("synchronising two devices of a context, >= 16 MB, costs", " %", "<=", 2, Problem.apart, size(16)),
    ("synchronising two devices of a context, >= 3 MB, costs", " %", "<=", 10, Problem.apart, size(3)),
]
ON_ANY = [
    ("workspace, as a share of 1 % of the tensor or 1 MB", "", "<=", 1, Problem.workspace,
     lambda p: p.plain and not p.tiny, ("forward",)),
    ("f16 and bf16 against f32 of the same shape, >= 16 MB of f32, time", " x", "<=", 0.65,
     lambda p, which: p.against("f32", which), lambda p: not p.f32 and p.unfused and p.bytes >= 8 * MB),
    ("fused ReLU against none, >= 16 MB, time", " x", "<=", 1.03, lambda p, which: p.against("norm alone", which),
     lambda p: p.f32 and p.relu and not p.residual and p.bytes >= 16 * MB),
    ("addition and ReLU fused against apart, >= 16 MB, time", " x", "<=", 0.6,
     lambda p, which: p.against("separate", which), lambda p: p.f32 and p.relu and p.residual and p.bytes >= 16 * MB),
    ("backward from the output against from x, >= 16 MB, time", " x", "<=", 1.1,
     lambda p, which: p.against("from x", which), lambda p: p.f32 and p.from_output and p.bytes >= 16 * MB,
     ("backward",)),
]
ON_GPU = copies(64, 0.85, 0.85)


def judge(problems, what, unit, relation, limit, value, about, passes=PASSES, needed=1):
    values = [(value(p, which), which, p.line) for p in problems if about(p) for which in passes]
    values = [v for v in values if not math.isnan(v[0])]
    if not values:
        return f"{what:<66}  not measured"
    worst = (min if relation == ">=" else max)(values, key=lambda v: v[0])
    met = sum(v[0] >= limit if relation == ">=" else v[0] <= limit for v in values)
    verdict = "met   " if met >= needed * len(values) else "missed"
    return (f"{what:<66} {worst[0]:8.2f}{unit:<3}  goal {relation} {limit:g}{unit:<3}  {verdict}"
            f"  {met} of {len(values)}; worst: {worst[1]} {worst[2]}")


def goals(report, problems):
    dense = [p for p in problems if not p.entry.get("views")]
    gpu = report["devices"][0]["type"] == "gpu" if report.get("devices") else False
    for goal in [*([] if gpu else ON_CPU), *ON_ANY, *(ON_GPU if gpu else [])]:
        print(judge(dense, *goal))


def data(_, problems):
    print("# shape layout MB, forward: syncbn unordered onednn, backward: the same")
    for p in problems:
        if p.bytes >= 0.1 * MB and p.plain and not p.entry.get("views"):
            shares = [p.series(of, which) for which in PASSES for of in ("syncbn", "unordered", p.onednn(which))]
            print("x".join(p.extents.values()), "last" if p.last else "first", f"{p.bytes / MB:.2f}",
                  *(f"{number:.3f}" for number in shares))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("goals", "data"):
        sys.exit(__doc__)
    try:
        with open(sys.argv[2], encoding="utf-8") as file:
            report = json.load(file)
        problems = [Problem(entry) for entry in report["problems"] if entry["ok"]]
    except OSError as error:
        sys.exit(f"report: {error}")
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"report: {sys.argv[2]} is no report of syncbn bench: {error}")
    if failed := len(report["problems"]) - len(problems):
        print(f"# {failed} problems failed, and are not judged")
    (goals if sys.argv[1] == "goals" else data)(report, problems)


main()
