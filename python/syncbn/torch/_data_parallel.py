"""Several replicas of a model in one process."""

from __future__ import annotations

import copy
import os
import queue
import threading
from typing import Any, Callable, NamedTuple, Sequence

import torch
from torch import Tensor, nn

from syncbn.torch._module import IGNORED, SyncBatchNorm, this_thread

_is_tracing: Callable[[], bool] = getattr(torch.jit, "is_tracing")
# What PyTorch aligns memory to: its kernels' sums may depend on it.
_ALIGNMENT = 64


class DataParallel(nn.Module):
    """The model as `replicas` replicas in this process, each with its part of the batch.

        model = DataParallel(convert_sync_batchnorm(model), 8)
        criterion(model(images), labels).backward()

    In training every tensor among the arguments is split along dimension `dim`; parts differ by
    one sample at most, and may be empty. All else goes to each replica as it is. SyncBatchNorm
    layers normalise by all replicas', and all processes', samples. The replicas' results, tensors
    or tuples, lists and dictionaries of them, are joined along `dim`, scalars to a vector. In
    eval() the model is called once, with the whole batch.

    Each parameter's gradient is the sum over the replicas, added in their order. Replicas take
    turns, in their order, so that random numbers and updates of other layers' buffers, which they
    share, come out the same each time. What a replica's modules assign to their attributes is
    lost.

    Under DistributedDataParallel this is the module that it wraps. Processes may have different
    numbers of replicas, each process one number in all its DataParallels. In which order autograd
    runs the backward passes of parallel branches may depend on the number of replicas, and on what
    else a process does in autograd: where processes differ, all get SBN_DISAGREEMENT.

    All replicas call the same layers in the same order: a RuntimeError says who did not. Passes
    outside of a replica's forward are errors, too, such as those that activation checkpointing
    repeats in backward, and so are calls of a layer that is no module of its replica. ValueError:
    a module within is compiled.
    """

    def __init__(self, module: nn.Module, replicas: int, dim: int = 0) -> None:
        super().__init__()
        if replicas < 1:
            raise ValueError(f"replicas: expected at least 1, got {replicas}")
        self.module, self._replicas, self.dim = module, replicas, dim
        if hasattr(module, IGNORED):
            setattr(self, IGNORED, [f"module.{name}" for name in getattr(module, IGNORED)])
        # Gradients of replicas apart, of the parameters that are there, until they are averaged.
        self.apart: dict[nn.Parameter, Apart | None] = {}
        # Of the same parameters, what state_of their gradients was at the last forward in training.
        self.before: dict[nn.Parameter, tuple[int, int]] = {}

    @property
    def replicas(self) -> int:
        """How many; it does not change, as average_exactly has taken the mean over so many."""
        return self._replicas

    def __getstate__(self) -> dict[str, Any]:
        """Without the gradients apart, which nobody averages for a copy."""
        return {**self.__dict__, "apart": {}, "before": {}}

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        self.before.clear()
        if not _task_id or _task_id() == -1:  # no backward pass repeats this one
            for parameter, former in self.apart.items():
                self.apart[parameter] = former and former.found_in(parameter.grad)
        if not self.training:
            return self.module(*arguments, **keywords)
        if _is_tracing():
            raise RuntimeError("DataParallel: expected eval() in torch.jit.trace, got training")
        self.before.update((parameter, state_of(parameter.grad)) for parameter in self.apart)
        parts = _split((arguments, keywords), self.replicas, self.dim)
        copies: dict[nn.Parameter, Sequence[Tensor]] = {
            parameter: _Copies.apply(parameter, self.replicas, self.apart)
            for parameter in self.module.parameters()
        }
        replicas = [_Replica(place) for place in range(self.replicas)]
        modules = [
            _replicated(
                self.module, replica, {parameter: copies[parameter][place] for parameter in copies}
            )
            for place, replica in enumerate(replicas)
        ]
        for replica, module, (own, own_keywords) in zip(replicas, modules, parts):
            replica.start(_in_context(module, own, own_keywords))
        try:
            ys: Sequence[Tensor | None] = [None] * self.replicas
            while _advance(replicas, ys):
                ys = _pass_of(replicas)
        finally:
            for replica in replicas:
                replica.stop()
        return _gathered([replica.result for replica in replicas], self.dim)


