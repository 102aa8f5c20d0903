"""TAP, for the tests of the Python package."""

import gc
import hashlib
import os
import re
import sys
import traceback
import weakref
from contextlib import contextmanager

_count = 0


def ok(condition, what, *details):
    """One check; details are shown when it fails."""
    global _count
    _count += 1
    print(f"{'ok' if condition else 'not ok'} {_count} - {what}", flush=True)
    if not condition:
        for detail in details:
            print("\n".join(f"# {line}" for line in str(detail).splitlines()), flush=True)


def caught(call, *arguments, **keywords):
    """The class of a call's exception, and what it says."""
    try:
        call(*arguments, **keywords)
    except BaseException as error:
        return type(error), str(error)
    return type(None), "nothing was raised"


def raised(call, *arguments):
    """What an exception of a call says."""
    return "{0.__name__}: {1}".format(*caught(call, *arguments))


def raises(kind, pattern, call, *arguments, **keywords):
    """A check that a call fails with an exception of this class, whose text is this pattern."""
    found, told = caught(call, *arguments, **keywords)
    right = issubclass(found, kind) and re.search(pattern, told)
    ok(right, f"{kind.__name__}: {pattern}", f"{found.__name__}: {told}")


def equal(these, those):
    """Have lists of tensors the same bits?"""
    return len(these) == len(those) and all(a.equal(b) for a, b in zip(these, those))


def near(these, those, **tolerances):
    """Are the tensors of two lists near each other?"""
    return all(a.allclose(b, **tolerances) for a, b in zip(these, those))


def digest(tensors):
    """Of the bits of tensors in their logical order."""
    import torch

    made = hashlib.sha256()
    for tensor in tensors:
        flat = tensor.detach().contiguous().view(-1)
        made.update(bytes(flat.view(torch.uint8).tolist()))
    return made.hexdigest()


def keeps_no_tensor(call, shape):
    """A check that a call of a tensor of this shape, which fails, leaves no reference to it."""
    import torch

    failing = torch.randn(shape)
    freed = weakref.ref(failing)
    gc.disable()
    raised(call, failing)
    del failing
    ok(freed() is None, "an error keeps no tensor")
    gc.enable()


def skip(what, reason):
    """A check that cannot be made here."""
    ok(True, f"{what} # SKIP {reason}")


@contextmanager
def part(name):
    """Checks whose end by an exception is a failure."""
    try:
        yield
    except Exception:
        ok(False, name, traceback.format_exc())


def end():
    """The plan, and the end without clearing up, which tests of the end make elsewhere."""
    print(f"1..{_count}", flush=True)
    sys.stdout.flush()
    os._exit(0)
