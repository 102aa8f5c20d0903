"""Gradients of DistributedDataParallel averaged exactly."""

from __future__ import annotations

from ctypes import byref, c_size_t, c_void_p, sizeof
from typing import Any, NamedTuple, Sequence

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from syncbn import _c
from syncbn._device import cpu
from syncbn._group import Group, Transport
from syncbn._opencl import Buffers
from syncbn.torch._data_parallel import Apart, DataParallel, state_of
from syncbn.torch._groups import transport_of
from syncbn.torch._module import SyncBatchNorm
from syncbn.torch._passes import TYPES

_MOST_EXCHANGES = _c.CONSTANTS["SBN_MAX_PASSES"]


def average_exactly(model: DistributedDataParallel, *, timeout: float = 300.0) -> None:
    """Makes DistributedDataParallel average gradients exactly: by integers, so that the result
    does not depend on the order of the processes, of a ring or of buckets. It is rounded once to
    float32 (<syncbn/data_parallel.h>, sbn_average_gradients), and from there to a half type where
    the parameter has one.

        model = DistributedDataParallel(DataParallel(Loss(convert_sync_batchnorm(net)), 4))
        average_exactly(model)
        model(images, labels).sum().backward()

    Where the model is a DataParallel, the gradient becomes the mean over all replicas of all
    processes, where each replica has a loss of its own and backward begins at their sum. A training
    with a fixed number of replicas, each with the same part of each batch, then ends with the same
    weights on every number of processes: doc/python.md says under which conditions.

    It is a communication hook; there is one for a model, and none for a copy of it, for which it is
    called again. All processes call this after DistributedDataParallel. timeout: seconds to wait
    for other processes, in this call and in backward, before an error names them.

    Gradients may be accumulated. Outside no_sync() each replica's new gradients are added to the
    previous mean, which rounds once more. In eval() a DataParallel has one loss, which counts for
    each of its replicas.

    Errors. TypeError: the model is no DistributedDataParallel. ValueError: a parameter is neither
    float32 nor of a half type, or not on the CPU, or a DataParallel has layers with
    gradients="group", or the world's backend is "mpi", or the model was made while
    torch._dynamo.config.optimize_ddp was "python_reducer", which has no buckets.
    SyncBatchNormError as of SyncBatchNorm. In backward, RuntimeError: a gradient is sparse, or is
    not the sum over the replicas of a DataParallel, because a hook of the parameter changed it, or
    clipping between accumulating passes, or the loss has a part from outside, such as a penalty, or
    uses the parameter past the replicas' modules, as from a list.
    """
    cpu().check_process()
    if not isinstance(getattr(model, "_orig_mod", model), DistributedDataParallel):
        raise TypeError(f"model: expected a DistributedDataParallel, got a {type(model).__name__}")
    if getattr(model, "_use_python_reducer", False):
        raise ValueError(
            "model: expected one with buckets, got one that was made while "
            'torch._dynamo.config.optimize_ddp was "python_reducer"'
        )
    inner = model.module if isinstance(model.module, DataParallel) else None
    ignored = set(model.parameters_to_ignore)
    # As DistributedDataParallel looks for them: one of the model itself as ".weight".
    names = {
        parameter: f"{path}.{name}".lstrip(".")
        for path, part in model.module.named_modules()
        for name, parameter in part.named_parameters(recurse=False)
        if parameter.requires_grad and f"{path}.{name}" not in ignored
    }
    for parameter, name in names.items():
        if parameter.dtype not in TYPES:
            raise ValueError(
                f"{name}: expected float32, float16 or bfloat16, got {str(parameter.dtype)[6:]}"
            )
        if not parameter.is_cpu:
            raise ValueError(f"{name}: expected it on the CPU, got it on {parameter.device}")
    if inner is not None:
        for layer in inner.modules():
            if isinstance(layer, SyncBatchNorm) and layer.gradients == "group":
                raise ValueError(
                    f'layer "{layer.name}": expected gradients="local", which are averaged, '
                    'got "group"'
                )
        inner.apart = dict.fromkeys(names)
    transport = transport_of(model.process_group, timeout)
    averaging = _Averaging(inner, names, transport, timeout)
    model.register_comm_hook(averaging, _average)


# Without annotations, which PyTorch would compare with its own, and no lambda, which has no pickle.
def _average(averaging, bucket):  # type: ignore[no-untyped-def]
    return averaging.average(bucket)


class _Exchange(NamedTuple):
    """An averaging under way, of the gradients of a bucket."""

    handle: c_void_p
    kept: Sequence[Any]
    buffers: Buffers
    gradients: list[Tensor]
    results: list[Tensor]
    bucket: Any
    future: torch.futures.Future[Tensor]


