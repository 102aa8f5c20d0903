"""The layer, and models converted to it and back."""

from __future__ import annotations

import copy
import threading
from operator import attrgetter, itemgetter
from typing import Any, Callable, Protocol, Sequence, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parallel import DistributedDataParallel

from syncbn._device import Device, cpu
from syncbn._group import Group, Layer, Settings
from syncbn.torch import _operators
from syncbn.torch._backend import backend_of, is_registered
from syncbn.torch._groups import group_of, is_alone
from syncbn.torch._passes import (
    TYPES,
    Call,
    Node,
    Running,
    activation_of,
    affine_of,
    check_device,
    check_type,
    layout_of,
    updated_of,
)

# Where DistributedDataParallel looks for the names of parameters that are not its own, in the model
# that it is given.
IGNORED = "_ddp_params_and_buffers_to_ignore"
# Whether torch.jit.trace or a transform of torch.func sees operations.
_is_tracing: Callable[[], bool] = getattr(torch._C, "_is_tracing")
_is_transforming: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _out_of_graphs(function: _Function) -> _Function:
    """Leaves a function to the interpreter where torch.compile (PyTorch 2) traces."""
    compiler = getattr(torch, "compiler", None)
    disable = getattr(compiler, "disable", None)
    return disable(function) if disable else function


class Replica(Protocol):
    """One of several replicas in a process."""

    def meet(self, layer: SyncBatchNorm, input: Tensor, residual: Tensor | None) -> Tensor:
        """y of this replica, once all of them have come to the layer."""


class _Thread(threading.local):
    """What this thread does: replicas run in threads that make no passes themselves."""

    runs_replica = False


this_thread = _Thread()


