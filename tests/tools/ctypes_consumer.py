"""A binding by ctypes: structs from the header's fields, defaults from the library's _init functions.

Arguments: the shared library, a checkpoint with a layer. Prints TAP.
"""

import ctypes
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t
from ctypes import c_uint64, c_void_p, sizeof

INVALID_ARGUMENT = -20001


class GroupConfig(Structure):
    _fields_ = [("size", c_size_t), ("queues", c_void_p), ("replicas", c_size_t),
                ("transport", c_void_p), ("timeout", c_double), ("on_timeout", c_int),
                ("form", c_int), ("build_options", c_char_p), ("program_cache", c_char_p),
                ("on_compile", c_void_p), ("compile_context", c_void_p)]


class BatchnormConfig(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("channels", c_size_t),
                ("layout", c_int), ("eps", c_double), ("eps_mode", c_int),
                ("momentum", c_double), ("average", c_int), ("affine", c_int),
                ("track_running_stats", c_int), ("dimensions", c_int),
                ("type", c_int), ("activation", c_int), ("slope", c_double), ("residual", c_int),
                ("from_output", c_int)]


class DataParallelConfig(Structure):
    _fields_ = [("size", c_size_t), ("bucket_bytes", c_size_t)]


class LoadConfig(Structure):
    _fields_ = [("size", c_size_t), ("strict", c_int), ("report", c_void_p),
                ("context", c_void_p)]


class Sampler(Structure):
    _fields_ = [("size", c_size_t), ("samples", c_uint64), ("replicas", c_uint64),
                ("replica", c_uint64), ("seed", c_uint64), ("epoch", c_uint64),
                ("shuffle", c_int), ("drop_last", c_int)]


class Transport(Structure):
    _fields_ = [("size", c_size_t), ("context", c_void_p), ("rank", c_int),
                ("world_size", c_int), ("start", c_void_p), ("test", c_void_p),
                ("missing", c_void_p), ("split", c_void_p), ("end", c_void_p)]


class LayerInfo(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("channels", c_size_t),
                ("type", c_char_p), ("affine", c_int), ("tracked", c_int)]


library = ctypes.CDLL(sys.argv[1])
library.sbn_last_error.restype = c_char_p
library.sbn_version.restype = c_char_p
for name in ("sbn_group_destroy", "sbn_batchnorm_destroy", "sbn_checkpoint_destroy",
             "sbn_hub_destroy", "sbn_group_status", "sbn_group_abort"):
    getattr(library, name).argtypes = [c_void_p] + ([POINTER(c_char_p)] if "status" in name else [])

count = 0


def ok(condition, what):
    """One check; a failure comes with the library's sentence."""
    global count
    count += 1
    print(f"{'ok' if condition else 'not ok'} {count} - {what}")
    if not condition:
        print(f"# {library.sbn_last_error().decode()}")


def initialised(kind, function):
    """A struct filled with the library's defaults."""
    made = kind()
    ok(getattr(library, function)(byref(made), c_size_t(sizeof(kind))) == 0 and
       made.size == sizeof(kind), function)
    return made


group_config = initialised(GroupConfig, "sbn_group_config_init")
layer_config = initialised(BatchnormConfig, "sbn_batchnorm_config_init")
parallel_config = initialised(DataParallelConfig, "sbn_data_parallel_config_init")
load_config = initialised(LoadConfig, "sbn_load_config_init")
sampler = initialised(Sampler, "sbn_sampler_init")
ok(group_config.timeout == 300.0 and group_config.replicas == 0, "a group's defaults")
ok((layer_config.eps, layer_config.momentum, layer_config.affine,
    layer_config.track_running_stats, layer_config.dimensions) == (1e-5, 0.1, 1, 1, 0),
   "a layer's defaults")
ok(parallel_config.bucket_bytes == 4 << 20 and load_config.strict == 1 and sampler.shuffle == 1,
   "the others' defaults")

hub, group, layer = c_void_p(), c_void_p(), c_void_p()
table = Transport(size=sizeof(Transport))
ok(library.sbn_hub_create(1, byref(hub)) == 0, "sbn_hub_create")
ok(library.sbn_hub_transport(hub, 0, byref(table)) == 0 and table.world_size == 1,
   "sbn_hub_transport")
ok(library.sbn_group_create(byref(group_config), byref(group)) == INVALID_ARGUMENT and
   b"replicas" in library.sbn_last_error(), "a group without anything is refused")
group_config.transport = ctypes.addressof(table)
ok(library.sbn_group_create(byref(group_config), byref(group)) == 0, "sbn_group_create")
ok(library.sbn_batchnorm_create(group, byref(layer_config), byref(layer)) == INVALID_ARGUMENT and
   b"channels" in library.sbn_last_error(), "a layer without channels is refused")
layer_config.channels = 3
layer_config.name = b"from ctypes"
ok(library.sbn_batchnorm_create(group, byref(layer_config), byref(layer)) == 0,
   "sbn_batchnorm_create")
found = BatchnormConfig(size=sizeof(BatchnormConfig))
ok(library.sbn_batchnorm_settings(layer, byref(found)) == 0 and found.channels == 3 and
   found.name == b"from ctypes" and found.eps == 1e-5, "its settings come back")
mean, var, batches = (ctypes.c_float * 3)(), (ctypes.c_float * 3)(), c_int64(-1)
ok(library.sbn_batchnorm_running_stats(layer, mean, var, byref(batches)) == 0 and
   list(mean) == [0, 0, 0] and list(var) == [1, 1, 1] and batches.value == 0,
   "its running statistics")
library.sbn_batchnorm_destroy(layer)
reason = c_char_p()
ok(library.sbn_group_status(group, byref(reason)) == 0 and reason.value == b"",
   "the group lives")
ok(library.sbn_group_abort(group) == 0 and library.sbn_group_status(group, byref(reason)) != 0 and
   reason.value == b"sbn_group_abort was called", "the group is aborted")
library.sbn_group_destroy(group)
library.sbn_hub_destroy(hub)

sampler.samples, sampler.shuffle = 5, 0
taken, length = (c_uint64 * 5)(), c_uint64()
ok(library.sbn_sampler_length(byref(sampler), byref(length)) == 0 and length.value == 5 and
   library.sbn_sampler_take(byref(sampler), c_uint64(0), c_size_t(5), taken) == 0 and
   list(taken) == [0, 1, 2, 3, 4], "samples in their order")

checkpoint, info = c_void_p(), LayerInfo(size=sizeof(LayerInfo))
ok(library.sbn_checkpoint_create(sys.argv[2].encode(), byref(checkpoint)) == 0,
   "sbn_checkpoint_create")
ok(library.sbn_checkpoint_layer(checkpoint, c_size_t(0), byref(info)) == 0 and
   info.channels == 4 and info.type == b"F32", "a layer of a checkpoint")
library.sbn_checkpoint_destroy(checkpoint)
print(f"1..{count}")
