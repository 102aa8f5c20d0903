"""torch.compile with fullgraph=True, opcheck of the operators, and tensor-parallel networks."""

import copy
import functools
import gc
import os
import pickle
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch._dynamo.testing
from torch._subclasses import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import parallel
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import launch
import tap
from syncbn.torch import DataParallel, SyncBatchNorm, average_exactly, convert_sync_batchnorm

torch.set_num_threads(1)
torch.manual_seed(1)
folder = sys.argv[1]


def step(call, layer, x, *residual):
    """A pass: y, gradients and buffers."""
    x = x.detach().requires_grad_()
    residual = [z.detach().requires_grad_() for z in residual]
    y = call(x, *residual)
    y.backward(torch.arange(y.numel()).view(y.shape).to(y.dtype) / y.numel())
    grads = [tensor.grad for tensor in (x, *residual, *layer.parameters())]
    return [y.detach(), *grads, *(b.clone() for b in layer.buffers())]


def pair(**settings):
    made = SyncBatchNorm(4, **settings)
    return made, copy.deepcopy(made)


def run_rank(rank):
    launch.join(folder, 2, rank)
    plain, compiled = pair(gradients="group")
    x = torch.randn(2 + rank, 4, 3, generator=torch.Generator().manual_seed(rank))
    call = torch.compile(compiled, fullgraph=True, backend="aot_eager")
    same = all(tap.equal(step(plain, plain, x), step(call, compiled, x)) for _ in range(2))
    close, ordered, refused = tensor_parallel(), shares_layer(rank), refuses_reducer()
    dist.barrier()
    os._exit((not same) + 2 * (not close) + 4 * (not ordered) + 8 * (not refused))


class Levels(nn.Module):
    """Levels of a pyramid, whose heads share a layer."""

    def __init__(self):
        super().__init__()
        self.norm, self.ways = SyncBatchNorm(8), nn.ModuleList()
        for c in 8, 16, 8, 64, 8, 3:
            self.ways.append(nn.Sequential(nn.Conv2d(4, c, 1), nn.ReLU(), nn.Conv2d(c, 8, 3)))

    def forward(self, x):
        return sum(k * self.norm(way(x)).amax((2, 3)) for k, way in enumerate(self.ways, 1))


def shares_layer(rank):
    """Do ranks make a graph's passes in one order? Inductor orders operators by the memory that they
    need, and one rank has 33 times as many samples."""
    torch.manual_seed(2)
    plain, x = Levels(), torch.randn(33 if rank else 1, 4, 6, 6)
    compiled = copy.deepcopy(plain)
    call = torch.compile(compiled, fullgraph=True)
    return tap.near(step(plain, plain, x), step(call, compiled, x), rtol=1e-4, atol=1e-3)


def refuses_reducer():
    """Does average_exactly refuse a DistributedDataParallel without buckets?"""
    with torch._dynamo.config.patch(optimize_ddp="python_reducer"):
        model = nn.parallel.DistributedDataParallel(nn.Linear(2, 2))
    try:
        average_exactly(model)
    except ValueError as error:
        return "expected one with buckets" in str(error)
    return False


def tensor_parallel():
    """Does a network whose linear layers are split give what the whole one does? The layer's x is the
    result of a collective, whose memory comes later."""
    whole = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 6), nn.BatchNorm1d(6))
    split, mesh = convert_sync_batchnorm(copy.deepcopy(whole)), init_device_mesh("cpu", (2,))
    plan = {"0": parallel.ColwiseParallel(), "1": parallel.RowwiseParallel()}
    split = parallel.parallelize_module(split, mesh, plan)
    x, results = torch.randn(8, 4), []
    for network, given in (split, x), (whole.double(), x.double()):
        y = network(given)
        y.pow(3).sum().backward()
        tensors = y, network[2].weight.grad, network[2].running_mean
        results.append([tensor.double() for tensor in tensors])
    return tap.near(*results, rtol=1e-4, atol=1e-4)


with tap.part("two processes"):
    ended = launch.forked(2, run_rank)
    what = "two processes: the interpreter's bits, tensor-parallel layers, order, refused reducer"
    tap.ok(ended == [0, 0], what, ended)

