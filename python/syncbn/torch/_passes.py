"""Forward and backward passes as one node of autograd."""

from __future__ import annotations

from ctypes import byref, c_int64
from typing import Any, NoReturn, Optional, Sequence, Union

import torch
from torch import Tensor

from syncbn import _c
from syncbn._group import Group, Layer, Saved
from syncbn.torch._backend import BackendDevice

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
_IDENTITY = _c.CONSTANTS["SBN_IDENTITY"]
_GLOBAL_GRADIENTS = _c.CONSTANTS["SBN_GLOBAL_GRADIENTS"]
_TOO_FEW_VALUES = _c.CONSTANTS["SBN_TOO_FEW_VALUES"]
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
# Whether autograd keeps what the nodes of this backward pass have saved (PyTorch 2.5).
_keeps_graph = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)


# Weight and bias as the library reads them.
Affine = Union[tuple[Tensor, Tensor], tuple[None, None]]
# A module's running_mean, running_var and num_batches_tracked.
Running = tuple[Tensor, Tensor, Optional[Tensor]]
# The first two as the library updates them, and the batches before this one, of a layer that
# averages all.
Updated = tuple[Tensor, Tensor, Optional[int]]
Call = tuple[Layer, str, Affine, Optional[tuple[Running, Updated]]]


class Node(torch.autograd.Function):
    """Batch norm over the replicas of a group: apply(call, weight, bias, *tensors).

    call      of a module: its layer, `gradients`, weight and bias as the library reads them, and
              running statistics, which are prepared, or None
    weight    (C), or, of several replicas, a row for each: then so are the gradients. So is bias
    tensors   x of each replica, then, where the layer adds them, their residuals; each
              (N, C, ...), of one type and one number of dimensions
    returns   y of each replica

    One node for all replicas of the process: autograd runs the nodes of a CPU in one thread, in
    which several could not wait for each other.
    """

    @staticmethod
    def forward(
        ctx: Any, call: Call, weight: Tensor | None, bias: Tensor | None, *tensors: Tensor
    ) -> Any:
        layer, gradients, (own_weight, own_bias), running = call
        mean, var, counted = running[1] if running else (None, None, None)
        group, settings = layer.group, layer.settings
        replicas, device = group.replicas, group.device
        backend = device if isinstance(device, BackendDevice) else None
        own = in_memory(tensors, settings.layout)
        ys = []
        if group.is_in_pass():
            _fail_within()
        with group.lock:
            saved = Saved(layer)
            if counted is not None:
                _c.check(
                    _c.sbn_batchnorm_set_running_stats(
                        layer.handle, None, None, byref(c_int64(counted))
                    )
                )
            if backend:
                backend.synchronize()
            for place in group.places:
                x = own[place]
                ys.append(torch.empty_like(x))
                device.fill(
                    layer.shard(place, x.shape),
                    x=x,
                    y=ys[place],
                    residual=own[replicas + place] if settings.residual else None,
                    weight=own_weight,
                    bias=own_bias,
                    # The first replica updates the running statistics.
                    running_mean=None if place else mean,
                    running_var=None if place else var,
                )
            status = group.call(
                _c.sbn_forward, layer.handle, layer.shards_at, saved.handle, 0, None
            )
            if status:
                _fail(status, tensors[0])
            if backend:
                backend.finish()
        if running:
            _finish(*running)
        if settings.activation == _IDENTITY or settings.residual:
            bias = weight  # which takes its place where backward does not read it
        ctx.save_for_backward(weight, bias, *(own[:replicas] if settings.residual else own))
        ctx.statistics, ctx.gradients = saved, gradients
        return ys[0] if replicas == 1 else tuple(ys)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        saved = ctx.saved_tensors  # once: a checkpoint gives each once
        if not torch.is_grad_enabled():
            return _backward(ctx, grads, saved)
        first = torch.empty(0, requires_grad=True)
        return _Gradients.apply(ctx, len(grads), first, *grads, *saved)


class _Gradients(torch.autograd.Function):
    """The gradients where a graph of them is made: their own gradients, of any tensor that they
    depend on, are an error."""

    @staticmethod
    def forward(ctx: Any, node: Any, count: int, _first: Tensor, *tensors: Tensor) -> Any:
        return _backward(node, tensors[:count], tensors[count:])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise RuntimeError("SyncBatchNorm: expected one backward pass, got one of its gradients")


