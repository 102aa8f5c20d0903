"""The layer as operators of torch.library, for graphs that torch.compile traces (PyTorch 2.6)."""

from __future__ import annotations

import itertools
import weakref
from ctypes import byref, c_int, c_size_t, c_void_p
from typing import Any, Optional

import torch
import torch.utils.checkpoint
from torch import Tensor

from syncbn import _c
from syncbn._group import Layer, Saved
from syncbn.torch import _passes

try:
    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

    # Before, compilers keep no order of operators in backward passes.
    IS_THERE = torch.__version__ >= "2.6"
except ImportError:
    IS_THERE = False
# The mode of what a selective checkpoint recomputes.
_Cached: Any = getattr(torch.utils.checkpoint, "_CachedTorchDispatchMode", ())

# Of what sbn_saved_store writes for one replica without a mask: bytes that do not depend on the
# channels, those of a channel, and where it says which forward pass it was. Without other ranks,
# which compare it, zeros take its place: an operator gives the same for the same. Behind it stand
# the library's layer and whether gradients are the group's: at backward the module may have changed,
# or be gone.
_SAVED_BYTES, _SAVED_CHANNEL_BYTES, _BEHIND_BYTES = 128, 24, 16
_PASS_AT, _PASS_SIZE = _c.CONSTANTS["SBN_SAVED_PASS"], _c.CONSTANTS["SBN_SAVED_PASS_SIZE"]

_store = _c.function(_c.lib, "sbn_saved_store", c_int, *(c_void_p, c_void_p, c_size_t, c_void_p))
_load = _c.function(_c.lib, "sbn_saved_load", c_int, *(c_void_p, c_void_p, c_size_t))

# The layers (syncbn.torch.SyncBatchNorm), by the numbers that graphs have of them.
_layers: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)
# The library's layers, by their handles.
_made: weakref.WeakValueDictionary[int, Layer] = weakref.WeakValueDictionary()


def are_wanted() -> bool:
    """Whether a compiler traces, or a mode sees tensors' operations (FakeTensorMode, make_fx)."""
    return IS_THERE and (torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0)


def number_of(layer: Any) -> tuple[int, Tensor]:
    """A layer's own number, and the same in a tensor, by which layers share a graph."""
    number = next(_numbers)
    _layers[number] = layer
    return number, torch.tensor(number, device="cpu")


def train(layer: Any, input: Tensor, residual: Optional[Tensor]) -> Tensor:
    """A forward pass in training, by operators. The layer's own activation is applied, unless it
    adds a residual, too."""
    buffers = layer.running_mean, layer.running_var, layer.num_batches_tracked
    mean, var, batches = layer.tracked(*buffers) or (None, None, None)
    if torch.compiler.is_compiling():
        number = layer.number[1]
    else:
        number = torch.tensor(layer.number[0], device="cpu")  # a fake one where the mode makes such
    activation = layer.activation if residual is None else None
    y, _saved, new_mean, new_var = torch.ops.syncbn.forward(
        input, residual, layer.weight, layer.bias, mean, var, batches, number, activation
    )
    if mean is not None and var is not None and not _is_cached():
        with torch.no_grad():
            mean.copy_(new_mean)
            var.copy_(new_var)
            if batches is not None:
                batches.add_(1)
    return y  # type: ignore[no-any-return]


def _is_cached() -> bool:
    """Whether a selective checkpoint recomputes: it may give what an operator gave before."""
    if torch.compiler.is_compiling():
        return False
    modes = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    return any(isinstance(mode, _Cached) for mode in modes)


class _Context:
    """Takes the place of autograd's."""

    statistics: Saved

    def save_for_backward(self, *tensors: Optional[Tensor]) -> None:
        pass


