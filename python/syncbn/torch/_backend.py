"""Tensors of an OpenCL backend of PyTorch: their storage's pointer is a cl_mem."""

from __future__ import annotations

import threading
from typing import Callable, Sequence

from torch import Tensor

from syncbn import _c, _opencl
from syncbn._device import Device

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


def backend_of(tensors: Sequence[Tensor]) -> BackendDevice | None:
    """The device of a backend's tensors; None for tensors in the host's memory."""
    if tensors[0].is_cpu or not is_registered(tensors[0]):
        return None
    filled = next((tensor for tensor in tensors if tensor.numel()), None)
    if filled is None:
        raise ValueError(f"input: expected elements on {tensors[0].device}, got none")
    context = _opencl.context_of(_mem_of(filled))
    with _lock:
        if context not in _devices:
            _devices[context] = BackendDevice(context, filled.device.type)
        return _devices[context]


class BackendDevice(Device):
    """A queue in the context of a backend's tensors."""

    def __init__(self, context: int, device_type: str) -> None:
        super().__init__(_opencl.queue_in(context))
        self.synchronize = _backends[device_type]

    def fill(self, shard: _c.Shard, **tensors: Tensor | None) -> None:
        super().fill(shard)
        shard.memory = _c.CONSTANTS["SBN_MEMORY_DEVICE"]
        for name, tensor in tensors.items():
            if tensor is not None and tensor.numel():
                setattr(shard, name, _c.Buffer(_mem_of(tensor), tensor.storage_offset()))

    def finish(self) -> None:
        """Waits for the pass."""
        _opencl.finish(self.queue)


def _mem_of(tensor: Tensor) -> int:
    return tensor.data_ptr() - int(tensor.storage_offset()) * tensor.element_size()
