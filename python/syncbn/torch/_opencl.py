"""Tensors of an OpenCL backend of PyTorch: their storage's pointer is a cl_mem."""

from __future__ import annotations

import os
import threading
from ctypes import byref, c_int, c_size_t, c_uint32, c_void_p, sizeof
from typing import Callable

from torch import Tensor

from syncbn import _c
from syncbn._device import Device

_MEM_CONTEXT = 0x1106
_CONTEXT_DEVICES = 0x1081

_mem_info = _c.function(
    _c.lib,
    "clGetMemObjectInfo",
    *(c_int, c_void_p, c_uint32, c_size_t, c_void_p, c_void_p),
)
_context_info = _c.function(
    _c.lib, "clGetContextInfo", *(c_int, c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)
)

_backends: dict[str, Callable[[], object]] = {}
_devices: dict[int, BackendDevice] = {}
_lock = threading.Lock()


def register_opencl_backend(device_type: str, synchronize: Callable[[], object]) -> None:
    """Lets SyncBatchNorm take tensors of an OpenCL backend of PyTorch, without copies.

        register_opencl_backend("ocl", torch.ocl.synchronize)     # pytorch_ocl

    device_type   of its tensors, whose storage pointer must be a cl_mem: any other pointer ends
                  the process
    synchronize   waits for all that the backend has enqueued

    Passes run on a queue of their own in the tensors' context, and are complete when they return.
    """
    _backends[device_type] = synchronize


def is_registered(tensor: Tensor) -> bool:
    """Whether the tensor is one of such a backend's."""
    return tensor.device.type in _backends


def device_of(tensor: Tensor) -> BackendDevice:
    """The device of a tensor that has elements."""
    context = c_void_p()
    status = _mem_info(handle_of(tensor), _MEM_CONTEXT, sizeof(context), byref(context), None)
    _c.check_opencl(status, "clGetMemObjectInfo")
    assert context.value
    with _lock:
        device = _devices.get(context.value)
        if device is None:
            device = _devices[context.value] = BackendDevice(context, tensor.device.type)
    return device


class BackendDevice(Device):
    """A queue in the context of a backend's tensors."""

    def __init__(self, context: c_void_p, device_type: str) -> None:
        devices, error = (c_void_p * 32)(), c_int()
        status = _context_info(context, _CONTEXT_DEVICES, sizeof(devices), devices, None)
        _c.check_opencl(status, "clGetContextInfo")
        self.context = context.value
        self.queue = _c.clCreateCommandQueue(context, devices[0], 0, byref(error))
        _c.check_opencl(error.value, "clCreateCommandQueue")
        self.synchronize = _backends[device_type]
        self.forked = False
        os.register_at_fork(after_in_child=self._fork)

    def finish(self, written: list[tuple[int, int]]) -> None:
        _c.check_opencl(_c.clFinish(self.queue), "clFinish")


def handle_of(tensor: Tensor) -> int:
    """The cl_mem of a tensor, which begins at its storage_offset()."""
    return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
