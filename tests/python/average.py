"""average_exactly: the same weights for every number of processes, and gradients="group" in DDP."""

import copy
import gc
import io
import os
import pickle
import sys
import time
from unittest import mock

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

import launch
import tap
from syncbn import _opencl
from syncbn.torch import _operators
from syncbn.torch import DataParallel, SyncBatchNorm, average_exactly, convert_sync_batchnorm

torch.set_num_threads(1)
dist._DEFAULT_FIRST_BUCKET_BYTES = 1  # or else the first bucket has place for all
REPLICAS, IMAGES, STEPS = 12, 2, 4
LIMIT = 2.0  # seconds that a group waits
digests = {"trained": set(), "views": set()}
if hasattr(torch, "compiler"):
    digests["bfloat16"] = set()  # which gloo of PyTorch 1.13 does not send


class Loss(nn.Module):
    """A network with its loss. The last layer has no part in it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        first = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU()
        second = nn.Conv2d(6, 7, 3), nn.BatchNorm2d(7), nn.Flatten()
        self.model = nn.Sequential(*first, *second, nn.Linear(7 * 16, 5))
        self.unused = nn.Linear(2, 2)

    def forward(self, images, labels):
        return nn.functional.cross_entropy(self.model(images), labels)


class Scale(nn.Module):
    """A layer whose gradient of the input has the same bits for each batch."""

    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return self.factor * x


def batch(step):
    made = torch.Generator().manual_seed(step)
    images = torch.randn(REPLICAS * IMAGES, 3, 8, 8, generator=made)
    return images, torch.randint(5, (REPLICAS * IMAGES,), generator=made)


def train(world, rank, dtype=torch.float32, **settings):
    """A digest of the model after some steps with the same replicas."""
    model = convert_sync_batchnorm(Loss()).to(dtype)
    own = DataParallel(model, REPLICAS // world)
    parallel = DistributedDataParallel(
        own, bucket_cap_mb=0.003, find_unused_parameters=True, **settings
    )
    average_exactly(parallel, timeout=100)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        images, labels = batch(step)
        part = slice(rank * len(images) // world, (rank + 1) * len(images) // world)
        if step != 2:  # where it accumulates
            optimiser.zero_grad()
        given = images[part].to(dtype), labels[part]
        if step > 1:
            with parallel.no_sync():
                parallel(*given).sum().backward()
            (parallel(*given) + parallel(*given)).sum().backward()
        else:
            parallel(*given).sum().backward()
        optimiser.step()
    return tap.digest(model.state_dict().values())


class Listed(nn.Module):
    """Uses the scale that its replicas have, or the model's own one from a list."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.listed, self.use = [self.scale], "own"

    def forward(self, x):
        return x * {"own": self.scale, "listed": self.listed[0], "none": x}[self.use]


class Types(nn.Module):
    """Parameters of two types, which DistributedDataParallel puts into two buckets."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(2.0))
        self.b = nn.Parameter(torch.tensor(4.0).half())

    def forward(self, x):
        return x * self.a * self.b.float()


def static(rank):
    """The gradients of a static graph's first steps."""
    parallel = DistributedDataParallel(Types(), static_graph=True)
    average_exactly(parallel, timeout=100)
    seen = []
    for _ in range(2):
        parallel.zero_grad(set_to_none=True)
        parallel(torch.tensor(float(rank))).backward()
        seen.append([parallel.module.a.grad.item(), parallel.module.b.grad.item()])
    return seen


def mean(world, rank):
    """The hook's gradients without replicas, and those of all ranks."""
    model = nn.Linear(50, 41)
    parallel = DistributedDataParallel(model)
    average_exactly(parallel, timeout=100)
    inputs = [torch.randn(3, 50, generator=torch.Generator().manual_seed(r)) for r in range(world)]
    parallel(inputs[rank]).square().sum().backward()
    got = [p.grad.clone() for p in model.parameters()]
    every = []
    for x in inputs:
        model.zero_grad()
        model(x).square().sum().backward()
        every.append([p.grad.clone() for p in model.parameters()])
    return got, every


