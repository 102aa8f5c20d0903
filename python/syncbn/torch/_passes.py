"""Forward and backward passes as one node of autograd."""

from __future__ import annotations

from ctypes import byref, c_uint64
from typing import Any, Sequence

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from syncbn import _c
from syncbn._device import Device
from syncbn._group import Group, Layer, Saved, Settings
from syncbn.torch._opencl import BackendDevice, handle_of

TYPES = {
    torch.float32: _c.CONSTANTS["SBN_F32"],
    torch.float16: _c.CONSTANTS["SBN_F16"],
    torch.bfloat16: _c.CONSTANTS["SBN_BF16"],
}
ACTIVATIONS = {
    None: _c.CONSTANTS["SBN_IDENTITY"],
    "relu": _c.CONSTANTS["SBN_RELU"],
    "leaky_relu": _c.CONSTANTS["SBN_LEAKY_RELU"],
}
_NCHW, _NHWC = _c.CONSTANTS["SBN_LAYOUT_NCHW"], _c.CONSTANTS["SBN_LAYOUT_NHWC"]
_GLOBAL_GRADIENTS = _c.CONSTANTS["SBN_GLOBAL_GRADIENTS"]
_TOO_FEW_VALUES = _c.CONSTANTS["SBN_TOO_FEW_VALUES"]
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


class Call:
    """One forward pass, and what its backward passes need of it.

    stats   (2, C) float32: mean and biased variance of the group's batch
    count   values per channel over the group
    """

    __slots__ = (
        "activation",
        "count",
        "eps",
        "gradients",
        "group",
        "layout",
        "name",
        "saved",
        "slope",
        "stats",
        "wants_stats",
    )

    def __init__(
        self,
        group: Group,
        name: str,
        eps: float,
        activation: str | None,
        slope: float,
        gradients: str,
        wants_stats: bool,
    ) -> None:
        self.group, self.name, self.eps = group, name, eps
        self.activation, self.slope, self.gradients = activation, slope, gradients
        self.wants_stats = wants_stats
        self.saved: Saved | None = None
        self.layout = _NCHW
        self.stats: Tensor | None = None
        self.count = 0

    def layer(self, channels: int, dtype: torch.dtype, affine: bool, residual: bool) -> Layer:
        return self.group.layer(
            Settings(
                self.name,
                channels,
                self.layout,
                self.eps,
                affine,
                TYPES[dtype],
                ACTIVATIONS[self.activation],
                self.slope,
                residual,
            )
        )

    def refuse(self, channels: int) -> None:
        """Tells the other ranks that this one has wrong arguments, which it then raises."""
        if self.group.world_size > 1:
            with self.group.lock:
                layer = self.layer(channels, torch.float32, False, False)
                for shard in layer.shards:
                    shard.dims = 0
                saved = Saved(layer)
                _c.sbn_forward(layer.handle, layer.shards_at, saved.handle, 0, None)


class _Buffers:
    """The cl_mems of a pass, on the memory of tensors, from `with` to its end."""

    __slots__ = ("_device", "_kept", "_mems", "_written")

    def __init__(self, device: Device) -> None:
        self._device = device
        self._mems: list[int] = []
        self._written: list[tuple[int, int]] = []
        self._kept: list[Tensor] = []

    def __enter__(self) -> _Buffers:
        if isinstance(self._device, BackendDevice):
            self._device.synchronize()
        return self

    def __exit__(self, *error: object) -> None:
        for mem in self._mems:
            _c.clReleaseMemObject(mem)

    def read(self, tensor: Tensor) -> int | None:
        """Of a dense tensor that the pass reads; None without elements."""
        return self._wrap(tensor)

    def write(self, tensor: Tensor) -> int | None:
        """Of a dense tensor that the pass writes."""
        mem = self._wrap(tensor)
        if mem:
            self._written.append((mem, tensor.numel() * tensor.element_size()))
        return mem

    def place(self, shard: _c.Shard, **tensors: Tensor | None) -> None:
        """Sets where in their memory the tensors of a backend begin."""
        if isinstance(self._device, BackendDevice):
            for name, tensor in tensors.items():
                if tensor is not None:
                    getattr(shard, name).offset = tensor.storage_offset()

    def floats(self, tensor: Tensor) -> int | None:
        """Of a parameter, as floats, at the beginning of their memory."""
        tensor = tensor.detach().float().contiguous()
        if tensor.storage_offset() and isinstance(self._device, BackendDevice):
            tensor = tensor.clone()
        self._kept.append(tensor)
        return self.read(tensor)

    def affine(self, weight: Tensor | None, bias: Tensor | None) -> tuple[int | None, int | None]:
        """Weight and bias; a missing bias is zeros. Those of replicas are equal."""
        if weight is None:
            return None, None
        if weight.dim() > 1:
            weight, bias = weight[0], None if bias is None else bias[0]
        return self.floats(weight), self.floats(torch.zeros_like(weight) if bias is None else bias)

    def finish(self) -> None:
        """Waits until what the pass writes is in the tensors."""
        self._device.finish(self._written)

    def _wrap(self, tensor: Tensor) -> int | None:
        if not tensor.numel():
            return None
        if isinstance(self._device, BackendDevice):
            return handle_of(tensor)
        mem = self._device.wrap(tensor.data_ptr(), tensor.numel() * tensor.element_size())
        self._mems.append(mem)
        return mem


