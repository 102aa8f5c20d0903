"""Groups over the ranks of an MPI job, by libsyncbn-mpi.

    from syncbn import mpi
    from syncbn.torch import SyncBatchNorm
    model = SyncBatchNorm.convert_sync_batchnorm(model, process_group=mpi.Communicator())

The library must be built for the MPI that mpiexec starts. SYNCBN_MPI_LIBRARY names its file where
the system does not find it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from ctypes import POINTER, byref, c_int, c_void_p, sizeof
from typing import Any

from syncbn import _c
from syncbn._group import Transport, close_all

_THREAD_SERIALIZED = 2  # in MPICH and Open MPI
_MPICH_COMM_WORLD = 0x44000000
_library: _Library | None = None


class _Library:
    """libsyncbn-mpi, and MPI, which it is linked with; MPI is initialised."""

    def __init__(self) -> None:
        lib = _c.load("SYNCBN_MPI_LIBRARY", "libsyncbn-mpi.so.0")
        self.is_open_mpi = hasattr(lib, "ompi_mpi_comm_world")
        handle = c_void_p if self.is_open_mpi else c_int
        self.handle_size = sizeof(handle)
        self.create = _c.function(lib, "sbn_mpi_create", c_int, handle, POINTER(c_void_p))
        self.transport = _c.function(
            lib, "sbn_mpi_transport", c_int, c_void_p, POINTER(_c.Transport)
        )
        self.destroy = _c.function(lib, "sbn_mpi_destroy", c_int, c_void_p)
        self.comm_rank = _c.function(lib, "MPI_Comm_rank", c_int, handle, POINTER(c_int))
        self.comm_size = _c.function(lib, "MPI_Comm_size", c_int, handle, POINTER(c_int))
        if self.is_open_mpi:
            self.world = ctypes.addressof(c_int.in_dll(lib, "ompi_mpi_comm_world"))
        else:
            self.world = _MPICH_COMM_WORLD
        self.finalized = _c.function(lib, "MPI_Finalized", c_int, POINTER(c_int))
        done, level = c_int(), c_int()
        initialized = _c.function(lib, "MPI_Initialized", c_int, POINTER(c_int))
        initialize = _c.function(
            lib, "MPI_Init_thread", c_int, c_void_p, c_void_p, c_int, POINTER(c_int)
        )
        initialized(byref(done))
        if not done.value:
            initialize(None, None, _THREAD_SERIALIZED, byref(level))
            _at_end.append(_c.function(lib, "MPI_Finalize", c_int))


class _MpiTransport(Transport):
    def __init__(self, library: _Library, communicator: int) -> None:
        super().__init__()
        self._library, self._handle = library, c_void_p()
        _c.check(library.create(communicator, byref(self._handle)))
        self.table = _c.Transport(size=sizeof(_c.Transport))
        _c.check(library.transport(self._handle, byref(self.table)))

    def close(self) -> None:
        global _pending
        if self._library.destroy(self._handle):
            _pending = True


class Communicator:
    """The ranks of an MPI communicator, as the `process_group` of a layer.

    comm   an intracommunicator of mpi4py, or None: MPI_COMM_WORLD

    Initialises MPI if nobody has, and then ends it with the interpreter. The first pass of a layer
    over it duplicates the communicator, which all its ranks take part in. Passes are made by the
    thread that MPI was initialised in, unless MPI allows others (<syncbn-mpi.h>, "Threads"). The
    groups of a Communicator end with the interpreter: make one and keep it for all layers.

    What a signal's handler raises during a pass is raised when the pass has ended, after the
    timeout at the latest.

    rank, size   this process's number in it, and how many there are

    Errors. ImportError: libsyncbn-mpi is not found. TypeError, ValueError: comm is no communicator
    of mpi4py, or one of another MPI, MPI.COMM_NULL or an intercommunicator. RuntimeError: MPI has
    ended.

    After SBN_TIMEOUT other ranks may be gone, and MPI_Finalize may wait for them for ever: it is
    then left out, and mpi4py's comm.Abort() ends the job.
    """

    def __init__(self, comm: Any = None) -> None:
        global _library
        if _library is None:
            _library = _Library()
        number = c_int()
        if _has_ended():
            raise RuntimeError("MPI: expected it running, got it ended")
        self._library = _library
        self._comm = comm  # must not be freed before the groups on it
        self._handle = _library.world if comm is None else _handle_of(comm, _library)
        _library.comm_rank(self._handle, byref(number))
        self.rank = number.value
        _library.comm_size(self._handle, byref(number))
        self.size = number.value

    def open(self) -> Transport:
        """A transport for one group."""
        return _MpiTransport(self._library, self._handle)


def _has_ended() -> bool:
    ended = c_int()
    if _library:
        _library.finalized(byref(ended))
    return ended.value != 0


def _handle_of(comm: Any, library: _Library) -> int:
    """The MPI_Comm of a communicator of mpi4py."""
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm: expected a communicator of mpi4py, got {type(comm).__name__}")
    size = MPI._sizeof(MPI.Comm)
    if size != library.handle_size:
        raise ValueError(
            "comm: expected a communicator of the MPI that libsyncbn-mpi was built for, "
            f"got one whose handle has {size} bytes instead of {library.handle_size}"
        )
    if comm == MPI.COMM_NULL:
        raise ValueError("comm: expected a communicator, got MPI.COMM_NULL")
    if comm.Is_inter():
        raise ValueError("comm: expected an intracommunicator, got an intercommunicator")
    kind = c_void_p if library.is_open_mpi else c_int
    return int(kind.from_address(MPI._addressof(comm)).value or 0)


_pending = False  # reductions, for which MPI_Finalize would wait
_at_end: list[Any] = []
os.register_at_fork(after_in_child=_at_end.clear)


@atexit.register
def _finalize() -> None:
    close_all()
    for finalize in _at_end:
        if not _pending and not _has_ended():
            finalize()