def _backward(ctx: Any, grads: Sequence[Tensor], saved: Sequence[Any]) -> Any:
    weight, bias, *xs = saved
    statistics: Saved | None = ctx.statistics
    if statistics is None:
        raise RuntimeError(
            "backward: expected saved statistics, got a graph whose backward pass has been made"
        )
    settings, wanted = statistics.layer.settings, ctx.needs_input_grad
    activated_sum = settings.residual and settings.activation != _IDENTITY
    dys, dxs, dzs, weight_grad, bias_grad = backward(
        statistics, ctx.gradients, weight, bias, xs, grads, wanted[1], wanted[2], activated_sum
    )
    if settings.residual and not activated_sum:
        dzs = dys
    if not _keeps_graph():
        ctx.statistics = None  # as autograd frees its tensors
    return (None, weight_grad, bias_grad, *dxs, *dzs)


def backward(
    saved: Saved,
    gradients: str,
    weight: Tensor | None,
    bias: Tensor | None,
    xs: Sequence[Tensor],
    dys: Sequence[Tensor],
    wants_weight: bool,
    wants_bias: bool,
    wants_residual: bool,
) -> tuple[list[Tensor], list[Tensor], list[Tensor], Tensor | None, Tensor | None]:
    """The backward pass that belongs to `saved`: dys in its layout, and the gradients of x, of the
    residuals, and of weight and bias in float32.

    xs, dys   of each replica
    """
    layer = saved.layer
    group, layout = layer.group, layer.settings.layout
    device, replicas = group.device, group.replicas
    device.check_process()
    if layer.handle is None:
        raise RuntimeError(
            "backward: expected the process group of its forward, got one that ended"
        )
    # Hooks of saved tensors may give them back with other strides, or smaller, past which the library
    # would read.
    xs, dys = in_memory(xs, layout), in_memory(dys, layout)
    own_weight, own_bias = affine_of(weight, bias, layer.settings.channels, replicas, xs[0])
    weight_grad, weight_grads = _grads_like(own_weight, replicas, wants_weight)
    bias_grad, bias_grads = _grads_like(own_bias, replicas, wants_bias)
    dxs: list[Tensor] = []
    dzs: list[Tensor] = []
    backend = device if isinstance(device, BackendDevice) else None
    if group.is_in_pass():
        _fail_within()
    with group.lock:
        if backend:
            backend.synchronize()
        for place in group.places:
            x, dy = xs[place], dys[place]
            if x.dtype is not dy.dtype:
                raise RuntimeError(f"backward: expected x of {dy.dtype}, as it was, got {x.dtype}")
            dxs.append(torch.empty_like(x))
            if wants_residual:
                dzs.append(torch.empty_like(x))
            device.fill(
                layer.shard(place, x.shape),
                x=x,
                dy=dy,
                dx=dxs[place],
                residual_grad=dzs[place] if dzs else None,
                weight=own_weight,
                bias=own_bias,
                weight_grad=weight_grads and weight_grads[place],
                bias_grad=bias_grads and bias_grads[place],
            )
        flags = 0 if gradients == "local" else _GLOBAL_GRADIENTS
        _c.check(
            group.call(_c.sbn_backward, layer.handle, layer.shards_at, saved.handle, flags, None)
        )
        if backend:
            backend.finish()
    if flags:
        for grad in weight_grad, bias_grad:
            _share(grad, group)
    return dys, dxs, dzs, weight_grad, bias_grad


def _grads_like(
    row: Tensor | None, replicas: int, wanted: bool
) -> tuple[Tensor | None, Sequence[Tensor] | None]:
    """Room for a parameter's gradients, with a row for each replica if there are several, and what
    each replica has of it."""
    if row is None or not wanted:
        return None, None
    if replicas == 1:
        grad = torch.empty_like(row)
        return grad, (grad,)
    grad = row.new_empty((replicas, row.numel()))
    return grad, grad.unbind()


def _share(grad: Tensor | None, group: Group) -> None:
    """Makes the group's sum what DistributedDataParallel makes of local sums, that sum over the
    number of ranks; of rows, which are equal, the first, and the others -0, which adds nothing."""
    if grad is not None:
        if group.world_size > 1:
            grad /= group.world_size
        if grad.dim() > 1:
            grad[1:] = -0.0


def affine_of(
    weight: Tensor | None, bias: Tensor | None, channels: int, replicas: int, input: Tensor
) -> Affine:
    """Weight and bias as the library reads them, of one replica or of equal rows; a missing bias is
    zeros."""
    if weight is None:
        if bias is not None:
            raise ValueError("weight: expected one beside the bias, got None")
        return None, None
    shape = (channels,) if replicas == 1 else (replicas, channels)
    row = _row("weight", weight, shape, input)
    if bias is weight:  # of a backward pass that does not read it
        return row, row
    return row, torch.zeros_like(row) if bias is None else _row("bias", bias, shape, input)