x, z = torch.randn(5, 4, 3, 6), torch.randn(5, 4, 3, 6)
INPUTS = {
    "float32": x,
    "channels last": x.contiguous(memory_format=torch.channels_last),
    "other strides": torch.randn(4, 5, 3, 6).transpose(0, 1),
    "bfloat16": x.bfloat16(),
}
SETTINGS = {
    "": {},
    ", no affine part": {"affine": False},
    ", no running statistics": {"track_running_stats": False},
    ", cumulative": {"momentum": None},
    ", relu": {"activation": "relu"},
}
for backend in "aot_eager", "inductor":
    for kind, settings in SETTINGS.items():
        for name, given in INPUTS.items() if not kind else [("float32", x)]:
            what = f"{backend}, {name}{kind}"
            with tap.part(what):
                torch.compiler.reset()
                plain, compiled = pair(**settings)
                call = torch.compile(compiled, fullgraph=True, backend=backend)
                for number in range(2):
                    same = tap.equal(step(plain, plain, given), step(call, compiled, given))
                    tap.ok(same, f"{what}: the bits of the interpreter, pass {number}")
    with tap.part(f"{backend}, residual"):
        torch.compiler.reset()
        plain, compiled = pair(activation="relu")
        call = torch.compile(compiled, fullgraph=True, backend=backend)
        same = tap.equal(step(plain, plain, x, z), step(call, compiled, x, z))
        tap.ok(same, f"{backend}, residual and relu: the bits of the interpreter")
    with tap.part(f"{backend}, a network"):
        layers = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.BatchNorm2d(4)
        network = convert_sync_batchnorm(nn.Sequential(*layers))
        call = torch.compile(network, fullgraph=True, backend=backend)
        call(x).sum().backward()
        tap.ok(int(network[3].num_batches_tracked) == 1, f"{backend}: a network in one graph")
        tap.ok(call(x[:3]).shape == (3, 4, 1, 4), f"{backend}: another size of the batch")

with tap.part("one graph for several layers"):
    torch.compiler.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    for _ in range(3):
        plain, compiled = pair()
        compiled.name = "another"
        call = torch.compile(compiled, fullgraph=True, backend=counter)
        same = tap.equal(step(plain, plain, x), step(call, compiled, x))
        tap.ok(same, "layers that share a graph: the bits of the interpreter")
    tap.ok(counter.frame_count == 1, "... which is compiled once", counter.frame_count)
    plain = SyncBatchNorm(4)
    for made in copy.deepcopy(plain), pickle.loads(pickle.dumps(plain)):
        made.eps = 1.0
        call = torch.compile(made, fullgraph=True, backend=counter)
        same = torch.equal(call(x), SyncBatchNorm(4, eps=1.0)(x))
        tap.ok(same, "a copy computes with its own settings")

with tap.part("what changes between forward and backward"):
    torch.compiler.reset()
    plain, compiled = pair()
    leaf, other = (x.clone().requires_grad_() for _ in range(2))
    plain(leaf).square().sum().backward()
    loss = torch.compile(compiled, fullgraph=True, backend="aot_eager")(other).square().sum()
    compiled.eps, compiled.activation = 1.0, "relu"
    loss.backward()
    tap.ok(torch.equal(leaf.grad, other.grad), "eps: backward is that of its forward")
    plain, compiled = pair()
    loss = torch.compile(compiled, fullgraph=True, backend="aot_eager")(x).square().sum()
    compiled.bias.detach().add_(1)
    loss.backward()
    plain(x).square().sum().backward()
    grads = [[made.weight.grad, made.bias.grad] for made in (plain, compiled)]
    tap.ok(tap.equal(*grads), "bias, which backward does not read", grads)
    plain, compiled = pair()
    for made in plain, compiled:
        made.weight.data = made.weight.data.half()
    for call in plain, torch.compile(compiled, fullgraph=True, backend="aot_eager"):
        call(x).square().sum().mul(1 / 3).backward()
    grads = [made.bias.grad for made in (plain, compiled)]
    tap.ok(torch.equal(*grads), "a bias of another type than the weight", grads)
    loss = torch.compile(SyncBatchNorm(4), backend="aot_eager")(x).square().sum()
    gc.collect()
    loss.backward()
    tap.ok(True, "a layer that is deleted before backward")