def group(world, rank):
    """Gradients of layers that have the group's, with and without DDP, and what DDP averages."""
    results = []
    for wrapped in False, True:
        torch.manual_seed(7)
        model = nn.Sequential(nn.BatchNorm1d(40), Scale())
        model = convert_sync_batchnorm(model, gradients="group")
        seen, call = [], model
        if wrapped:
            call = DistributedDataParallel(DataParallel(model, 2))

            def record(_state, bucket, seen=seen):
                seen += [id(parameter) for parameter in bucket.parameters()]
                future = torch.futures.Future()
                future.set_result(bucket.buffer())
                return future

            call.register_comm_hook(None, record)
        x = torch.randn(4 * world, 40, generator=torch.Generator().manual_seed(8))
        call(x[4 * rank : 4 * rank + 4]).square().sum().backward()
        results.append([model[0].weight.grad, model[0].bias.grad])
    names = [name for name, p in model.named_parameters() if id(p) in seen]
    model.zero_grad(set_to_none=True)
    told = tap.raised(model.eval()(x).sum().backward)
    torch.jit.save(torch.jit.trace(model, x), io.BytesIO())
    if _operators.IS_THERE and world == 2:
        torch.func.vmap(model)(x[None])
        torch.compile(model, fullgraph=True, backend="aot_eager")(x)
    again = convert_sync_batchnorm(model)
    return results, names, getattr(again, "_ddp_params_and_buffers_to_ignore", None), told


def threads():
    """How many threads the process has after each of some models has gone."""
    counts = []
    gc.disable()
    for _ in range(3):
        parallel = DistributedDataParallel(nn.Linear(3, 2))
        average_exactly(parallel, timeout=100)
        parallel(torch.ones(2, 3)).sum().backward()
        del parallel
        time.sleep(0.2)  # a thread that has been joined is listed a little longer
        counts.append(len(os.listdir("/proc/self/task")))
    gc.enable()
    return counts


def faults(rank):
    """What ranks are told when rank 1 does not come to backward."""
    model = nn.Linear(3, 2)
    parallel = DistributedDataParallel(model)
    average_exactly(parallel, timeout=LIMIT)
    parallel(torch.ones(2, 3)).sum().backward()
    loss = parallel(torch.ones(2, 3)).sum()
    told = "skipped" if rank == 1 else tap.raised(loss.backward)
    dist.barrier()  # until then rank 1 keeps its model
    return told


def part_of_world(rank):
    """The gradient that ranks 0 and 2 average in a group of their own."""
    process_group = dist.new_group([0, 2])
    if rank == 1:
        return None
    parallel = DistributedDataParallel(Scale(), process_group=process_group)
    average_exactly(parallel, timeout=20)
    parallel(torch.tensor(float(rank))).backward()
    return parallel.module.factor.grad.item()


def uneven(rank):
    """A pass of a layer, and then one as two replicas of rank 0 and one of rank 1."""
    layer, x = SyncBatchNorm(2, timeout=20), torch.randn(4, 2)
    layer(x)
    return tap.caught(DataParallel(layer, 2 - rank), x)[1]


def sharded(rank):
    """Weights that DistributedDataParallel trains, and those of FSDP from PyTorch 2.6 on."""
    from torch.distributed.fsdp import fully_shard

    trained = []
    for wrap in DistributedDataParallel, fully_shard:
        model = convert_sync_batchnorm(Loss().model)
        called = wrap(model)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(STEPS):
            optimiser.zero_grad()
            called(batch(step)[0][rank::2]).square().sum().backward()
            optimiser.step()
        trained.append([getattr(p, "full_tensor", p.detach)() for p in model.parameters()])
    return trained


def run_rank(folder, world, rank):
    launch.join(folder, world, rank)
    results = {
        "trained": train(world, rank),
        "views": train(world, rank, gradient_as_bucket_view=True),
        "static": static(rank),
        "mean": mean(world, rank),
        "group": group(world, rank),
        "threads": threads(),
    }
    if "bfloat16" in digests:
        results["bfloat16"] = train(world, rank, torch.bfloat16)
    if world == 2:
        results["uneven"] = uneven(rank)
        results["sharded"] = sharded(rank) if hasattr(torch, "accelerator") else None
    if world == 3:
        results["part"] = part_of_world(rank)
        results["faults"] = faults(rank)
    torch.save(results, f"{folder}/results-{world}-{rank}")
    dist.barrier()
    os._exit(0)  # without PyTorch's end, which may abort after a failed group