def updated_of(running: Running, momentum: float | None, channels: int, input: Tensor) -> Updated:
    """Running statistics as the library updates them."""
    mean, var, batches = running
    shape = (channels,)
    mean, var = _row("running_mean", mean, shape, input), _row("running_var", var, shape, input)
    if momentum is not None or batches is None:
        return mean, var, None
    counted = int(batches)
    if counted < 0:
        raise ValueError(f"num_batches_tracked: expected 0 or more, got {counted}")
    return mean, var, counted


def _finish(running: Running, updated: Updated) -> None:
    """After the pass: counts it, and takes its results back into buffers of another type."""
    (mean, var, batches), (new_mean, new_var, _counted) = running, updated
    if batches is not None:
        is_plain = batches.is_cpu and batches.dtype is torch.int64 and batches.numel() == 1
        if is_plain and (at := batches.data_ptr()):
            # As the library updates the others. add_ would take a small layer 4 us.
            c_int64.from_address(at).value += 1
        else:
            batches.add_(1)
    if new_mean is not mean:
        mean.copy_(new_mean)
    if new_var is not var:
        var.copy_(new_var)


def _row(name: str, tensor: Tensor, shape: tuple[int, ...], input: Tensor) -> Tensor:
    """One element for each channel, where the input is, dense in float32: the tensor, the first of
    its rows, or a copy."""
    if not (tensor.is_cpu and input.is_cpu):
        check_device(name, tensor, input)
    if not tensor.data_ptr() and tensor.numel():
        raise ValueError(
            f"{name}: expected a tensor with memory of its own, got a {type(tensor).__name__}"
        )
    if tensor.shape != shape:
        raise ValueError(f"{name}: expected {shape[-1]} elements, got {tuple(tensor.shape)}")
    if len(shape) > 1:
        rows = tensor.detach()
        tensor = rows[0]
        if tensor.is_cpu and not torch.allclose(rows, tensor.expand(shape), 0, 0, equal_nan=True):
            raise ValueError(f"{name}: expected one for all replicas, got another in one of them")
    if tensor.dtype is torch.float32 and tensor.is_contiguous() and not tensor.is_neg():
        return tensor
    check_type(name, tensor)
    return tensor.detach().float().contiguous().resolve_neg()


def check_device(name: str, tensor: Tensor, input: Tensor) -> None:
    if tensor.device != input.device:
        raise ValueError(f"{name}: expected it on {input.device}, got it on {tensor.device}")


def check_type(name: str, tensor: Tensor) -> None:
    if tensor.dtype not in TYPES:
        raise ValueError(
            f"{name}: expected float32, float16 or bfloat16, got {str(tensor.dtype)[6:]}"
        )


def activation_of(name: str | None) -> int:
    """The library's number of an activation."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation: expected None, 'relu' or 'leaky_relu', got {name!r}")
    return ACTIVATIONS[name]


def layout_of(x: Tensor) -> int:
    """Channels last where it is that and nothing else, or else channels first."""
    if x.is_contiguous():
        return _NCHW
    last = _CHANNELS_LAST.get(x.dim())
    return _NCHW if last is None or not x.is_contiguous(memory_format=last) else _NHWC


def in_layout(x: Tensor, layout: int) -> Tensor:
    """The tensor, or a copy of it, dense in this layout."""
    if layout == _NCHW:
        x = x.contiguous()
    else:
        x = x.contiguous(memory_format=_CHANNELS_LAST[x.dim()])
    return x.resolve_neg() if x.is_neg() else x


def in_memory(tensors: Sequence[Tensor], layout: int) -> list[Tensor]:
    """They, or copies, in this layout with memory: zeros may have none, or a collective's, later."""
    found = []
    for x in tensors:
        if layout != _NCHW or not x.is_contiguous() or x.is_neg():
            x = in_layout(x, layout)
        try:
            at = x.data_ptr()
        except RuntimeError as error:
            raise RuntimeError(
                "SyncBatchNorm: expected a tensor with memory, got one without, as of gradients of "
                "several vectors at once (is_grads_batched, vectorize)"
            ) from error
        found.append(x if at or not x.numel() else x.clone())
    return found


def _fail_within() -> NoReturn:
    raise RuntimeError(
        "group: expected no pass within another one of the same thread, got one, as of a signal's "
        "handler"
    )


def _fail(status: int, x: Tensor) -> None:
    """Raises the failure of a forward pass, in PyTorch's words where it has them."""
    if status == _TOO_FEW_VALUES:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {x.shape}"
        ) from _c.SyncBatchNormError(status)
    _c.check(status)
