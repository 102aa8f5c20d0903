"""This machine's CPU as an OpenCL device."""

from __future__ import annotations

import os
import threading
from ctypes import byref, c_void_p
from typing import Any

from syncbn import _c

_HOST = _c.CONSTANTS["SBN_MEMORY_HOST"]
_BUFFERS_AT = _c.Shard.x.offset
_BUFFERS = _c.packer(
    _c.Shard,
    *("x", "y", "dy", "dx", "residual", "residual_grad"),
    *("weight", "bias", "weight_grad", "bias_grad"),
    *("memory", "running_mean", "running_var"),
)


class Device:
    """A queue, whose groups take tensors in the host's memory."""

    def __init__(self, queue: int) -> None:
        self.queue = queue
        self.forked = False
        os.register_at_fork(after_in_child=self._fork)

    def _fork(self) -> None:
        self.forked = True

    def fill(
        self,
        shard: _c.Shard,
        *,
        x: Any = None,
        y: Any = None,
        dy: Any = None,
        dx: Any = None,
        residual: Any = None,
        residual_grad: Any = None,
        weight: Any = None,
        bias: Any = None,
        weight_grad: Any = None,
        bias_grad: Any = None,
        running_mean: Any = None,
        running_var: Any = None,
    ) -> None:
        """Fills a replica's shard with dense tensors; None is none."""
        _BUFFERS.pack_into(
            shard,
            _BUFFERS_AT,
            0 if x is None else x.data_ptr(),
            0 if y is None else y.data_ptr(),
            0 if dy is None else dy.data_ptr(),
            0 if dx is None else dx.data_ptr(),
            0 if residual is None else residual.data_ptr(),
            0 if residual_grad is None else residual_grad.data_ptr(),
            0 if weight is None else weight.data_ptr(),
            0 if bias is None else bias.data_ptr(),
            0 if weight_grad is None else weight_grad.data_ptr(),
            0 if bias_grad is None else bias_grad.data_ptr(),
            _HOST,
            0 if running_mean is None else running_mean.data_ptr(),
            0 if running_var is None else running_var.data_ptr(),
        )

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
    if _cpu is None:  # each pass asks
        with _lock:
            if _cpu is None:
                queue = c_void_p()
                _c.check(_c.sbn_host_queue(byref(queue)))
                assert queue.value
                _cpu = Device(queue.value)
    return _cpu