folder = sys.argv[1]
for world in 1, 2, 3, 4:
    with tap.part(f"{world} processes"):
        statuses = launch.forked(world, run_rank, folder, world)
        tap.ok(statuses == [0] * world, f"{world} processes end well", statuses)
        ranks = [torch.load(f"{folder}/results-{world}-{rank}") for rank in range(world)]
        for kind, found in digests.items():
            found |= {results[kind] for results in ranks}
            tap.ok(len(found) == 1, f"{world} processes, {kind}: the weights of one process")
        got, every = ranks[0]["mean"]
        same = all(tap.equal(results["mean"][0], got) for results in ranks)
        tap.ok(same, f"{world} processes: the mean is the same on all")
        exact = [sum(grad.double() for grad in grads) / world for grads in zip(*every)]
        bounds = [2.0**-24 * b.abs() + 2.0**-42 * b.abs().max() for b in exact]
        rounded = all(((a - b).abs() <= c).all() for a, b, c in zip(got, exact, bounds))
        tap.ok(rounded, f"{world} processes: the mean is off by its rounding alone")
        half = (world - 1) / 2
        seen = [results["static"] for results in ranks]
        what = f"{world} processes: the steps of a static graph with two types"
        tap.ok(seen == [[[4 * half, 2 * half]] * 2] * world, what, seen)
        (alone, wrapped), names, unmarked, told = ranks[0]["group"]
        what = f"{world} processes, gradients='group': DDP leaves them as they are"
        tap.ok(tap.equal(alone, wrapped), what)
        tap.ok(names == ["1.factor"], "... and takes the others", names)
        tap.ok(unmarked == [], "... and all again, once converted to 'local'", unmarked)
        right = ('in eval(), got "group"' in told) == (world > 1)
        tap.ok(right, "... but for those of eval(), which nobody sums", told)
        counts = ranks[0]["threads"]
        what = f"{world} processes: averaging ends with its model"
        tap.ok(counts[2] < counts[0] + 2, what, counts)
        if world == 2:
            told = [results["uneven"] for results in ranks]
            tap.ok(told == ["nothing was raised"] * 2, "numbers of replicas differ", *told)
            for trained in (results["sharded"] for results in ranks if results["sharded"]):
                tap.ok(tap.equal(*trained), "fully_shard trains the weights of DDP")
        if world == 3:
            found = [results["part"] for results in ranks]
            tap.ok(found == [1, None, 1], "a part of the world averages by itself", found)
            told = [results["faults"] for results in ranks]
            for rank in 0, 2:
                named = f"rank {rank} waited 2 s" in told[rank] and "for rank 1" in told[rank]
                tap.ok(named, f"rank {rank}: one that does not come to backward is named", *told)

with tap.part("names"):
    alone = DataParallel(convert_sync_batchnorm(nn.BatchNorm1d(2), gradients="group"), 2)
    marked = set(alone._ddp_params_and_buffers_to_ignore)
    tap.ok(marked > {"module.weight", "module.bias"}, "a layer alone is marked", marked)

