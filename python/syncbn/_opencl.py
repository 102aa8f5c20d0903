"""OpenCL's calls, for what the library takes in a cl_mem alone."""

from __future__ import annotations

from ctypes import byref, c_int, c_size_t, c_uint32, c_uint64, c_void_p, sizeof

from syncbn import _c

_QUEUE_CONTEXT = 0x1090
_CONTEXT_DEVICES = 0x1081
_MEM_CONTEXT = 0x1106
_MEM_READ_WRITE_USE_HOST_PTR = 1 << 0 | 1 << 3
_MAP_READ = 1 << 0
_TRUE = 1

# OpenCL's loader is one of the library's own dependencies.
_info = c_int, c_void_p, c_uint32, c_size_t, c_void_p, c_void_p
_queue_info = _c.function(_c.lib, "clGetCommandQueueInfo", *_info)
_context_info = _c.function(_c.lib, "clGetContextInfo", *_info)
_mem_info = _c.function(_c.lib, "clGetMemObjectInfo", *_info)
_create_queue = _c.function(
    _c.lib, "clCreateCommandQueue", c_void_p, c_void_p, c_void_p, c_uint64, c_void_p
)
_create_buffer = _c.function(
    _c.lib, "clCreateBuffer", c_void_p, c_void_p, c_uint64, c_size_t, c_void_p, c_void_p
)
_release_buffer = _c.function(_c.lib, "clReleaseMemObject", c_int, c_void_p)
_finish = _c.function(_c.lib, "clFinish", c_int, c_void_p)
_map = _c.function(
    _c.lib,
    "clEnqueueMapBuffer",
    c_void_p,
    *(c_void_p, c_void_p, c_uint32, c_uint64, c_size_t, c_size_t),
    *(c_uint32, c_void_p, c_void_p, c_void_p),
)
_unmap = _c.function(
    _c.lib,
    "clEnqueueUnmapMemObject",
    *(c_int, c_void_p, c_void_p, c_void_p, c_uint32, c_void_p, c_void_p),
)


def context_of(mem: int) -> int:
    """The context of a cl_mem."""
    context = c_void_p()
    _check(
        _mem_info(mem, _MEM_CONTEXT, sizeof(context), byref(context), None), "clGetMemObjectInfo"
    )
    return context.value or 0


def queue_in(context: int) -> int:
    """A new queue, in order, on the first device of a context."""
    devices, error = (c_void_p * 32)(), c_int()
    _check(
        _context_info(context, _CONTEXT_DEVICES, sizeof(devices), devices, None), "clGetContextInfo"
    )
    queue = _create_queue(context, devices[0], 0, byref(error))
    _check(error.value, "clCreateCommandQueue")
    return int(queue)


def finish(queue: int) -> None:
    """Waits for all that a queue holds."""
    _check(_finish(queue), "clFinish")


class Buffers:
    """cl_mems on memory of the host, which drivers of CPUs use as it is (PoCL) or keep a copy of."""

    def __init__(self, queue: int) -> None:
        context = c_void_p()
        status = _queue_info(queue, _QUEUE_CONTEXT, sizeof(context), byref(context), None)
        _check(status, "clGetCommandQueueInfo")
        self._queue, self._context = queue, context
        self._wrapped: list[tuple[int, int]] = []

    def wrap(self, address: int, size: int) -> int | None:
        """A cl_mem on `size` bytes; None for none."""
        if not size:
            return None
        error = c_int()
        mem = _create_buffer(
            self._context, _MEM_READ_WRITE_USE_HOST_PTR, size, address, byref(error)
        )
        _check(error.value, "clCreateBuffer")
        self._wrapped.append((mem, size))
        return int(mem)

    def finish(self) -> None:
        """Waits for the queue; then what it wrote is in the host's memory."""
        error = c_int()
        for mem, size in self._wrapped:
            pointer = _map(
                *(self._queue, mem, _TRUE, _MAP_READ, 0, size, 0, None, None, byref(error))
            )
            _check(error.value, "clEnqueueMapBuffer")
            _check(_unmap(self._queue, mem, pointer, 0, None, None), "clEnqueueUnmapMemObject")
        finish(self._queue)

    def release(self) -> None:
        """Ends the cl_mems."""
        for mem, _size in self._wrapped:
            _release_buffer(mem)
        self._wrapped.clear()


def _check(status: int, call: str) -> None:
    if status:
        raise _c.SyncBatchNormError(status, f"{call}: {_c.sbn_strerror(status).decode()}")