class Node(torch.autograd.Function):
    """Batch norm over the replicas of a group: apply(call, channels, weight, bias, *tensors).

    weight    (C), or a row for each replica: then so are the gradients. So is bias
    tensors   x of each replica, then, where the layer adds them, their residuals; each
              (N, C, ...), of one type and one number of dimensions
    returns   y of each replica

    One node for all replicas of the process: autograd runs the nodes of a CPU in one thread, in
    which several could not wait for each other.
    """

    @staticmethod
    def forward(
        ctx: Any,
        call: Call,
        channels: int,
        weight: Tensor | None,
        bias: Tensor | None,
        *tensors: Tensor,
    ) -> Any:
        group = call.group
        device, replicas = group.device, group.replicas
        device.check_process()
        first = tensors[0]
        call.layout = _layout_of(first)
        xs = [_in_layout(x, call.layout) for x in tensors[:replicas]]
        residuals = [_in_layout(z, call.layout) for z in tensors[replicas:]]
        ys = [torch.empty_like(x) for x in xs]
        layer = call.layer(channels, first.dtype, weight is not None, bool(residuals))
        with group.lock, _Buffers(device) as buffers:
            saved = call.saved = Saved(layer)
            weight_mem, bias_mem = buffers.affine(weight, bias)
            for place, shard in enumerate(layer.shards):
                x = xs[place]
                shard.dims = x.dim()
                shard.shape[: x.dim()] = x.shape
                shard.x.mem, shard.y.mem = buffers.read(x), buffers.write(ys[place])
                shard.weight.mem, shard.bias.mem = weight_mem, bias_mem
                if residuals:
                    shard.residual.mem = buffers.read(residuals[place])
                    buffers.place(shard, residual=residuals[place])
                buffers.place(shard, x=x, y=ys[place])
            status = _c.sbn_forward(layer.handle, layer.shards_at, saved.handle, 0, None)
            if status:
                _fail(group, status, first)
            buffers.finish()
            if call.wants_stats:
                _read_stats(call, channels)
        ctx.save_for_backward(weight, bias, *xs)
        ctx.call, ctx.residuals = call, len(residuals)
        return ys[0] if replicas == 1 else tuple(ys)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:
        call: Call = ctx.call
        weight, bias, *xs = ctx.saved_tensors
        dys = [_in_layout(dy, call.layout) for dy in grads]
        wants = ctx.needs_input_grad[2:]
        activated_sum = bool(ctx.residuals) and call.activation is not None
        dxs, dzs, weight_grad, bias_grad = backward(
            call, weight, bias, xs, dys, wants[0], wants[1], activated_sum
        )
        if ctx.residuals and not activated_sum:
            dzs = dys
        return (None, None, weight_grad, bias_grad, *dxs, *dzs)