with tap.part("modes that see operations"):
    layer = SyncBatchNorm(4)
    graph = make_fx(layer)(x)
    tap.ok(torch.equal(graph(x + 1), SyncBatchNorm(4)(x + 1)), "make_fx")
    exported = torch.export.export(SyncBatchNorm(4), (x,))
    gc.collect()
    tap.raises(RuntimeError, "expected a SyncBatchNorm, got one that", exported.module(), x)
    with FakeTensorMode():
        tap.ok(SyncBatchNorm(4)(torch.empty(2, 4)).shape == (2, 4), "FakeTensorMode")
    state = dict([*layer.named_parameters(), *layer.named_buffers()])
    call = lambda state, x: torch.func.functional_call(layer, state, (x,))
    graph = make_fx(call, tracing_mode="fake")(state, x)
    same = torch.equal(graph(state, x), SyncBatchNorm(4)(x))
    tap.ok(same, "make_fx of a layer that was made before")
    for policy in CheckpointPolicy.PREFER_RECOMPUTE, CheckpointPolicy.MUST_RECOMPUTE:
        layer = SyncBatchNorm(4)
        choose = functools.partial(create_selective_checkpoint_contexts, lambda *_, **__: policy)
        passes = [
            checkpoint(lambda x: layer(x).square(), leaf, use_reentrant=False, context_fn=choose)
            for leaf in (x.clone().requires_grad_(), (x + 9).requires_grad_())
        ]
        before = [buffer.clone() for buffer in layer.buffers()]
        sum(y.sum() for y in passes).backward()
        same = all(map(torch.equal, before, layer.buffers()))
        tap.ok(same, f"{policy.name}: a checkpoint leaves the running statistics as they were")

for kind, settings in SETTINGS.items():
    with tap.part(f"opcheck{kind}"):
        layer = SyncBatchNorm(4, **settings)
        running = layer.running_mean, layer.running_var, layer.num_batches_tracked
        arguments = (x.clone().requires_grad_(), None, layer.weight, layer.bias, *running)
        arguments = (*arguments, layer.number[1], layer.activation)
        torch.library.opcheck(torch.ops.syncbn.forward.default, arguments)
        tap.ok(True, f"opcheck of forward{kind}")
        y, saved, *_ = torch.ops.syncbn.forward(*arguments)
        torch.library.opcheck(
            torch.ops.syncbn.backward.default,
            (torch.randn_like(y), x, layer.weight, layer.bias, saved.detach()),
            test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
        )
        tap.ok(True, f"opcheck of backward{kind}")

with tap.part("a default device"):
    with torch.device("meta"):
        layer = SyncBatchNorm(4)
    layer.to_empty(device="cpu").reset_parameters()
    call = torch.compile(layer, fullgraph=True, backend="aot_eager")
    tap.ok(torch.equal(call(x), SyncBatchNorm(4)(x)), "a layer made on the meta device")

with tap.part("in a DataParallel"):
    inner, whole = nn.Sequential(SyncBatchNorm(4)), torch.compile(SyncBatchNorm(4))
    inner[0].compile()
    copied = copy.deepcopy(inner)
    copied(x)
    counts = [int(made[0].num_batches_tracked) for made in (inner, copied)]
    tap.ok(counts == [0, 1], "a copy of a layer that is compiled computes by itself", counts)
    compiled = nn.Sequential(torch.compile(nn.BatchNorm1d(4)))
    pattern = "0: expected a layer that is converted .* before it .*, got a compiled BatchNorm1d"
    tap.raises(ValueError, pattern, convert_sync_batchnorm, compiled)
    compiled = nn.Sequential(torch.compile(SyncBatchNorm(4)))
    convert_sync_batchnorm(compiled, timeout=7.0)
    tap.ok(compiled[0].timeout == 7.0, "a compiled SyncBatchNorm is converted as others are")
    for given, got in (inner, "0"), (whole, "all of it"):
        pattern = f"module: expected no compiled part, got {got}"
        tap.raises(ValueError, pattern, DataParallel(given, 2), x)
tap.end()