class SyncBatchNorm(_BatchNorm):
    r"""Batch normalisation over the batch of all processes of a group, on CPU tensors.

        y = (x - mean) / sqrt(var + eps) * weight + bias

    mean and var are per channel, over all samples and positions of all processes. y, the gradient
    of x and the running statistics have the same bits for every number of processes and every way
    to split the batch, and the sums in them do not depend on an order (doc/order.md).

    Arguments, attributes, state_dict and errors are those of torch.nn.SyncBatchNorm; eps is not
    negative, and momentum is None or 0 to 1. These are new:

    process_group  a group of torch.distributed (gloo sums on CPUs, whatever its backend; but the
                   backend of the world must keep a store, which "mpi" does not), a
                   syncbn.mpi.Communicator, or None: the world of torch.distributed, or, where it
                   is not initialised, this process alone
    timeout        seconds to wait for other processes before an error names them
    gradients      of weight and bias. "local": sums over this process's samples, which
                   DistributedDataParallel averages. "group": the sums over all processes, divided
                   by their number: what that averaging gives over process_group, with the same
                   bits on all of them and for every way to split the batch. In eval(), where
                   nobody sums them, they are an error, but not in compiled graphs
    activation     None, "relu" or "leaky_relu" (of `slope`), in the same pass
    name           of the layer, in errors; the same on all processes

    Shapes. input and output: (N, C), (N, C, L), (N, C, H, W) or (N, C, D, H, W), contiguous or
    channels last, other strides are copied. float32, float16 or bfloat16; all processes have the
    same type and C, each has an N of its own, 0 too. Weight, bias and the running statistics are
    float32, or of a half type, whose values are then widened and rounded.

    In eval() the layer is PyTorch's batch norm with the running statistics, and takes the types that
    that one takes. In training the library computes, also where there is one process.

    Errors. ValueError: an input, a parameter or a running statistic has a wrong shape, type or
    device, or there is one value per channel. SyncBatchNormError: another number of channels,
    or the processes differ (SBN_DISAGREEMENT names who and in what), one of them had an error
    (SBN_REMOTE_ERROR), did not come in time (SBN_TIMEOUT) or is gone (SBN_TRANSPORT_ERROR). Each
    process that takes part gets an error. After the last two the group takes no more passes.
    """

    process_group: Any
    # The class that convert_sync_batchnorm found, for the way back.
    converted_from: type[_BatchNorm] | None = None
    # Of a replica's layer: its replica, and the layer that passes are made by.
    replica: Replica | None = None
    original: SyncBatchNorm

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        timeout: float = 300.0,
        gradients: str = "local",
        activation: str | None = None,
        slope: float = 0.01,
        name: str = "batchnorm",
        **newer: Any,
    ) -> None:
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            device=device,
            dtype=dtype,
            **newer,
        )
        _check_settings(timeout, gradients)
        activation_of(activation)
        self.process_group = process_group
        self.timeout, self.gradients, self.name = float(timeout), gradients, name
        self.activation, self.slope = activation, float(slope)
        self.number = _operators.number_of(self)

    def forward(self, input: Tensor, residual: Tensor | None = None) -> Tensor:
        """Normalises input, adds residual (of its shape and type) and applies the activation."""
        if not self.training:
            return self._evaluate(input, residual)
        if self.replica is not None:
            return self.replica.meet(self, input, residual)
        if _operators.are_wanted():
            y = _operators.train(self, input, residual)
            # The operator keeps no mask, by which a residual's activation is differentiated.
            return y if residual is None else _behind(y, None, self.activation, self.slope)
        residuals = () if residual is None else (residual,)
        return self.train_replicas((input,), residuals, *_parameters_of(self))[0]

    def _evaluate(self, input: Tensor, residual: Tensor | None) -> Tensor:
        _check_shape(input)
        weight: Tensor | None = self.weight
        bias: Tensor | None = self.bias
        if self.gradients == "group" and not is_alone(self.process_group):
            weight, bias = _unsummed(self.name, weight), _unsummed(self.name, bias)
        y = F.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            weight,
            bias,
            self.running_mean is None and self.running_var is None,
            0.0,
            self.eps,
        )
        return _behind(y, residual, self.activation, self.slope)

    @_out_of_graphs
    def train_replicas(
        self,
        inputs: Sequence[Tensor],
        residuals: Sequence[Tensor],
        weight: Tensor | None,
        bias: Tensor | None,
        parallel: bool = False,
    ) -> Sequence[Tensor]:
        """A forward pass in training of all replicas of this process, in a DataParallel or not: y of
        each. weight and bias have a row for each replica, or none."""
        group = self.group(len(inputs), backend_of(inputs), parallel)
        running = self.tracked(*_buffers_of(self))
        call = self.check(inputs, residuals, weight, bias, running, group, self.activation)
        y = Node.apply(call, weight, bias, *inputs, *residuals)
        return (y,) if len(inputs) == 1 else y

    def group(self, replicas: int, device: Device | None, parallel: bool = False) -> Group:
        """The group that it synchronises over."""
        if this_thread.runs_replica:
            raise RuntimeError(
                f'layer "{self.name}": expected a call of its copy in a replica, got one of itself '
                "(a method that is bound to it, a list, or a DataParallel in another keeps it)"
            )
        # Before a group or a layer is made, which compiles kernels in threads of the driver.
        (device or cpu()).check_process()
        return group_of(self.process_group, self.timeout, replicas, device, parallel)

    def layer(
        self,
        group: Group,
        input: Tensor,
        affine: bool,
        residual: bool,
        tracks: bool,
        activation: str | None,
    ) -> Layer:
        """What makes passes of such inputs."""
        return group.layer(
            self.name,
            self.num_features,
            layout_of(input),
            self.eps,
            affine,
            TYPES[input.dtype],
            activation_of(activation),
            self.slope,
            residual,
            self.momentum if tracks else 0.0,
            tracks,
        )

    def check(
        self,
        inputs: Sequence[Tensor],
        residuals: Sequence[Tensor],
        weight: Tensor | None,
        bias: Tensor | None,
        running: Running | None,
        group: Group,
        activation: str | None,
    ) -> Call:
        """What makes the pass. Refuses what the library cannot see, and tells the other ranks of
        errors."""
        if _is_tracing():  # most often by one rank alone
            raise RuntimeError(
                f'layer "{self.name}": expected eval() in torch.jit.trace, got training'
            )
        try:
            if _is_transforming():
                raise RuntimeError(
                    f'layer "{self.name}": expected eval() in transforms of torch.func, got training'
                )
            for place in group.places:
                input = inputs[place]
                _check_shape(input)
                _check_tensor("input", input, input)
                if place > 0:
                    _check_alike(input, inputs[0])
                if residuals:
                    _check_tensor("residual", residuals[place], input)
            affine = affine_of(weight, bias, self.num_features, len(inputs), inputs[0])
            prepared = None
            if running:
                updated = updated_of(running, self.momentum, self.num_features, inputs[0])
                prepared = running, updated
            tracks = running is not None
            made = self.layer(
                group, inputs[0], weight is not None, len(residuals) > 0, tracks, activation
            )
            return made, self.gradients, affine, prepared
        except Exception:
            if group.world_size > 1:
                # Without this layer's other settings, which may be what is wrong.
                accepted = Settings(
                    self.name,
                    self.num_features,
                    layout=0,
                    eps=1.0,
                    affine=False,
                    type=0,
                    activation=0,
                    slope=0.0,
                    residual=False,
                    momentum=0.0,
                    track=False,
                )
                group.layer(*accepted).refuse()
            raise

    def tracked(
        self, mean: Tensor | None, var: Tensor | None, batches: Tensor | None
    ) -> Running | None:
        """These of its running statistics, if a pass updates them."""
        if not self.track_running_stats or mean is None or var is None:
            return None
        return None if batches is None and self.momentum is None else (mean, var, batches)

    def extra_repr(self) -> str:
        text: str = super().extra_repr()  # type: ignore[no-untyped-call]
        if self.gradients != "local":
            text += f", gradients={self.gradients!r}"
        if self.activation is not None:
            text += f", activation={self.activation!r}"
        return text

    def __deepcopy__(self, memo: dict[int, Any]) -> SyncBatchNorm:
        """A copy in the same process group, which cannot be copied."""
        memo[id(self.process_group)] = self.process_group
        made = self.__class__.__new__(self.__class__)
        memo[id(self)] = made
        # What compile() made is bound to the layer that it was made from.
        state = {key: self.__dict__[key] for key in self.__dict__ if key != "_compiled_call_impl"}
        made.__dict__.update(copy.deepcopy(state, memo))
        made.number = _operators.number_of(made)
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.number = _operators.number_of(self)

    @classmethod
    def convert_sync_batchnorm(
        cls,
        module: nn.Module,
        process_group: Any = None,
        *,
        timeout: float = 300.0,
        gradients: str = "local",
    ) -> nn.Module:
        """The model with every batch norm (BatchNorm1d, 2d, 3d, torch.nn.SyncBatchNorm and what
        derives from them) replaced by this layer, in place; returns the layer itself where
        `module` is one batch norm.

        Parameters and buffers stay the same objects. Layers are named by their path in the model,
        "features.1". Layers that are SyncBatchNorm already get process_group, timeout, gradients
        and name.

        With gradients="group" DistributedDataParallel of this model does not average the layers'
        gradients again, and does not send rank 0's weight and bias to the others when it begins.

        Errors. ValueError: a lazy batch norm that has not seen its first input, or one that is
        compiled by itself; timeout, gradients.
        """
        _check_settings(timeout, gradients)
        made = _replace(
            module, lambda old, path: _converted(cls, old, path, process_group, timeout, gradients)
        )
        _mark(made)
        return made

    @classmethod
    def revert_sync_batchnorm(cls, module: nn.Module) -> nn.Module:
        """The way back: every SyncBatchNorm, PyTorch's too, becomes the batch norm that
        convert_sync_batchnorm found, or, where there was none or the layer has an activation, one
        for any number of dimensions, with the same activation. Parameters and buffers stay the same
        objects.

        DistributedDataParallel of this model averages their gradients, gradients="group" or not.

        Errors. ValueError: a layer that is compiled by itself.
        """
        for part in module.modules():
            _mark(part, "local")
        return _replace(module, lambda old, path: _reverted(old))


