"""Groups, their layers, and the statistics that forward passes leave for backward passes."""

from __future__ import annotations

import atexit
import ctypes
import threading
import weakref
from ctypes import byref, c_void_p, sizeof
from typing import Any, Callable, NamedTuple

from syncbn import _c
from syncbn._device import Device

_SHARD_SIZE = sizeof(_c.Shard)


class Transport:
    """What joins the processes of a group. `table` has the library's callbacks."""

    table: _c.Transport

    def __init__(self) -> None:
        # What ended a wait from outside, such as a KeyboardInterrupt.
        self.interrupts: list[BaseException] = []

    def call(self, function: Callable[..., int], *arguments: Any) -> int:
        """A call of the library that may wait for other processes."""
        return function(*arguments)

    def close(self) -> None:
        """Ends it, after its group."""


class Settings(NamedTuple):
    """What makes layers of a group differ, as in sbn_batchnorm_config."""

    name: str
    channels: int
    layout: int
    eps: float
    affine: bool
    type: int
    activation: int
    slope: float
    residual: bool
    momentum: float | None
    track: bool


class Group:
    """An sbn_group of `replicas` replicas on one device.

    A group, and what is made from it, is used by one thread at a time: hold `lock` meanwhile.
    """

    def __init__(
        self, device: Device, replicas: int, transport: Transport | None, timeout: float
    ) -> None:
        self.device, self.replicas, self.transport = device, replicas, transport
        self.places = range(replicas)  # kept: to make one takes a small pass 0.8 us
        self.lock = threading.RLock()
        # Of this thread, which a signal's handler may have interrupted.
        self.is_in_pass: Callable[[], bool] = getattr(self.lock, "_is_owned")
        self._layers: dict[tuple[Any, ...], Layer] = {}
        self._queues = (c_void_p * replicas)(*[device.queue] * replicas)
        config = _c.GroupConfig()
        _c.check(_c.sbn_group_config_init(byref(config), sizeof(config)))
        config.queues = self._queues
        config.replicas, config.timeout = replicas, timeout
        if transport:
            config.transport = ctypes.pointer(transport.table)
        handle = c_void_p()
        _c.check(_c.sbn_group_create(byref(config), byref(handle)))
        self.handle = handle.value
        self.world_size: int = _c.sbn_group_world_size(self.handle)
        _open[self] = None

    def layer(self, *settings: Any) -> Layer:
        """The layer with these Settings, made when it is first asked for. Running statistics are
        those of the shards, so that modules with the same settings may share one."""
        layer = self._layers.get(settings)
        if layer is None:
            with self.lock:
                layer = self._layers.get(settings)
                if layer is None:
                    made = Settings(*settings)
                    layer = self._layers[made] = Layer(self, made)
        return layer

    def awaits_backward(self) -> bool:
        """Are there statistics that a backward pass may come for?"""
        return any(len(layer.free) < len(layer._saved) for layer in list(self._layers.values()))

    def call(self, function: Callable[..., int], *arguments: Any) -> int:
        """The status of a call of the library that may wait for other processes; raises what
        interrupted it."""
        if self.transport is None:
            return function(*arguments)
        status = self.transport.call(function, *arguments)
        if interrupts := self.transport.interrupts:
            error = interrupts[0]
            interrupts.clear()
            raise error
        return status

    def close(self) -> None:
        """Ends the group and all that was made from it."""
        _open.pop(self, None)
        if self.device.forked or not self.handle:
            return
        for layer in self._layers.values():
            layer.close()
        self._layers.clear()
        _c.sbn_group_destroy(self.handle)
        self.handle = None
        if self.transport:
            self.transport.close()


class Layer:
    """An sbn_batchnorm, with a shard for each replica that passes fill."""

    def __init__(self, group: Group, settings: Settings) -> None:
        config = _c.BatchnormConfig()
        _c.check(_c.sbn_batchnorm_config_init(byref(config), sizeof(config)))
        config.name = settings.name.encode()
        config.channels, config.layout, config.eps = (
            settings.channels,
            settings.layout,
            settings.eps,
        )
        config.affine, config.type = settings.affine, settings.type
        config.activation, config.slope = settings.activation, settings.slope
        config.residual, config.track_running_stats = settings.residual, settings.track
        if settings.momentum is None:
            config.average = _c.CONSTANTS["SBN_AVERAGE_CUMULATIVE"]
        elif settings.track:
            config.momentum = settings.momentum
        handle = c_void_p()
        _c.check(_c.sbn_batchnorm_create(group.handle, byref(config), byref(handle)))
        self.handle, self.group, self.settings = handle.value, group, settings
        self.shards = (_c.Shard * group.replicas)()
        self.shards_at = ctypes.addressof(self.shards)
        self._shards: list[_c.Shard] = list(self.shards)
        self._shapes: list[tuple[int, ...] | None] = [None] * group.replicas
        self._saved: list[int] = []
        self.free: list[int] = []

    def shard(self, place: int, shape: tuple[int, ...]) -> _c.Shard:
        """A replica's shard, for tensors of this shape."""
        if shape != self._shapes[place]:
            self._shapes[place] = shape
            self.shards[place] = _c.Shard(_SHARD_SIZE, len(shape), shape)
        return self._shards[place]

    def refuse(self) -> None:
        """Makes a forward pass with wrong arguments, which tells the other ranks of an error."""
        with self.group.lock:
            for place in self.group.places:
                self.group.device.fill(self.shard(place, ()))
            self.group.call(
                _c.sbn_forward, self.handle, self.shards_at, Saved(self).handle, 0, None
            )

    def take(self) -> int:
        """A handle of saved statistics."""
        if self.free:
            return self.free.pop()
        handle = c_void_p()
        _c.check(_c.sbn_saved_create(self.handle, byref(handle)))
        assert handle.value
        self._saved.append(handle.value)
        return handle.value

    def close(self) -> None:
        """Ends the layer and its saved statistics."""
        for saved in self._saved:
            _c.sbn_saved_destroy(saved)
        self._saved, self.free = [], []
        _c.sbn_batchnorm_destroy(self.handle)
        self.handle = None


class Saved:
    """Saved statistics of a layer, which has them back when nobody needs this any more."""

    __slots__ = ("handle", "layer")

    def __init__(self, layer: Layer) -> None:
        self.handle = layer.take()
        self.layer = layer

    def __del__(self) -> None:
        # Without `layer` where take() failed.
        layer = getattr(self, "layer", None)
        if layer is not None and layer.handle:
            layer.free.append(self.handle)


# In the order in which they were made, in which all processes end them.
_open: weakref.WeakKeyDictionary[Group, None] = weakref.WeakKeyDictionary()


@atexit.register
def close_all() -> None:
    """Ends all groups, before the interpreter ends."""
    for group in list(_open):
        group.close()