def _forward(
    x: Tensor,
    residual: Optional[Tensor],
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    running_mean: Optional[Tensor],
    running_var: Optional[Tensor],
    batches: Optional[Tensor],
    layer: Tensor,
    activation: Optional[str],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    module = _layers.get(int(layer))
    if module is None:
        raise RuntimeError("syncbn::forward: expected a SyncBatchNorm, got one that was deleted")
    mean, var = (
        x.new_empty(0) if running is None else running.clone()
        for running in (running_mean, running_var)
    )
    tensors = (x,) if residual is None else (x, residual)
    running = None
    if running_mean is not None:
        count = None if batches is None else batches.clone()
        running = mean, var, count
    group = module.group(1, None)
    call = module.check((x,), tensors[1:], weight, bias, running, group, activation)
    ctx = _Context()
    y = _passes.Node.forward(ctx, call, weight, bias, *tensors)
    return y, _stored(ctx.statistics, module.gradients), mean, var


def _forward_fake(
    x: Tensor,
    residual: Optional[Tensor],
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    running_mean: Optional[Tensor],
    running_var: Optional[Tensor],
    batches: Optional[Tensor],
    layer: Tensor,
    activation: Optional[str],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    size = _SAVED_BYTES + _SAVED_CHANNEL_BYTES * x.size(1) + _BEHIND_BYTES
    saved = x.new_empty(size, dtype=torch.uint8)
    mean, var = (
        x.new_empty(0) if running is None else torch.empty_like(running)
        for running in (running_mean, running_var)
    )
    return _like(x), saved, mean, var


def _backward(
    dy: Tensor, x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], saved: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    handle, of_group = saved[-_BEHIND_BYTES:].clone().view(torch.int64).tolist()
    made = _made.get(handle)
    if made is None or made.handle is None:
        raise RuntimeError(
            "backward: expected the process group of its forward, got one that ended"
        )
    with made.group.lock:
        loaded = Saved(made)
        size = saved.numel() - _BEHIND_BYTES
        _c.check(_load(loaded.handle, saved.data_ptr(), size))
    gradients = "group" if of_group else "local"
    _dys, (dx,), _dzs, weight_grad, bias_grad = _passes.backward(
        loaded, gradients, weight, bias, [x], [dy], weight is not None, bias is not None, False
    )
    return dx, _grad_like(weight, weight_grad, x), _grad_like(bias, bias_grad, x)


def _grad_like(parameter: Optional[Tensor], grad: Optional[Tensor], x: Tensor) -> Tensor:
    """A parameter's gradient in its type; nothing where there is none."""
    if parameter is None or grad is None:
        return x.new_empty(0)
    return grad.to(parameter.dtype)


def _backward_fake(
    dy: Tensor, x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], saved: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    weight_grad, bias_grad = (
        x.new_empty(0) if parameter is None else torch.empty_like(parameter)
        for parameter in (weight, bias)
    )
    return _like(x), weight_grad, bias_grad


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, residual, weight, bias, *_, activation = inputs
    if activation is None and bias is not None and bias.dtype == weight.dtype:
        bias = weight  # which takes its place where backward does not read it
    ctx.save_for_backward(x, weight, bias, output[1])
    ctx.residual = residual is not None
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)


def _differentiate(ctx: Any, dy: Optional[Tensor], *_none: None) -> Any:
    if dy is None:
        return (None,) * 9
    x, weight, bias, saved = ctx.saved_tensors
    dx, weight_grad, bias_grad = torch.ops.syncbn.backward(dy, x, weight, bias, saved)
    return (
        dx,
        dy if ctx.residual else None,
        None if weight is None else weight_grad,
        None if bias is None else bias_grad,
        *(None,) * 5,
    )


def _like(x: Tensor) -> Tensor:
    return torch.empty_like(_passes.in_layout(x, _passes.layout_of(x)))


def _stored(saved: Saved, gradients: str) -> Tensor:
    """The saved statistics of a pass, as bytes, and what stands behind them."""
    layer, size = saved.layer, c_size_t()
    assert layer.handle is not None
    _made[layer.handle] = layer
    with layer.group.lock:
        _c.check(_store(saved.handle, None, 0, byref(size)))
        stored = torch.empty(size.value + _BEHIND_BYTES, dtype=torch.uint8)
        _c.check(_store(saved.handle, stored.data_ptr(), size.value, byref(size)))
    if layer.group.world_size == 1:
        stored[_PASS_AT : _PASS_AT + _PASS_SIZE] = 0
    behind = torch.tensor([layer.handle, gradients == "group"], dtype=torch.int64)
    stored[-_BEHIND_BYTES:] = behind.view(torch.uint8)
    return stored


if IS_THERE:
    _operator = torch.library.custom_op(
        "syncbn::forward", _forward, mutates_args=(), device_types="cpu"
    )
    _operator.register_fake(_forward_fake)
    _operator.register_autograd(_differentiate, setup_context=_setup)
    torch.library.custom_op(
        "syncbn::backward", _backward, mutates_args=(), device_types="cpu"
    ).register_fake(_backward_fake)
    # Compilers keep the order of effects, which must be that of the other ranks; they order others by
    # the memory that they need.
    for _each in torch.ops.syncbn.forward, torch.ops.syncbn.backward:
        _register_effectful_op(_each.default, _EffectType.ORDERED)