with tap.part("errors"):
    dist.init_process_group("gloo", init_method=f"file://{folder}/alone", rank=0, world_size=1)
    grouped = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2))
    grouped = DataParallel(convert_sync_batchnorm(grouped, gradients="group"), 2)
    for pattern, model in (
        ("weight: expected float32, float16 or bfloat16, got float64", nn.Linear(2, 2).double()),
        ('layer "0": expected gradients="local", which are averaged, got "group"', grouped),
    ):
        tap.raises(ValueError, pattern, average_exactly, DistributedDataParallel(model))
    x, mark = torch.ones(4, 2), DistributedDataParallel._set_params_and_buffers_to_ignore_for_model
    for pattern, ignored in (
        ("frozen: expected float32, float16 or bfloat16, got float64", ["frozen"]),
        ("nothing was raised", ["frozen", ".frozen"]),
    ):
        model = nn.Sequential(nn.Linear(2, 2))
        model.frozen = nn.Parameter(torch.ones(1, dtype=torch.float64))
        mark(model, ignored)
        parallel = DistributedDataParallel(model, static_graph=True)
        told = tap.raised(average_exactly, parallel)
        tap.ok(pattern in told, f"DistributedDataParallel ignores {ignored}: {pattern}", told)
    parallel(x).sum().backward()
    tap.ok(True, "a static graph's first backward pass ends, with a parameter that is ignored")
    elsewhere = DistributedDataParallel(nn.Linear(2, 2))
    elsewhere.module = nn.Linear(2, 2, device="meta")
    pattern = "weight: expected it on the CPU, got it on meta"
    tap.raises(ValueError, pattern, average_exactly, elsewhere)
    pattern = "model: expected a DistributedDataParallel, got a DataParallel"
    tap.raises(TypeError, pattern, average_exactly, grouped)
    sparse = DistributedDataParallel(nn.Embedding(4, 2, sparse=True))
    average_exactly(sparse)
    pattern = "weight: expected a dense gradient, got a sparse one"
    tap.raises(RuntimeError, pattern, sparse(torch.tensor([1])).sum().backward)
    many = nn.Sequential(*[nn.Linear(1, 1) for _ in range(40)])
    many = DistributedDataParallel(many, bucket_cap_mb=1e-6, find_unused_parameters=True)
    average_exactly(many)
    for times in 1, 2:
        told = tap.raised(many(torch.ones(1, 1)).backward)
        tap.ok("nothing was raised" in told, f"a bucket for each parameter, pass {times}", told)
    parallel = DistributedDataParallel(DataParallel(nn.Linear(2, 2), 2))
    average_exactly(parallel)
    copy.deepcopy(parallel)
    pickle.dumps(parallel)
    tap.ok(True, "a model that averages is copied and pickled")
    listed = DistributedDataParallel(DataParallel(Listed(), 2), find_unused_parameters=True)
    average_exactly(listed)
    model = listed.module.module

    def gradient(use):
        model.use = use
        y = listed(x.clone().requires_grad_()).sum()
        listed.train()
        y.backward()
        return model.scale.grad.tolist()

    tap.ok(gradient("own") == [2, 2], "the mean of two replicas")
    tap.ok(gradient("none") == [2, 2], "it stays where nothing is added")
    model.use = "own"
    torch.autograd.grad(listed.module(x).sum(), model.scale)
    tap.ok(gradient("none") == [2, 2], "... as by torch.autograd.grad")
    listed.eval()
    tap.ok(gradient("listed") == [6, 6], "one gradient in eval()", model.scale.grad)
    pattern = "module.scale: expected the sum of the replicas' gradients, .* as from a list"
    tap.raises(RuntimeError, pattern, gradient, "listed")
    calls = "_create_buffer", "_map", "_unmap", "_release_buffer"
    counted = {name: mock.Mock(wraps=getattr(_opencl, name)) for name in calls}
    with mock.patch.multiple(_opencl, **counted):
        parallel(x).sum().backward()
    counts = [counted[name].call_count for name in calls]
    what = "averaging gives each buffer's memory back to the host, and releases it"
    tap.ok(counts[0] > 0 and len(set(counts)) == 1, what, counts)
    wrap, made = _opencl.Buffers.wrap, []

    def wrap_one(self, *arguments):
        if made:
            raise MemoryError("no second buffer")
        made.append(self)
        return wrap(self, *arguments)

    _opencl.Buffers.wrap = wrap_one
    tap.raises(Exception, "no second buffer", lambda: parallel(x).sum().backward())
    _opencl.Buffers.wrap = wrap
    tap.ok(made and not made[0]._wrapped, "the first one is given back")
    copied = copy.deepcopy(parallel.module)
    for _ in range(2):
        copied(x).sum().backward()
    tap.ok(True, "a copy of the model trains without averaging")
tap.end()
