"""Forward and backward passes as one node of autograd."""

from __future__ import annotations

from ctypes import byref, c_int64
from typing import Any, Sequence

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


class Running:
    """A module's running statistics during a pass: what the library updates, and the way back to
    buffers of another type."""

    __slots__ = ("batches", "buffers", "momentum", "rows")

    def __init__(
        self, mean: Tensor, var: Tensor, batches: Tensor | None, momentum: float | None
    ) -> None:
        self.buffers, self.batches, self.momentum = (mean, var), batches, momentum
        self.rows = _floats(mean), _floats(var)

    def prepare(self, layer: Layer) -> None:
        """Tells a layer that averages all batches how many there were."""
        if self.momentum is None and self.batches is not None:
            _c.check(
                _c.sbn_batchnorm_set_running_stats(
                    layer.handle, None, None, byref(c_int64(int(self.batches)))
                )
            )

    def finish(self) -> None:
        """After the pass."""
        if self.batches is not None:
            self.batches.add_(1)
        for buffer, row in zip(self.buffers, self.rows):
            if row is not buffer:
                buffer.copy_(row)


class Call:
    """One forward pass, and what its backward passes need of it."""

    __slots__ = ("gradients", "layer", "running", "saved")

    def __init__(self, layer: Layer, gradients: str, running: Running | None) -> None:
        self.layer, self.gradients, self.running = layer, gradients, running
        self.saved: Saved | None = None


class Node(torch.autograd.Function):
    """Batch norm over the replicas of a group: apply(call, weight, bias, *tensors).

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
        layer, running = call.layer, call.running
        group, layout = layer.group, layer.settings.layout
        replicas, device = group.replicas, group.device
        xs = [in_memory(x, layout) for x in tensors[:replicas]]
        residuals = [in_memory(z, layout) for z in tensors[replicas:]]
        ys = [torch.empty_like(x) for x in xs]
        own_weight, own_bias = _affine(weight, bias)
        mean, var = running.rows if running else (None, None)
        backend = device if isinstance(device, BackendDevice) else None
        with group.lock:
            saved = call.saved = Saved(layer)
            if running:
                running.prepare(layer)
            if backend:
                backend.synchronize()
            for place, (x, y) in enumerate(zip(xs, ys)):
                residual = residuals[place] if residuals else None
                layer.fill(
                    place,
                    x.shape,
                    x=x.data_ptr(),
                    y=y.data_ptr(),
                    residual=_address(residual),
                    weight=_address(own_weight),
                    bias=_address(own_bias),
                    running_mean=_address(mean),
                    running_var=_address(var),
                )
                if backend:
                    backend.fill(
                        layer,
                        place,
                        x=x,
                        y=y,
                        residual=residual,
                        weight=own_weight,
                        bias=own_bias,
                        running_mean=mean,
                        running_var=var,
                    )
                # The first replica updates the running statistics.
                mean = var = None
            status = group.call(
                _c.sbn_forward, layer.handle, layer.shards_at, saved.handle, 0, None
            )
            if status:
                _fail(status, tensors[0])
            if backend:
                backend.finish()
        if running:
            running.finish()
            call.running = None
        ctx.save_for_backward(weight, bias, *xs)
        ctx.call, ctx.residuals = call, len(residuals)
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
    call: Call = ctx.call
    settings = call.layer.settings
    weight, bias, *xs = saved
    # Hooks of saved tensors may give them back with other strides.
    xs = [in_memory(x, settings.layout) for x in xs]
    dys = [in_memory(dy, settings.layout) for dy in grads]
    _, wants_weight, wants_bias, *_ = ctx.needs_input_grad
    activated_sum = bool(ctx.residuals) and settings.activation != _IDENTITY
    dxs, dzs, weight_grad, bias_grad = backward(
        call, weight, bias, xs, dys, wants_weight, wants_bias, activated_sum
    )
    if ctx.residuals and not activated_sum:
        dzs = dys
    if not _keeps_graph():
        call.saved = None  # as autograd frees its tensors
    return (None, weight_grad, bias_grad, *dxs, *dzs)


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
    layer, saved = call.layer, call.saved
    if saved is None:
        raise RuntimeError(
            "backward: expected saved statistics, got a graph whose backward pass has been made"
        )
    group, device = layer.group, layer.group.device
    device.check_process()
    if layer.handle is None:
        raise RuntimeError(
            "backward: expected the process group of its forward, got one that ended"
        )
    # Hooks of saved tensors may give back smaller ones, past which the library would read and write.
    for x, dy in zip(xs, dys):
        if x.dtype is not dy.dtype:
            raise RuntimeError(f"backward: expected x of {dy.dtype}, as it was, got {x.dtype}")
    for row in (weight, bias):
        if row is not None and row.size(-1) != layer.settings.channels:
            raise RuntimeError(
                f"backward: expected {layer.settings.channels} elements of weight and bias, as they "
                f"were, got {tuple(row.shape)}"
            )
    dxs = [torch.empty_like(x) for x in xs]
    dzs = [torch.empty_like(x) for x in xs] if wants_residual else []
    rows = group.replicas > 1
    flags = _GLOBAL_GRADIENTS if call.gradients == "group" else 0
    own_weight, own_bias = _affine(weight, bias)
    weight_grad = _grads_like(own_weight, group, rows) if wants_weight else None
    bias_grad = _grads_like(own_bias, group, rows) if wants_bias else None
    backend = device if isinstance(device, BackendDevice) else None
    with group.lock:
        if backend:
            backend.synchronize()
        for place, x in enumerate(xs):
            layer.fill(
                place,
                x.shape,
                x=x.data_ptr(),
                dy=dys[place].data_ptr(),
                dx=dxs[place].data_ptr(),
                residual_grad=_address(dzs[place] if dzs else None),
                weight=_address(own_weight),
                bias=_address(own_bias),
                weight_grad=_address(weight_grad, place),
                bias_grad=_address(bias_grad, place),
            )
            if backend:
                backend.fill(
                    layer,
                    place,
                    x=x,
                    dy=dys[place],
                    dx=dxs[place],
                    residual_grad=dzs[place] if dzs else None,
                    weight=own_weight,
                    bias=own_bias,
                    weight_grad=weight_grad[place]
                    if weight_grad is not None and rows
                    else weight_grad,
                    bias_grad=bias_grad[place] if bias_grad is not None and rows else bias_grad,
                )
        _c.check(
            group.call(_c.sbn_backward, layer.handle, layer.shards_at, saved.handle, flags, None)
        )
        if backend:
            backend.finish()
    return (
        dxs,
        dzs,
        _parameter_grad(call, weight_grad, weight),
        _parameter_grad(call, bias_grad, bias),
    )


def _grads_like(parameter: Tensor | None, group: Group, rows: bool) -> Tensor:
    """Room for a parameter's gradients, or for a row of each replica."""
    assert parameter is not None
    if rows:
        return parameter.new_empty((group.replicas, parameter.numel()))
    return torch.empty_like(parameter)