class _Averaging(Group):
    """The group that averages; it begins with each bucket and ends behind the last, and where
    as many are under way as may be."""

    def __init__(
        self,
        inner: DataParallel | None,
        names: dict[nn.Parameter, str],
        transport: Transport | None,
        timeout: float,
    ) -> None:
        super().__init__(cpu(), inner.replicas if inner else 1, transport, timeout)
        self._inner, self._names = inner, names
        self._parallel: c_void_p | None = c_void_p()
        self._exchanges: list[_Exchange] = []
        self._begun = 0  # parameters of this backward pass
        create = _c.sbn_data_parallel_create
        _c.check(self.call(create, self.handle, None, byref(self._parallel)))

    def average(self, bucket: Any) -> torch.futures.Future[Tensor]:
        self.device.check_process()
        try:
            exchange = self._begin(bucket)
        except BaseException:
            if self._inner:
                self._inner.apart.update(dict.fromkeys(self._inner.apart))
            self._begun = 0
            self._end_all()
            raise
        self._exchanges.append(exchange)
        self._begun += len(exchange.gradients)
        # In the first backward pass of a static graph no bucket says that it is the last.
        last = bucket.is_last() or self._begun == len(self._names)
        if last:
            self._begun = 0
        if last or len(self._exchanges) == _MOST_EXCHANGES:
            self._end_all()
        return exchange.future

    def close(self) -> None:
        if self._parallel and not self.device.forked:
            _c.sbn_data_parallel_destroy(self._parallel)
            self._parallel = None
        super().close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy of the model has no hook."""
        return type(None), ()

    def __del__(self) -> None:
        """With its DistributedDataParallel, which alone holds it."""
        # Without `handle` where the group could not be made.
        if getattr(self, "handle", None):
            self.close()

    def _begin(self, bucket: Any) -> _Exchange:
        """Begins to average a bucket, in the memory of float32 gradients."""
        if bucket.buffer().is_sparse:
            name = self._names[bucket.parameters()[0]]
            raise RuntimeError(f"{name}: expected a dense gradient, got a sparse one")
        gradients = bucket.gradients()
        if self._inner:
            # DistributedDataParallel lays a dense parameter's out by its strides, and tells only
            # the shape. Without replicas, whose gradients are elsewhere, either order will do.
            gradients = [
                gradient.as_strided(parameter.size(), parameter.stride())
                if _is_dense(parameter)
                else gradient
                for parameter, gradient in zip(bucket.parameters(), gradients)
            ]
        rows = self._rows(bucket, gradients)
        count = len(gradients)
        counts = (c_size_t * count)(*[gradient.numel() for gradient in gradients])
        tensors = (_c.Tensors * self.replicas)()
        memory = Buffers(self.device.queue)
        kept: list[Any] = [counts, tensors, rows]
        handle = c_void_p()
        try:
            for own, row in zip(tensors, rows):
                buffers = (_c.Buffer * count)()
                kept.append(buffers)
                for buffer, gradient in zip(buffers, row):
                    buffer.mem = memory.wrap(gradient.data_ptr(), 4 * gradient.numel())
                own.size, own.buffers = sizeof(_c.Tensors), buffers
            begin = _c.sbn_average_gradients_begin
            _c.check(self.call(begin, self._parallel, counts, count, tensors, byref(handle)))
        except BaseException:
            memory.release()
            raise
        future: torch.futures.Future[Tensor] = torch.futures.Future()
        return _Exchange(handle, kept, memory, gradients, rows[0], bucket, future)

    def _rows(self, bucket: Any, gradients: list[Tensor]) -> list[list[Tensor]]:
        """The gradients of each replica, float32 and dense."""
        if self._inner is None:
            return [[gradient.float().contiguous() for gradient in gradients]]
        rows: list[list[Tensor]] = [[] for _ in range(self.replicas)]
        for parameter, gradient in zip(bucket.parameters(), gradients):
            apart = self._inner.apart[parameter]
            self._inner.apart[parameter] = None
            before = self._inner.before.pop(parameter, None)
            if apart is None and (before in (None, state_of(parameter.grad)) or not gradient.any()):
                # It is of eval(), or has no part in the loss.
                apart = Apart([gradient] * self.replicas, gradient, None, None)
            elif apart is None or not apart.is_in(gradient):
                raise RuntimeError(
                    f"{self._names[parameter]}: expected the sum of the replicas' gradients, got "
                    "another one: a hook changed it, or clipping between backward passes did, or "
                    "(before PyTorch 2.1) zero_grad() or torch.autograd.grad between forward and "
                    "backward, or the loss has a part from outside of the DataParallel, or uses it "
                    "past the replicas' modules, as from a list, or there was an error before"
                )
            for own, row in zip(apart.own, rows):
                found = own.to(torch.float32, copy=True).contiguous()
                # What is averaged is the same on all processes: once for each replica.
                row.append(found if apart.averaged is None else found.add_(apart.averaged))
        return rows

    def _end_all(self) -> None:
        """Ends all exchanges, in the order in which they began, and raises the first failure."""
        exchanges, self._exchanges = self._exchanges, []
        failures: list[BaseException] = []
        for exchange in exchanges:
            try:
                _c.check(self.call(_c.sbn_exchange_end, exchange.handle))
                exchange.buffers.finish()
                for gradient, result in zip(exchange.gradients, exchange.results):
                    if gradient.data_ptr() != result.data_ptr():
                        gradient.copy_(result)
                exchange.future.set_result(exchange.bucket.buffer())
            except BaseException as error:
                failures = failures or [error]
            exchange.buffers.release()
        if failures:
            raise failures.pop()


def _is_dense(tensor: Tensor) -> bool:
    """Whether its elements lie without gaps, in any order: then memory like it has its strides."""
    return torch.empty_like(tensor, device="meta").stride() == tensor.stride()
