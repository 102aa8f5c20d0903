"""Which group a layer synchronises over."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any, Callable, Iterable, Optional

import torch.distributed as dist

from syncbn import mpi
from syncbn._device import Device, cpu
from syncbn._group import Group, Transport
from syncbn.torch._distributed import DistributedTransport


class _Place:
    """Of a group, which one thread makes, while others may make those of other places."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.group: Group | None = None


_is_available = dist.is_available()  # each pass asks
_lock = threading.RLock()
# By process group, timeout, replicas, device, and whether it is a DataParallel's.
_Key = tuple[Any, float, int, Optional[Device], bool]
_places: dict[_Key, _Place] = {}
# The world, held weakly: while its store lives, there can be no other one at the same address.
_world: Any = None
_WORLD = "the world"  # in its place in a key


def group_of(
    process_group: Any,
    timeout: float,
    replicas: int = 1,
    device: Device | None = None,
    parallel: bool = False,
) -> Group:
    """The group of a process group of torch.distributed or a communicator of syncbn.mpi, with so
    many replicas on a device in this process; without one, on the CPU. DataParallels have groups
    apart from layers that are alone: other processes may have other numbers of replicas.

    None is the world of torch.distributed once it is initialised, until then this process alone.
    Does not communicate, except when a group of several processes is made: then all of them come.
    """
    world = dist.group.WORLD if _is_available else None
    of_world = world is not None and (process_group is None or process_group is world)
    key = _WORLD if of_world else process_group, timeout, replicas, device, parallel
    place = _places.get(key) if world is (_world and _world()) else None
    return (place and place.group) or _made(key, world)


def _made(key: _Key, world: Any) -> Group:
    process_group, timeout, replicas, device, _ = key
    with _lock:
        _forget_former_world(world)
        place = _places.get(key)
        if place is None:
            _end_destroyed()
            place = _places[key] = _Place()
    with place.lock:
        if place.group is None:
            transport = transport_of(world if process_group is _WORLD else process_group, timeout)
            place.group = Group(device or cpu(), replicas, transport, timeout)
        return place.group


def is_alone(process_group: Any) -> bool:
    """Is this process the only one of the group?"""
    if isinstance(process_group, mpi.Communicator):
        return process_group.size == 1
    if not (dist.is_available() and dist.is_initialized()):
        return True
    return dist.get_world_size(process_group) == 1


def transport_of(process_group: Any, timeout: float) -> Transport | None:
    """A new transport; None where this process is alone. All processes come."""
    if process_group is None:
        return None
    if isinstance(process_group, mpi.Communicator):
        # MPICH has 2048 communicators, of which a transport takes four.
        return None if process_group.size == 1 else process_group.open()
    if dist.get_rank(process_group) < 0:
        raise ValueError(
            "process_group: expected one that this process is a rank of, got one without it"
        )
    if dist.get_world_size(process_group) == 1:
        return None
    if dist.get_backend() == "mpi":
        raise ValueError(
            'process_group: expected a world with a store, got one of the backend "mpi": give '
            "layers a syncbn.mpi.Communicator"
        )
    return DistributedTransport(process_group, timeout)


def _forget_former_world(world: Any) -> None:
    """Ends the groups of process groups that destroy_process_group() has ended."""
    global _world
    if world is not (_world and _world()):
        _world = None if world is None else weakref.ref(world, _end_groups)
        _end_groups(_world)


def _end_groups(world: Any, at_exit: Callable[[], bool] = sys.is_finalizing) -> None:
    """Ends the groups before this world, or those in it once it is gone."""
    if at_exit():
        return  # they have ended, and so have modules
    with _lock:
        if world is _world:
            _end(key for key in _places if not isinstance(key[0], (type(None), mpi.Communicator)))


def _end_destroyed() -> None:
    """Ends the groups of process groups that destroy_process_group(process_group) has ended, but for
    those of which backward passes may come."""
    if dist.is_available():
        known = dist.distributed_c10d._pg_names
        _end(
            key
            for key, place in _places.items()
            if isinstance(key[0], dist.ProcessGroup)
            and key[0] not in known
            and not (place.group and place.group.awaits_backward())
        )


def _end(keys: Iterable[_Key]) -> None:
    for key in list(keys):
        place = _places.pop(key, None)  # the end of another one may have ended it
        if place and place.group:
            place.group.close()