def backward(
    call: Call,
    weight: Tensor | None,
    bias: Tensor | None,
    xs: Sequence[Tensor],
    dys: Sequence[Tensor],
    wants_weight: bool,
    wants_bias: bool,
    wants_residual: bool,
) -> tuple[list[Tensor], list[Tensor], Tensor | None, Tensor | None]:
    """The backward pass of `call`: gradients of x, of the residuals, of weight and of bias.

    xs, dys   of each replica, in the call's layout
    """
    group, saved = call.group, call.saved
    assert saved is not None
    layer, device = saved.layer, group.device
    device.check_process()
    channels = layer.settings.channels
    dxs = [torch.empty_like(x) for x in xs]
    dzs = [torch.empty_like(x) for x in xs] if wants_residual else []
    where = xs[0].device
    weight_grad = torch.empty(group.replicas, channels, device=where) if wants_weight else None
    bias_grad = torch.empty(group.replicas, channels, device=where) if wants_bias else None
    flags = _GLOBAL_GRADIENTS if call.gradients == "group" else 0
    with group.lock, _Buffers(device) as buffers:
        weight_mem, bias_mem = buffers.affine(weight, bias)
        for place, shard in enumerate(layer.shards):
            x = xs[place]
            shard.dims = x.dim()
            shard.shape[: x.dim()] = x.shape
            shard.x.mem, shard.dy.mem = buffers.read(x), buffers.read(dys[place])
            shard.dx.mem = buffers.write(dxs[place])
            buffers.place(shard, x=x, dy=dys[place], dx=dxs[place])
            shard.weight.mem, shard.bias.mem = weight_mem, bias_mem
            shard.weight_grad.mem = shard.bias_grad.mem = shard.residual_grad.mem = None
            if weight_grad is not None:
                shard.weight_grad.mem = buffers.write(weight_grad[place])
                buffers.place(shard, weight_grad=weight_grad[place])
            if bias_grad is not None:
                shard.bias_grad.mem = buffers.write(bias_grad[place])
                buffers.place(shard, bias_grad=bias_grad[place])
            if dzs:
                shard.residual_grad.mem = buffers.write(dzs[place])
                buffers.place(shard, residual_grad=dzs[place])
        group.check(_c.sbn_backward(layer.handle, layer.shards_at, saved.handle, flags, None))
        buffers.finish()
    return (
        dxs,
        dzs,
        _parameter_grad(call, weight_grad, weight),
        _parameter_grad(call, bias_grad, bias),
    )


def _parameter_grad(call: Call, grads: Tensor | None, parameter: Tensor | None) -> Tensor | None:
    """The replicas' gradients of a parameter as one, or as rows that add up to it: their sum, or,
    where each has the group's sum, what DistributedDataParallel makes of local sums: that sum over
    the number of ranks."""
    if grads is None or parameter is None:
        return None
    rows = parameter.dim() > 1
    if call.gradients == "group":
        grad = grads[0]
        if call.group.world_size > 1:
            grad /= call.group.world_size
        if rows:
            grads[1:] = 0
            grad = grads
    else:
        grad = grads if rows else grads[0] if call.group.replicas == 1 else grads.sum(0)
    return grad.to(parameter.dtype)


def _layout_of(x: Tensor) -> int:
    last = _CHANNELS_LAST.get(x.dim())
    if last is None or x.is_contiguous() or not x.is_contiguous(memory_format=last):
        return _NCHW
    return _NHWC


def _in_layout(x: Tensor, layout: int) -> Tensor:
    """The tensor, or a copy of it, dense in this layout."""
    if layout == _NCHW:
        return x.contiguous()
    return x.contiguous(memory_format=_CHANNELS_LAST[x.dim()])


def _fail(group: Group, status: int, x: Tensor) -> None:
    """Raises the failure of a forward pass, in PyTorch's words where it has them."""
    if status == _TOO_FEW_VALUES:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {x.shape}"
        ) from _c.SyncBatchNormError(status)
    group.check(status)


def _read_stats(call: Call, channels: int) -> None:
    assert call.saved is not None
    stats = torch.empty(2, channels)
    count = c_uint64()
    start = stats.data_ptr()
    _c.check(_c.sbn_saved_stats(call.saved.handle, start, start + 4 * channels, byref(count)))
    call.stats, call.count = stats, count.value
