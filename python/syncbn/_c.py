"""libsyncbn by ctypes: its structs and its functions.

The headers are the manual (`man syncbn.h`). tests/python/layout.py compares every struct of
STRUCTS and every constant of CONSTANTS with the headers.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import sysconfig
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_uint32,
    c_void_p,
)
from pathlib import Path
from typing import Any, Callable

CONSTANTS = {
    "SBN_INVALID_ARGUMENT": -20001,
    "SBN_TOO_FEW_VALUES": -20004,
    "SBN_TIMEOUT": -20007,
    "SBN_TRANSPORT_ERROR": -20009,
    "SBN_LAYOUT_NCHW": 0,
    "SBN_LAYOUT_NHWC": 1,
    "SBN_F32": 0,
    "SBN_F16": 1,
    "SBN_BF16": 2,
    "SBN_IDENTITY": 0,
    "SBN_RELU": 1,
    "SBN_LEAKY_RELU": 2,
    "SBN_MEMORY_DEVICE": 0,
    "SBN_MEMORY_HOST": 1,
    "SBN_AVERAGE_CUMULATIVE": 1,
    "SBN_GLOBAL_GRADIENTS": 4,
    "SBN_SAVED_PASS": 64,
    "SBN_SAVED_PASS_SIZE": 8,
    "SBN_MAX_PASSES": 64,
    "SBN_TAG_HEADER": 0,
    "SBN_TAG_WORDS": 1,
    "SBN_TAG_REPEAT": 2,
}


class Buffer(Structure):
    _fields_ = [("mem", c_void_p), ("offset", c_size_t)]


class Shard(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("dims", c_int),
        ("shape", c_size_t * 5),
        ("x", Buffer),
        ("y", Buffer),
        ("dy", Buffer),
        ("dx", Buffer),
        ("residual", Buffer),
        ("residual_grad", Buffer),
        ("weight", Buffer),
        ("bias", Buffer),
        ("weight_grad", Buffer),
        ("bias_grad", Buffer),
        ("num_wait", c_uint32),
        ("wait_list", c_void_p),
        ("event", c_void_p),
        ("x_pitch", c_size_t),
        ("y_pitch", c_size_t),
        ("dy_pitch", c_size_t),
        ("dx_pitch", c_size_t),
        ("memory", c_int),
        ("running_mean", Buffer),
        ("running_var", Buffer),
    ]


def packer(kind: type[Structure], *names: str) -> struct.Struct:
    """What writes these fields of a struct, in its order, in a tenth of the time of assignments:
    ints, and buffers by their addresses. What lies between them becomes 0, as buffers' offsets."""
    formats, types = {c_int: "i", Buffer: "P8x"}, dict(kind._fields_)  # type: ignore[arg-type]
    text, end = "@", getattr(kind, names[0]).offset
    for name in names:
        field = getattr(kind, name)
        text += f"{field.offset - end}x{formats[types[name]]}"
        end = field.offset + field.size
    return struct.Struct(text)


Start = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_size_t, POINTER(c_void_p))
Test = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_int))
Missing = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_int))
Split = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_int), c_int, c_int, c_void_p)
End = ctypes.CFUNCTYPE(None, c_void_p)


class Transport(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("context", c_void_p),
        ("rank", c_int),
        ("world_size", c_int),
        ("start", Start),
        ("test", Test),
        ("missing", Missing),
        ("split", Split),
        ("end", End),
    ]


class GroupConfig(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("queues", POINTER(c_void_p)),
        ("replicas", c_size_t),
        ("transport", POINTER(Transport)),
        ("timeout", c_double),
        ("on_timeout", c_int),
        ("form", c_int),
        ("build_options", c_char_p),
        ("program_cache", c_char_p),
        ("on_compile", c_void_p),
        ("compile_context", c_void_p),
    ]


class BatchnormConfig(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("channels", c_size_t),
        ("layout", c_int),
        ("eps", c_double),
        ("eps_mode", c_int),
        ("momentum", c_double),
        ("average", c_int),
        ("affine", c_int),
        ("track_running_stats", c_int),
        ("dimensions", c_int),
        ("type", c_int),
        ("activation", c_int),
        ("slope", c_double),
        ("residual", c_int),
        ("from_output", c_int),
    ]


class Tensors(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("buffers", POINTER(Buffer)),
        ("num_wait", c_uint32),
        ("wait_list", c_void_p),
        ("event", c_void_p),
    ]


STRUCTS: dict[str, type[Structure]] = {
    "sbn_buffer": Buffer,
    "sbn_shard": Shard,
    "sbn_transport": Transport,
    "sbn_group_config": GroupConfig,
    "sbn_batchnorm_config": BatchnormConfig,
    "sbn_tensors": Tensors,
}