def _reader(place: str, *names: str) -> Callable[[SyncBatchNorm], tuple[Any, ...]]:
    """What reads parameters or buffers as layer.weight does, for which nn.Module takes 0.5 us."""
    entries: Callable[[Any], tuple[Any, ...]] = itemgetter(*names)
    attributes: Callable[[Any], tuple[Any, ...]] = attrgetter(*names)

    def read(layer: SyncBatchNorm) -> tuple[Any, ...]:
        # Classes made from it may have others (parametrizations, functional_call in PyTorch 1).
        if type(layer) is SyncBatchNorm:
            try:
                return entries(layer.__dict__[place])
            except KeyError:
                pass  # pruned, or of a replica
        return attributes(layer)

    return read


_parameters_of = _reader("_parameters", "weight", "bias")
_buffers_of = _reader("_buffers", "running_mean", "running_var", "num_batches_tracked")


class BatchNorm(_BatchNorm):
    """SyncBatchNorm's batch norm of one process, by PyTorch: what revert_sync_batchnorm makes."""

    activation: str | None = None
    slope = 0.01

    def forward(self, input: Tensor, residual: Tensor | None = None) -> Tensor:
        return _behind(super().forward(input), residual, self.activation, self.slope)

    def _check_input_dim(self, input: Tensor) -> None:
        _check_shape(input)


