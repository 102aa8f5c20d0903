"""Tensors of an OpenCL backend of PyTorch, by a stand-in (backend.cpp), without copies."""

import os
import sys
from itertools import product

import torch
from torch.utils import cpp_extension

import tap
from syncbn.torch import DataParallel, SyncBatchNorm, register_opencl_backend

torch.set_num_threads(1)
backend = cpp_extension.load(
    name="stand_in",
    sources=[f"{os.path.dirname(os.path.abspath(__file__))}/backend.cpp"],
    build_directory=sys.argv[1],
    extra_cflags=["-O0"],
    extra_ldflags=["-lOpenCL"],
)
torch.utils.rename_privateuse1_backend("ocl")
torch._register_device_module("ocl", backend)


def run(device, x, z, dy, dtype, replicas, residual):
    """A pass of a layer on a device: y, the gradients and the buffers."""
    layer = SyncBatchNorm(4, activation="relu").to(device)
    model = layer if replicas == 1 else DataParallel(layer, replicas)
    x, z, dy = (tensor.to(dtype).to(device).detach() for tensor in (x, z, dy))
    # A view behind the beginning of its memory.
    x, z = x[1:].requires_grad_(), z[1:].requires_grad_()
    y = model(x, z) if residual else model(x)
    y.backward(dy[1:])
    results = y.detach(), x.grad, layer.weight.grad, layer.bias.grad, *layer.buffers()
    return [tensor.cpu() for tensor in results]


x, z, dy = torch.randn(3, 7, 4, 5, 6).unbind()
device, waits = torch.device("ocl:0"), []


def synchronize():
    waits.append(1)
    backend.synchronize()


with tap.part("not registered"):
    pattern = "input: expected a tensor on the CPU, got one on ocl:0"
    tap.raises(ValueError, pattern, SyncBatchNorm(4).to(device), x.to(device))
register_opencl_backend("ocl", synchronize)
for dtype, replicas, residual in product((torch.float32, torch.bfloat16), (1, 2), (False, True)):
    what = f"{str(dtype)[6:]}, {replicas} replicas{', residual' if residual else ''}"
    with tap.part(what):
        here, there = (run(where, x, z, dy, dtype, replicas, residual) for where in ("cpu", device))
        tap.ok(tap.equal(here, there), f"{what}: the bits of the CPU's tensors")
with tap.part("copies"):
    layer = SyncBatchNorm(4, track_running_stats=False).to(device)
    ours, dy = x.to(device).requires_grad_(), dy.to(device)
    y = layer(ours)
    before = backend.copies()
    waits.clear()
    y = layer(ours)
    tap.ok(backend.copies() == before, "forward copies nothing", backend.copies() - before)
    forward = len(waits)
    y.backward(dy)
    right = (forward, len(waits)) == (1, 2)
    tap.ok(right, "each pass waits once for what the backend has begun", forward, waits)
    made = backend.copies() - before
    tap.ok(made <= 2, "backward copies the gradients of weight and bias at most", made)
with tap.part("errors"):
    pattern = "weight: expected it on ocl:0, got it on cpu"
    tap.raises(ValueError, pattern, SyncBatchNorm(4), x.to(device))
tap.end()