def load(variable: str, name: str) -> ctypes.CDLL:
    """A library: the file that the environment variable names, or else that of the prefix this
    package is installed in, or else what the system's loader finds."""
    if sys.platform == "darwin":
        name = name.replace(".so.0", ".0.dylib")
    chosen = os.environ.get(variable)
    here = Path(__file__).resolve().parent
    multiarch = f"../../../{sysconfig.get_config_var('MULTIARCH') or ''}"
    beside = (here / folder / name for folder in ("../../../../lib64", "../../..", multiarch))
    path = chosen or next((str(file) for file in beside if file.exists()), name)
    try:
        return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(
            f"{variable}: expected the path of {name}, got none that can be loaded ({error})"
            if chosen
            else f"{name} was not found: install libsyncbn, or name its file in {variable} ({error})"
        ) from None


def function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """A function of a library with its types."""
    try:
        found = getattr(library, name)
    except AttributeError:
        raise ImportError(
            f"{library._name}: expected a library that has {name}, got another or an older one"
        ) from None
    found.restype, found.argtypes = result, arguments
    return found  # type: ignore[no-any-return]


lib = load("SYNCBN_LIBRARY", "libsyncbn.so.0")

sbn_version = function(lib, "sbn_version", c_char_p)
sbn_last_error = function(lib, "sbn_last_error", c_char_p)
sbn_strerror = function(lib, "sbn_strerror", c_char_p, c_int)
sbn_status_name = function(lib, "sbn_status_name", c_char_p, c_int)
sbn_set_last_error = function(lib, "sbn_set_last_error", c_int, c_int, c_char_p)
sbn_host_queue = function(lib, "sbn_host_queue", c_int, POINTER(c_void_p))
sbn_device_memory = function(lib, "sbn_device_memory", c_size_t)
sbn_group_config_init = function(
    lib, "sbn_group_config_init", c_int, POINTER(GroupConfig), c_size_t
)
sbn_group_create = function(lib, "sbn_group_create", c_int, POINTER(GroupConfig), POINTER(c_void_p))
sbn_group_destroy = function(lib, "sbn_group_destroy", c_int, c_void_p)
sbn_group_world_size = function(lib, "sbn_group_world_size", c_int, c_void_p)
sbn_batchnorm_config_init = function(
    lib, "sbn_batchnorm_config_init", c_int, POINTER(BatchnormConfig), c_size_t
)
sbn_batchnorm_create = function(
    lib, "sbn_batchnorm_create", c_int, c_void_p, POINTER(BatchnormConfig), POINTER(c_void_p)
)
sbn_batchnorm_destroy = function(lib, "sbn_batchnorm_destroy", c_int, c_void_p)
sbn_batchnorm_set_running_stats = function(
    lib, "sbn_batchnorm_set_running_stats", c_int, c_void_p, c_void_p, c_void_p, c_void_p
)
sbn_saved_create = function(lib, "sbn_saved_create", c_int, c_void_p, POINTER(c_void_p))
sbn_saved_destroy = function(lib, "sbn_saved_destroy", c_int, c_void_p)
sbn_forward = function(lib, "sbn_forward", c_int, c_void_p, c_void_p, c_void_p, c_uint32, c_void_p)
sbn_backward = function(
    lib, "sbn_backward", c_int, c_void_p, c_void_p, c_void_p, c_uint32, c_void_p
)
sbn_data_parallel_create = function(
    lib, "sbn_data_parallel_create", c_int, c_void_p, c_void_p, POINTER(c_void_p)
)
sbn_data_parallel_destroy = function(lib, "sbn_data_parallel_destroy", c_int, c_void_p)
sbn_average_gradients_begin = function(
    lib,
    "sbn_average_gradients_begin",
    c_int,
    *(c_void_p, POINTER(c_size_t), c_size_t, POINTER(Tensors), POINTER(c_void_p)),
)
sbn_exchange_end = function(lib, "sbn_exchange_end", c_int, c_void_p)


class SyncBatchNormError(RuntimeError):
    """A failure of libsyncbn. The text is the library's sentence, with the status behind it.

    status       the status, as in <syncbn/error.h> or OpenCL's headers: -20007
    status_name  its identifier: "SBN_TIMEOUT"
    sentence     the sentence alone
    """

    def __init__(self, status: int, sentence: str | None = None) -> None:
        self.status = status
        self.status_name: str = sbn_status_name(status).decode()
        if sentence is None:
            # A long name in a sentence is cut, perhaps within a character.
            sentence = sbn_last_error().decode(errors="replace") or sbn_strerror(status).decode()
        self.sentence = sentence
        super().__init__(f"{sentence} ({self.status_name})")

    def __reduce__(self) -> tuple[Any, ...]:
        """For copies, and on the way to another process."""
        return type(self), (self.status, self.sentence)


def check(status: int) -> None:
    """Raises what the library says of a status other than success."""
    if status:
        raise SyncBatchNormError(status)


def version() -> str:
    """The version of the C library, "0.1.0"."""
    return str(sbn_version().decode())