def convert_sync_batchnorm(
    module: nn.Module,
    process_group: Any = None,
    *,
    timeout: float = 300.0,
    gradients: str = "local",
) -> nn.Module:
    """SyncBatchNorm.convert_sync_batchnorm."""
    return SyncBatchNorm.convert_sync_batchnorm(
        module, process_group, timeout=timeout, gradients=gradients
    )


def revert_sync_batchnorm(module: nn.Module) -> nn.Module:
    """SyncBatchNorm.revert_sync_batchnorm."""
    return SyncBatchNorm.revert_sync_batchnorm(module)


def _replace(
    module: nn.Module, replacement: Callable[[nn.Module, str], nn.Module | None]
) -> nn.Module:
    """The model with modules replaced in place; one that occurs twice is replaced by one."""
    made: dict[int, nn.Module | None] = {}
    for path, old in list(module.named_modules(remove_duplicate=False)):
        if id(old) not in made:
            made[id(old)] = replacement(old, path or "batchnorm")
        new = made[id(old)]
        if new is not None and path:
            parent, _, name = path.rpartition(".")
            if name == "_orig_mod" and new is not old:
                raise ValueError(
                    f"{parent or 'module'}: expected a layer that is converted or reverted before "
                    f"it is compiled, got a compiled {type(old).__name__}"
                )
            setattr((made[id(module)] or module).get_submodule(parent), name, new)
    return made[id(module)] or module


def _mark(model: nn.Module, gradients: str | None = None) -> None:
    """Tells DistributedDataParallel which parameters have the gradients of all processes: those of
    layers with gradients="group", or with this setting in place of their own."""
    names: dict[str, set[str]] = {"local": set(), "group": set()}
    for path, layer in model.named_modules():
        if isinstance(layer, SyncBatchNorm):
            # DistributedDataParallel calls those of the model itself both "weight" and ".weight".
            own = {f"{path}.{name}" for name in ("weight", "bias")}
            names[gradients or layer.gradients] |= own | {name.lstrip(".") for name in own}
    before = set(getattr(model, IGNORED, ()))
    ignored = before - names["local"] | names["group"]
    if ignored != before:
        mark: Any = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model
        mark(model, sorted(ignored))


def _converted(
    cls: type[SyncBatchNorm],
    old: nn.Module,
    path: str,
    process_group: Any,
    timeout: float,
    gradients: str,
) -> nn.Module | None:
    if not isinstance(old, _BatchNorm):
        return None
    if isinstance(old, LazyModuleMixin):
        raise ValueError(
            f"{path}: expected a batch norm that has seen its first input, "
            f"got a {type(old).__name__}"
        )
    if isinstance(old, cls):
        old.process_group, old.timeout, old.gradients = process_group, timeout, gradients
        old.name = path
        return old
    new = cls(
        old.num_features,
        old.eps,
        old.momentum,
        False,
        old.track_running_stats,
        process_group,
        timeout=timeout,
        gradients=gradients,
        name=path,
    )
    if type(old) in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):
        new.converted_from = type(old)
    return _with_state_of(old, new)


