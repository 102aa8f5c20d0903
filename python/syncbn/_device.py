"""This machine's CPU as an OpenCL device."""

from __future__ import annotations

import os
import threading
from ctypes import byref, c_void_p

from syncbn import _c


class Device:
    """A queue, whose groups take tensors in the host's memory."""

    def __init__(self, queue: int) -> None:
        self.queue = queue
        self.forked = False
        os.register_at_fork(after_in_child=self._fork)

    def _fork(self) -> None:
        self.forked = True

    def check_process(self) -> None:
        """Raises in a child of fork: OpenCL's drivers have threads, which a child lacks."""
        if self.forked:
            raise _c.SyncBatchNormError(
                _c.CONSTANTS["SBN_INVALID_ARGUMENT"],
                "process: expected the one that has used syncbn first, got its child by fork; "
                "start processes by spawn, or fork before the first pass",
            )


_lock = threading.Lock()
_cpu: Device | None = None


def cpu() -> Device:
    """The first CPU whose driver can run the library's kernels; the same one in each call."""
    global _cpu
    with _lock:
        if _cpu is None:
            queue = c_void_p()
            _c.check(_c.sbn_host_queue(byref(queue)))
            assert queue.value
            _cpu = Device(queue.value)
    return _cpu