def state_of(gradient: Tensor | None) -> tuple[int, int]:
    """What changes where something is added to a gradient."""
    return (0, 0) if gradient is None else (id(gradient), gradient._version)


class Apart(NamedTuple):
    """Gradients of a parameter that are not averaged yet."""

    own: Sequence[Tensor]  # of each replica
    total: Tensor  # their sum, of backward passes since the gradient was `before`
    before: Tensor | None
    averaged: Tensor | None  # what the gradient was before all of them
    backward_pass: int = -1  # the last one
    earlier: Apart | None = None  # those without that pass, which may turn out not to count

    def expected(self) -> Tensor:
        """The gradient, unless others have changed it."""
        return self.total if self.before is None else self.before + self.total

    def is_in(self, gradient: Tensor | None) -> bool:
        """Whether the gradient has these, and nothing else."""
        return gradient is not None and _same(gradient, self.expected())

    def found_in(self, gradient: Tensor | None) -> Apart | None:
        """Those of them that the gradient has, between backward passes: zero_grad() drops all, and
        a pass may have added nothing, as torch.autograd.grad, or one that raised. All of them where
        the gradient is something else, which is_in will refuse."""
        if self.is_in(gradient):
            return self
        if gradient is None or not gradient.any():
            return None
        is_first = self.before is self.averaged
        if (is_first or self.earlier) and self.before is not None and _same(gradient, self.before):
            return self.earlier
        return self

    def plus(self, own: Sequence[Tensor], total: Tensor, gradient: Tensor | None) -> Apart:
        """With those of another forward pass: of the same backward pass, or, where the gradient has
        the former ones, of the next."""
        own, number = [a + b for a, b in zip(self.own, own)], _number_of_pass(gradient)
        if number != self.backward_pass and self.is_in(gradient):
            earlier = self._replace(earlier=None)
            return Apart(own, total, self.expected(), self.averaged, number, earlier)
        return self._replace(own=own, total=self.total + total)


def _same(a: Tensor, b: Tensor) -> bool:
    """Whether their numbers are equal, NaN to NaN."""
    return torch.equal(a, b) or torch.allclose(a, b, 0, 0, equal_nan=True)


# The number of the backward pass that runs (PyTorch 2.1).
_task_id: Callable[[], int] | None = getattr(torch._C, "_current_graph_task_id", None)


def _number_of_pass(gradient: Tensor | None) -> int:
    """A number of this backward pass, or else one that says whether a gradient has been added to."""
    if _task_id:
        return _task_id()
    return -1 if gradient is None else gradient._version


class _Copies(torch.autograd.Function):
    """A parameter as a tensor of each replica, in the same memory, so that each has a gradient."""

    @staticmethod
    def forward(
        ctx: Any, parameter: nn.Parameter, replicas: int, apart: dict[nn.Parameter, Apart | None]
    ) -> Any:
        ctx.parameter, ctx.apart = parameter, apart
        return tuple(parameter.detach() for _ in range(replicas))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        total = grads[0].clone()
        for grad in grads[1:]:
            total += grad
        parameter, apart = ctx.parameter, ctx.apart
        if parameter in apart:
            former, number = apart[parameter], _number_of_pass(parameter.grad)
            if former and _task_id and number != former.backward_pass:
                former = former.found_in(parameter.grad)
            if former is None:
                before = None if parameter.grad is None else parameter.grad.clone()
                apart[parameter] = Apart(grads, total, before, before, number)
            else:
                apart[parameter] = former.plus(grads, total, parameter.grad)
        return total, None, None


# --- replicas that take turns --------------------------------------------------------------------


class _Pass(NamedTuple):
    """What a replica waits for: a forward pass of a layer."""

    layer: SyncBatchNorm
    input: Tensor
    residual: Tensor | None
    with_grad: bool


class _Stopped(BaseException):
    """Ends the thread of a replica that waits."""


