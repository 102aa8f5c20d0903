"""A CPU as an OpenCL device, and buffers on the memory of the host."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import byref, c_int, c_uint32, c_void_p

from syncbn import _c

_DEVICE_TYPE_CPU = 1 << 1
_MEM_READ_WRITE_USE_HOST_PTR = 1 << 0 | 1 << 3
_MAP_READ = 1 << 0
_TRUE = 1


class Device:
    """A context and an in-order queue on a CPU.

    Drivers of CPUs use the caller's memory as it is (PoCL), or keep a copy of it, as OpenCL lets
    them. `copies` says which, found by trying: then what a pass wrote has to be mapped.
    """

    def __init__(self, device: int) -> None:
        error = c_int()
        one = (c_void_p * 1)(device)
        self.context = _c.clCreateContext(None, 1, one, None, None, byref(error))
        _c.check_opencl(error.value, "clCreateContext")
        self.queue = _c.clCreateCommandQueue(self.context, device, 0, byref(error))
        _c.check_opencl(error.value, "clCreateCommandQueue")
        self._error = error
        self._error_at = ctypes.addressof(error)
        self.forked = False
        self.copies = False
        self.copies = self._is_copying()
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

    def wrap(self, address: int, size: int) -> int:
        """A cl_mem on `size` bytes of the host's memory, to be released."""
        mem = _c.clCreateBuffer(
            self.context, _MEM_READ_WRITE_USE_HOST_PTR, size, address, self._error_at
        )
        if not mem:
            _c.check_opencl(self._error.value, "clCreateBuffer")
        return mem  # type: ignore[no-any-return]

    def finish(self, written: list[tuple[int, int]]) -> None:
        """Waits for the queue; then what it wrote to these buffers, (cl_mem, bytes), is in the
        host's memory."""
        if self.copies:
            for mem, size in written:
                pointer = _c.clEnqueueMapBuffer(
                    self.queue, mem, _TRUE, _MAP_READ, 0, size, 0, None, None, self._error_at
                )
                _c.check_opencl(self._error.value, "clEnqueueMapBuffer")
                _c.check_opencl(
                    _c.clEnqueueUnmapMemObject(self.queue, mem, pointer, 0, None, None),
                    "clEnqueueUnmapMemObject",
                )
        status = _c.clFinish(self.queue)
        if status:
            _c.check_opencl(status, "clFinish")

    def _is_copying(self) -> bool:
        """Fills memory that begins behind a page's, as tensors may, and looks at it unmapped."""
        memory = (c_uint32 * 2048)()
        start = ctypes.addressof(memory) + 4
        one = c_uint32(1)
        mem = self.wrap(start, 4096)
        try:
            status = _c.clEnqueueFillBuffer(self.queue, mem, byref(one), 4, 0, 4096, 0, None, None)
            _c.check_opencl(status, "clEnqueueFillBuffer")
            self.finish([])
            return list(memory[1:1025]) != [1] * 1024
        finally:
            _c.clReleaseMemObject(mem)


def _cpus() -> list[int]:
    """The CPUs of all platforms."""
    platforms, count = (c_void_p * 32)(), c_uint32()
    found: list[int] = []
    if _c.clGetPlatformIDs(32, platforms, byref(count)):
        return found
    for platform in platforms[: count.value]:
        devices, number = (c_void_p * 32)(), c_uint32()
        if not _c.clGetDeviceIDs(platform, _DEVICE_TYPE_CPU, 32, devices, byref(number)):
            found += [device for device in devices[: number.value] if device]
    return found


_lock = threading.Lock()
_cpu: Device | None = None


def cpu() -> Device:
    """The first CPU whose driver can run the library's kernels; the same one in each call."""
    global _cpu
    with _lock:
        if _cpu is None:
            reasons = []
            for device in _cpus():
                status = _c.sbn_device_check(device)
                if not status:
                    _cpu = Device(device)
                    break
                reasons.append(str(_c.SyncBatchNormError(status)))
            else:
                raise _c.SyncBatchNormError(
                    -1,
                    "OpenCL: expected a driver for this machine's CPU, got "
                    + ("; ".join(reasons) or "none; Debian's is pocl-opencl-icd"),
                )
    return _cpu