def _parameter_grad(call: Call, grad: Tensor | None, parameter: Tensor | None) -> Tensor | None:
    """The gradients of a parameter, or of its rows, in its type. Where each is the group's sum, the
    first becomes what DistributedDataParallel makes of local sums, that sum over the number of
    ranks, and the others 0."""
    if grad is None or parameter is None:
        return None
    if call.gradients == "group":
        if call.layer.group.world_size > 1:
            grad /= call.layer.group.world_size
        if grad.dim() > 1:
            grad[1:] = 0
    return grad if grad.dtype is parameter.dtype else grad.to(parameter.dtype)


def _floats(tensor: Tensor) -> Tensor:
    """The tensor, or a copy of it, dense in float32."""
    if tensor.dtype is torch.float32 and tensor.is_contiguous():
        return tensor
    return tensor.detach().float().contiguous()


def _affine(weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Weight and bias as the library reads them; a missing bias is zeros. Rows are equal."""
    if weight is None:
        return None, None
    if weight.dim() > 1:
        weight, bias = weight[0], None if bias is None else bias[0]
    weight = _floats(weight)
    return weight, torch.zeros_like(weight) if bias is None else _floats(bias)


def _address(tensor: Tensor | None, row: int = 0) -> int:
    """Of a dense tensor, or a row of one."""
    if tensor is None:
        return 0
    at: int = tensor.data_ptr()
    return at + row * tensor.size(-1) * tensor.element_size() if row else at


def layout_of(x: Tensor) -> int:
    """Channels last where it is that and nothing else, or else channels first."""
    if x.is_contiguous():
        return _NCHW
    last = _CHANNELS_LAST.get(x.dim())
    return _NCHW if last is None or not x.is_contiguous(memory_format=last) else _NHWC


def in_layout(x: Tensor, layout: int) -> Tensor:
    """The tensor, or a copy of it, dense in this layout."""
    format = torch.contiguous_format if layout == _NCHW else _CHANNELS_LAST[x.dim()]
    return x.contiguous(memory_format=format).resolve_neg()


def in_memory(x: Tensor, layout: int) -> Tensor:
    """The same with memory of its own: zeros may have none, and what a collective makes, later."""
    x = in_layout(x, layout)
    return x if x.data_ptr() or not x.numel() else x.clone()


def _fail(status: int, x: Tensor) -> None:
    """Raises the failure of a forward pass, in PyTorch's words where it has them."""
    if status == _TOO_FEW_VALUES:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {x.shape}"
        ) from _c.SyncBatchNormError(status)
    _c.check(status)