class _Replica:
    """A replica's thread. It runs only while `resume` waits for it, from layer to layer."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.wanted: _Pass | None = None
        self._y: Tensor | None = None
        self.result: Any = None
        self.errors: list[BaseException] = []
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._stopped, self._ended = False, threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    def start(self, call: Callable[[], Any]) -> None:
        _in_thread(lambda: self._run(call))

    def resume(self, y: Tensor | None) -> None:
        """Gives it the result of the pass that it waits for, and waits until it wants another one
        or has ended, with a result or an error."""
        self.wanted, self._y = None, y
        self._turn.release()
        self._back.acquire()

    def stop(self) -> None:
        """Ends it where it is."""
        self._stopped = True
        self._turn.release()
        self._ended.acquire()

    def meet(self, layer: SyncBatchNorm, input: Tensor, residual: Tensor | None) -> Tensor:
        if threading.current_thread() is not self._thread:
            raise RuntimeError(
                f'layer "{layer.name}": expected a call within the forward pass of its '
                "DataParallel, got one from outside (activation checkpointing repeats calls so)"
            )
        if self._stopped:  # and the model goes on, in `except` or `finally`
            raise _Stopped
        self.wanted = _Pass(layer, input, residual, torch.is_grad_enabled())
        self._back.release()
        self._await_turn()
        assert self._y is not None
        return self._y

    def _await_turn(self) -> None:
        self._turn.acquire()
        if self._stopped:
            raise _Stopped

    def _run(self, call: Callable[[], Any]) -> None:
        self._thread = threading.current_thread()
        try:
            self._await_turn()
            self.result = call()
        except _Stopped:
            pass
        except BaseException as error:
            self.errors.append(error)
        finally:
            self.wanted = self._y = self._thread = None
            self._back.release()
            self._ended.release()


# Threads that wait for work, by their queues. They are kept because PyTorch prepares convolutions
# once in each thread.
_idle: list[queue.SimpleQueue[Callable[[], None]]] = []
os.register_at_fork(after_in_child=_idle.clear)


def _in_thread(work: Callable[[], None]) -> None:
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(jobs,), name="syncbn replica", daemon=True).start()
    jobs.put(work)


def _serve(jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
    this_thread.runs_replica = True
    while True:
        jobs.get()()
        _idle.append(jobs)


def _advance(replicas: Sequence[_Replica], ys: Sequence[Tensor | None]) -> bool:
    """Lets each replica run to its next layer, or to its end: False when that is all of them."""
    for replica, y in zip(replicas, ys):
        replica.resume(y)
        if replica.errors:
            raise replica.errors.pop()
    return any(replica.wanted for replica in replicas)


def _pass_of(replicas: Sequence[_Replica]) -> Sequence[Tensor]:
    """The forward pass that all replicas wait for: y of each."""
    passes = [replica.wanted for replica in replicas if replica.wanted is not None]
    layer = passes[0].layer.original
    for replica in replicas:
        if replica.wanted is None or replica.wanted.layer.original is not layer:
            other = next(other for other in replicas if other.wanted is passes[0])
            raise RuntimeError(
                f"the replicas made different calls: {_described(other)}, {_described(replica)}"
            )
    residuals = [own.residual for own in passes if own.residual is not None]
    if residuals and len(residuals) < len(replicas):
        raise RuntimeError(
            f'layer "{layer.name}": expected a residual in each replica, '
            f"got {len(residuals)} of {len(replicas)}"
        )
    with_grad = [place for place, own in enumerate(passes) if own.with_grad]
    if with_grad and len(with_grad) < len(replicas):
        raise RuntimeError(
            f'layer "{layer.name}": expected gradients to be enabled in all replicas or in none, '
            f"got them enabled in replicas {with_grad} of {len(replicas)}"
        )
    weights = [own.layer.weight for own in passes]
    biases = [own.layer.bias for own in passes]
    inputs = [own.input for own in passes]
    with torch.set_grad_enabled(bool(with_grad)):
        return layer.train_replicas(inputs, residuals, _stacked(weights), _stacked(biases), True)


def _described(replica: _Replica) -> str:
    if replica.wanted is None:
        return f"replica {replica.place} has ended"
    return f'replica {replica.place} called layer "{replica.wanted.layer.name}"'


def _stacked(tensors: Sequence[Tensor | None]) -> Tensor | None:
    """A row of each replica, if there are several."""
    there = [tensor for tensor in tensors if tensor is not None]
    if len(there) < 2:
        return there[0] if there else None
    return torch.stack(there)


# --- a replica's model and its part of the batch --------------------------------------------------


def _replicated(
    module: nn.Module, replica: _Replica, copies: dict[nn.Parameter, Tensor]
) -> nn.Module:
    """The module with copies of the parameters, and the same buffers."""
    made: dict[nn.Module, nn.Module] = {}
    for path, old in module.named_modules():
        # What torch.compile makes is bound to the module that it was made from.
        if hasattr(old, "_orig_mod") or getattr(old, "_compiled_call_impl", None):
            raise ValueError(f"module: expected no compiled part, got {path or 'all of it'}")
        made[old] = new = old._replicate_for_data_parallel()
        if isinstance(new, SyncBatchNorm):
            new.replica = replica
            new.__dict__["original"] = old
    for old, new in made.items():
        for name, child in old._modules.items():
            new._modules[name] = None if child is None else made[child]
        for name, parameter in old._parameters.items():
            # functional_call of PyTorch 1 has given the module a class that has the parameters.
            if name in getattr(old, "_attr_to_path", ()):
                raise RuntimeError(
                    "DataParallel: expected its own parameters in training, got those of "
                    "functional_call, which needs PyTorch 2"
                )
            if parameter is None:
                new._parameters[name] = None
            else:
                setattr(new, name, copies[parameter])
    return made[module]


def _in_context(
    module: nn.Module, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Callable[[], Any]:
    """A call of the module in another thread, in the modes of this one."""
    with_grad, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    cast, dtype = _autocast()
    threads = torch.get_num_threads()

    def call() -> Any:
        # A thread takes the number when it first asks for it.
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        with torch.inference_mode(inference), torch.set_grad_enabled(with_grad):
            with torch.autocast("cpu", dtype=dtype, enabled=cast):
                return module(*arguments, **keywords)

    return call


def _autocast() -> tuple[bool, torch.dtype]:
    """Whether operations on CPUs are cast, and to what."""
    if hasattr(torch, "get_autocast_dtype"):
        return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    # Before PyTorch 2.4.
    return torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()


def _split(value: Any, replicas: int, dim: int) -> list[Any]:
    """The part of each replica."""
    if isinstance(value, Tensor) and value.dim():
        return [_aligned(part) for part in torch.tensor_split(value, replicas, dim)]
    if isinstance(value, (list, tuple, dict)):
        parts = [_split(value[key], replicas, dim) for key in _keys(value)]
        return [_with_values(value, [part[place] for part in parts]) for place in range(replicas)]
    return [value] * replicas


def _aligned(part: Tensor) -> Tensor:
    if part.requires_grad or part.numel() and part.data_ptr() % _ALIGNMENT:
        return part.clone()
    # What a replica writes in place is no new version of the others' parts.
    return part.data


def _gathered(results: Sequence[Any], dim: int) -> Any:
    """The replicas' results as one."""
    first = results[0]
    for result in results:
        if _kind(result) != _kind(first):
            kinds = type(first).__name__, type(result).__name__
            raise ValueError(f"result: expected a {kinds[0]} of each replica, got a {kinds[1]}")
    if isinstance(first, Tensor):
        return torch.cat(list(results), dim) if first.dim() else torch.stack(list(results))
    if isinstance(first, (list, tuple, dict)):
        keys = _keys(first)
        for result in results:
            if set(_keys(result)) != set(keys):
                raise ValueError(f"result: expected {keys} of each replica, got {_keys(result)}")
        inner = [[result[key] for result in results] for key in keys]
        return _with_values(first, [_gathered(values, dim) for values in inner])
    if first is None:
        return None
    raise TypeError(
        "result: expected tensors, or tuples, lists and dictionaries of them, "
        f"got {type(first).__name__}"
    )


def _kind(value: Any) -> Any:
    if hasattr(value, "_fields"):
        return type(value)
    kinds = Tensor, dict, (list, tuple)
    return next((kind for kind in kinds if isinstance(value, kind)), type(value))


def _keys(value: Any) -> list[Any]:
    return list(value if isinstance(value, dict) else range(len(value)))


def _with_values(like: Any, values: list[Any]) -> Any:
    """`values` in a container like this one."""
    if isinstance(like, dict):
        # Not by its class, whose constructor may take something else.
        made = copy.copy(like)
        for key, value in zip(like, values):
            made[key] = value
        return made
    if hasattr(like, "_fields"):
        return type(like)(*values)
    return type(like)(values)