def _reverted(old: nn.Module) -> nn.Module | None:
    if not isinstance(old, (SyncBatchNorm, nn.SyncBatchNorm)):
        return None
    kind: type[_BatchNorm] = BatchNorm
    if isinstance(old, SyncBatchNorm) and old.activation is None:
        kind = old.converted_from or kind
    new = kind(old.num_features, old.eps, old.momentum, False, old.track_running_stats)
    return _with_state_of(old, new)


def _with_state_of(old: _BatchNorm, new: _BatchNorm) -> _BatchNorm:
    """`new` with the parameters, buffers, children, activation and mode of `old`."""
    ours = SyncBatchNorm, BatchNorm
    if isinstance(old, ours) and isinstance(new, ours):
        new.activation, new.slope = old.activation, old.slope
    new.affine = old.affine
    new.weight, new.bias = old.weight, old.bias
    new.running_mean, new.running_var = old.running_mean, old.running_var
    new.num_batches_tracked = old.num_batches_tracked
    new._non_persistent_buffers_set = set(old._non_persistent_buffers_set)
    new._modules.update(old._modules)
    if hasattr(old, "qconfig"):
        new.qconfig = old.qconfig
    return new.train(old.training)


def _unsummed(name: str, row: Tensor | None) -> Tensor | None:
    """Weight or bias in eval() with gradients="group": its gradient, which DistributedDataParallel
    leaves and no pass sums, is an error, but for graphs that are traced or compiled."""

    def refuse(_grad: Tensor) -> None:
        raise RuntimeError(
            f'layer "{name}": expected gradients="local" where weight and bias are trained in '
            'eval(), got "group"'
        )

    is_tracing: Callable[[], bool] = getattr(torch.jit, "is_tracing")
    traced = is_tracing() or _operators.are_wanted()
    if row is None or traced or not torch.is_grad_enabled():
        return row
    row = row.view_as(row)
    if row.requires_grad:
        row.register_hook(refuse)  # type: ignore[no-untyped-call]
    return row


def _behind(y: Tensor, residual: Tensor | None, activation: str | None, slope: float) -> Tensor:
    """The residual added and the activation applied, by PyTorch."""
    if residual is not None:
        y = y + residual
    if activation == "relu":
        y = F.relu(y)
    elif activation == "leaky_relu":
        y = F.leaky_relu(y, slope)
    elif activation is not None:
        activation_of(activation)  # an error
    return y


def _check_settings(timeout: float, gradients: str) -> None:
    if gradients not in ("local", "group"):
        raise ValueError(f"gradients: expected 'local' or 'group', got {gradients!r}")
    if not timeout > 0:
        raise ValueError(f"timeout: expected more than 0 seconds, got {timeout}")


def _check_shape(input: Tensor) -> None:
    shape = input.shape
    if len(shape) < 2:
        raise ValueError(f"expected at least 2D input (got {len(shape)}D input)")
    if shape[1] == 0:
        raise ValueError("SyncBatchNorm number of input channels should be non-zero")


def _check_alike(input: Tensor, first: Tensor) -> None:
    check_device("input", input, first)
    if input.dim() != first.dim() or input.dtype != first.dtype:
        raise ValueError(
            f"input: expected {first.dim()} dimensions of {str(first.dtype)[6:]} as in the first "
            f"replica, got {input.dim()} of {str(input.dtype)[6:]}"
        )


def _check_tensor(name: str, tensor: Tensor, input: Tensor) -> None:
    """What the C library cannot see."""
    if not tensor.is_cpu and not is_registered(tensor):
        raise ValueError(f"{name}: expected a tensor on the CPU, got one on {tensor.device}")
    if tensor is not input:
        check_device(name, tensor, input)
    check_type(name, tensor)
    if tensor.layout is not torch.strided:
        raise ValueError(f"{name}: expected a dense tensor, got {str(tensor.layout)[6:]}")
    if tensor.dim() > 5:
        raise ValueError(f"{name}: expected 2 to 5 dimensions, got {tensor.dim()}")
    if tensor is not input and (tensor.shape != input.shape or tensor.dtype != input.dtype):
        raise ValueError(
            f"{name}: expected {tuple(input.shape)} of {str(input.dtype)[6:]} as the input, "
            f"got {tuple(tensor.shape)} of {str(tensor.dtype)[6:]}"
        )
