"""SyncBatchNorm in one process: what PyTorch's users rely on, errors, ends and leaks."""

import copy
import importlib
import io
import os
import pickle
import resource
import signal
import subprocess
import sys
import sysconfig
import threading
from ctypes.util import find_library
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize
import torch.nn.utils.prune

import syncbn
import tap
from syncbn import _c
from syncbn.torch import DataParallel, SyncBatchNorm, convert_sync_batchnorm, revert_sync_batchnorm
from syncbn.torch import average_exactly
from syncbn.torch._groups import transport_of

torch.set_num_threads(1)
torch.manual_seed(1)
shape = (6, 4, 5, 7)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Sequential(nn.ReLU(), nn.BatchNorm2d(4))
    )


def run_apart(program, *launcher, **environment):
    """A program in an interpreter of its own."""
    command, environment = [*launcher, sys.executable, "-c", program], {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def step(model, x):
    """A pass through the model; the bits of the gradient of x and the running statistics."""
    x = x.detach().requires_grad_()
    y = model(x)
    y.square().sum().backward()
    return [y.detach(), x.grad, *(b.clone() for b in model.buffers())]


with tap.part("state"):
    tap.ok(syncbn.__version__.count(".") == 2, "the library's version")
    ours, theirs = SyncBatchNorm(4), nn.SyncBatchNorm(4)
    tap.ok(list(ours.state_dict()) == list(theirs.state_dict()), "state_dict has PyTorch's keys")
    ours.load_state_dict(nn.BatchNorm2d(4).state_dict())
    theirs.load_state_dict(ours.state_dict())
    tap.ok(True, "state_dict of BatchNorm2d, and to nn.SyncBatchNorm, strictly")
    tap.ok("4, eps=1e-05" in repr(ours), "repr", repr(ours))
    x = torch.randn(shape)
    none = dict(eps=0.0, track_running_stats=False)
    same = torch.equal(SyncBatchNorm(4, affine=False, **none)(x), SyncBatchNorm(4, **none)(x))
    tap.ok(same, "without eps, weight and running statistics")
    tiny = torch.tensor([[1e-15], [-1e-15], [3e-15], [0.7e-15]], requires_grad=True)
    SyncBatchNorm(1, affine=False, **none)(tiny).backward(tiny.detach().sign() * 1e12)
    tap.ok(not tiny.grad.isfinite().any(), "dx whose factor overflows is NaN or Inf", tiny.grad)
    tensor = torch.randn(70000, 4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t):
        y = SyncBatchNorm(4)(tensor)
    tap.raises(RuntimeError, "backward: expected x of torch.float32, .*float16", y.sum().backward)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t[:2], lambda t: t):
        y = SyncBatchNorm(4)(tensor[:2])
    tap.raises(ValueError, r"weight: expected 4 elements, got \(2,\)", y.sum().backward)
    grads = []
    for layer in SyncBatchNorm(4), nn.BatchNorm1d(4):
        leaf = tensor.detach()[:9].requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda t: t):
            y = layer(leaf).pow(3).sum()
        layer.weight.data.mul_(10)
        y.backward()
        grads.append(leaf.grad)
    tap.ok(
        torch.allclose(*grads, atol=1e-4), "backward takes the weight that hooks have kept", grads
    )
    SyncBatchNorm(4)(tensor).backward(torch._efficientzerotensor(70000, 4))
    tap.ok(tensor.grad.eq(0).all(), "a gradient of zeros, which has no memory")
    copies = {"deepcopy": copy.deepcopy(ours), "pickle": pickle.loads(pickle.dumps(ours))}
    for name, made in copies.items():
        tap.ok(tap.equal(step(copy.deepcopy(ours), x), step(made, x)), f"{name}: the same bits")
    grouped = SyncBatchNorm(4, process_group=(kept := io.StringIO()))
    tap.ok(copy.deepcopy(grouped).process_group is kept, "deepcopy keeps the process group")

with tap.part("convert"):
    model = network()
    model[1].weight.requires_grad_(False)
    weight, var = model[1].weight, model[2][1].running_var
    model.eval()
    made = convert_sync_batchnorm(model)
    tap.ok(made is model and isinstance(model[1], SyncBatchNorm), "convert replaces in place")
    tap.ok((model[1].name, model[2][1].name) == ("1", "2.1"), "layers are named by their path")
    same = model[1].weight is weight and not weight.requires_grad and model[2][1].running_var is var
    tap.ok(same, "parameters and buffers stay the same objects")
    tap.ok(not model[1].training, "and the mode stays")
    convert_sync_batchnorm(model, timeout=7.0)
    tap.ok(model[1] is made[1] and model[1].timeout == 7, "convert again sets the timeout")
    tap.ok(isinstance(convert_sync_batchnorm(nn.BatchNorm1d(2)), SyncBatchNorm), "a layer alone")
    outer = nn.BatchNorm1d(2)
    outer.inner = nn.BatchNorm1d(2)
    kinds = [type(made) for made in convert_sync_batchnorm(outer).modules()]
    tap.ok(kinds == [SyncBatchNorm] * 2, "a layer with a layer inside", kinds)
    shared = nn.BatchNorm2d(4)
    twice = convert_sync_batchnorm(nn.Sequential(shared, nn.ReLU(), shared))
    tap.ok(twice[0] is twice[2], "a layer that occurs twice stays one")

    class Activated(nn.BatchNorm2d):
        def __init__(self):
            super().__init__(4)
            self.act = nn.PReLU()

    keys = list(nn.Sequential(Activated()).state_dict())
    activated = convert_sync_batchnorm(nn.Sequential(Activated()))
    tap.ok(list(activated.state_dict()) == keys, "children of a batch norm stay in state_dict")
    kept = nn.BatchNorm2d(4)
    kept.register_buffer("num_batches_tracked", torch.tensor(0), persistent=False)
    keys = list(kept.state_dict())
    for replaced in convert_sync_batchnorm, revert_sync_batchnorm:
        kept = replaced(kept)
        tap.ok(list(kept.state_dict()) == keys, "a buffer that is not persistent stays so")
    back = revert_sync_batchnorm(model)
    right = type(back[1]) is nn.BatchNorm2d and back[1].weight is weight and not back[1].training
    tap.ok(right, "revert gives the class, the parameters and the mode back")
    for affine in True, False:
        made = convert_sync_batchnorm(nn.BatchNorm2d(4, affine=affine))
        seen = made.affine, revert_sync_batchnorm(made).affine
        tap.ok(seen == (affine, affine), f"affine={affine} stays", seen)
    direct = nn.Sequential(SyncBatchNorm(4, activation="relu"), nn.SyncBatchNorm(4))
    direct = revert_sync_batchnorm(direct)
    same = list(direct.state_dict()) == list(nn.Sequential(ours, ours).state_dict())
    same = same and bool((direct(torch.randn(3, 4)) >= -10).all())
    tap.ok(same, "revert of layers that were no BatchNorm, PyTorch's too; they run on a CPU")
    x, z = torch.randn(shape), torch.randn(shape)
    layer = SyncBatchNorm(4, activation="leaky_relu", slope=0.25)
    layer(x)
    y = F.leaky_relu(F.batch_norm(x, layer.running_mean, layer.running_var) + z, 0.25)
    back = revert_sync_batchnorm(layer.eval())
    tap.ok(torch.equal(back(x, z), y), "eval and revert with an activation and a residual")
    again = convert_sync_batchnorm(back)
    tap.ok((again.activation, again.slope) == ("leaky_relu", 0.25), "... which convert keeps")
    fused = convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(4))).eval()
    fused[0].activation = "relu"
    y = fused(x)
    tap.ok(torch.equal(revert_sync_batchnorm(fused)(x), y), "... that was set after convert")
    marked = DataParallel(convert_sync_batchnorm(network(), gradients="group"), 2)
    reverted = revert_sync_batchnorm(marked)
    ignored = [made._ddp_params_and_buffers_to_ignore for made in (reverted, reverted.module)]
    what = "revert gives weight and bias back to DistributedDataParallel"
    tap.ok(ignored == [[], []], what, ignored)
    lazy = nn.Sequential(nn.ReLU(), nn.LazyBatchNorm2d())
    tap.raises(ValueError, "1: .*LazyBatchNorm2d", convert_sync_batchnorm, lazy)

with tap.part("features"):
    x = torch.randn(shape)
    first = step(SyncBatchNorm(4), x)
    moved = step(SyncBatchNorm(4), x.contiguous(memory_format=torch.channels_last))
    same = tap.equal(first, moved) and moved[0].is_contiguous(memory_format=torch.channels_last)
    tap.ok(same, "channels last: the same bits, and y stays channels last")
    strided = torch.randn(5, 4, 6, 7).permute(2, 1, 0, 3).detach()
    plain = step(SyncBatchNorm(4), strided.contiguous())
    tap.ok(tap.equal(step(SyncBatchNorm(4), strided), plain), "other strides: the same bits")
    cumulative, theirs = SyncBatchNorm(4, momentum=None), nn.BatchNorm2d(4, momentum=None)
    for _ in range(3):
        batch = torch.randn(shape)
        cumulative(batch)
        theirs(batch)
    near = torch.allclose(cumulative.running_var, theirs.running_var, atol=1e-6)
    near = near and int(cumulative.num_batches_tracked) == 3
    tap.ok(near, "momentum=None averages all batches")
    resumed = SyncBatchNorm(4, momentum=None, name="resumed")
    resumed.load_state_dict(theirs.state_dict())
    for made in resumed, theirs:
        made(x)
    near = torch.allclose(resumed.running_var, theirs.running_var, atol=1e-6)
    tap.ok(near, "... those before load_state_dict, too", resumed.running_var, theirs.running_var)
    untracked = SyncBatchNorm(4, track_running_stats=False)
    same = torch.equal(untracked(x), first[0]) and untracked.eval()(x).shape == x.shape
    tap.ok(same, "track_running_stats=False")
    switched = SyncBatchNorm(4)
    switched.track_running_stats = False
    switched(x)
    same = torch.equal(switched.running_var, torch.ones(4)) and not switched.num_batches_tracked
    tap.ok(same, "track_running_stats switched off: the running statistics stay as they are")
    uncounted, theirs = SyncBatchNorm(4), nn.BatchNorm2d(4)
    for made in uncounted, theirs:
        made.num_batches_tracked = None
        made(x)
    near = torch.allclose(uncounted.running_var, theirs.running_var)
    tap.ok(near, "without num_batches_tracked the running statistics are updated")
    uncounted.num_batches_tracked = torch.tensor(2.0)
    uncounted(x)
    tap.ok(
        uncounted.num_batches_tracked == 3, "a count of another type", uncounted.num_batches_tracked
    )
    functional_call = getattr(torch, "func", nn.utils.stateless).functional_call
    called, twice = SyncBatchNorm(4), torch.full((4,), 2.0, requires_grad=True)
    given = {"weight": torch._neg_view(-twice), "running_var": torch.zeros(4)}
    y = functional_call(called, given, (x,))
    y.square().sum().backward()
    right = torch.allclose(y, 2 * first[0]) and twice.grad is not None
    right = right and torch.equal(called.running_var, torch.ones(4))
    tap.ok(right, "functional_call takes the tensors that it is given, negated ones too")
    made, pruned = SyncBatchNorm(4), SyncBatchNorm(4)
    nn.utils.parametrize.register_parametrization(made, "weight", nn.Softplus())
    nn.utils.prune.identity(pruned, "weight")
    for layer in made, pruned:
        y = layer(x)
        near = torch.allclose(y, layer.weight.view(4, 1, 1) * first[0])
        tap.ok(near and layer.num_batches_tracked == 1, f"the weight of a {type(layer).__name__}")
    tap.ok(torch.equal(SyncBatchNorm(4)(torch._neg_view(-x)), first[0]), "a tensor to be negated")
    inner = SyncBatchNorm(4)
    with mock.patch.object(_c, "sbn_forward", lambda *_: inner(x)):
        pattern = "group: expected no pass within another one"
        tap.raises(RuntimeError, pattern, SyncBatchNorm(4), x)
    tap.ok(torch.equal(inner(x), first[0]), "... but behind it")
    with torch.inference_mode():
        tap.ok(torch.equal(SyncBatchNorm(4)(x), first[0]), "inference_mode: the same bits")
    from torch.utils.checkpoint import checkpoint

    inner = SyncBatchNorm(4)
    leaf = x.clone().requires_grad_()
    checkpoint(inner, leaf, use_reentrant=False).square().sum().backward()
    tap.ok(torch.equal(leaf.grad, first[1]), "checkpointing: the same bits")
    mixed = nn.Sequential(nn.Conv2d(4, 4, 1), SyncBatchNorm(4))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        tap.ok(mixed(x).dtype is torch.bfloat16, "autocast: bfloat16 with float32 parameters")
    half = SyncBatchNorm(4).bfloat16()
    got = step(half, x.bfloat16())
    kinds = {a.dtype for a in (*got, half.weight.grad)}
    plain = step(SyncBatchNorm(4), x.bfloat16())
    same = tap.equal(got, [a.to(b.dtype) for a, b in zip(plain, got)])
    tap.ok(same and kinds == {torch.bfloat16, torch.int64}, "bfloat16 parameters and buffers")
    empty = SyncBatchNorm(4)
    got = step(empty, x[:0])
    same = got[1].shape == (0, 4, 5, 7) and torch.equal(empty.running_var, torch.ones(4))
    same = same and torch.equal(empty.weight.grad, torch.zeros(4))
    tap.ok(same, "an empty input changes nothing, and gradients are 0")
    frozen, theirs = (step(made.eval(), x)[:2] for made in (SyncBatchNorm(4), nn.BatchNorm2d(4)))
    tap.ok(tap.equal(frozen, theirs), "eval() is PyTorch's, with gradients")
    leaf = x.clone().requires_grad_()
    loss = SyncBatchNorm(4)(leaf).square().sum()
    loss.backward(retain_graph=True)
    once = leaf.grad.clone()
    loss.backward()
    tap.ok(torch.equal(leaf.grad, 2 * once), "backward twice")
    hooked = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.contiguous(), lambda t: t):
        loss = SyncBatchNorm(4)(hooked).square().sum()
    loss.backward()
    tap.ok(torch.equal(hooked.grad, first[1]), "hooks of saved tensors that change strides")
    leaf, unpacked = x.clone().requires_grad_(), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(t) or t):
        loss = SyncBatchNorm(4)(leaf).sum()
    torch.autograd.grad(loss, leaf, create_graph=True)
    tap.ok(len(unpacked) == 3, "create_graph unpacks each saved tensor once", len(unpacked))
    grads = []
    for twice in SyncBatchNorm(4), nn.BatchNorm2d(4):
        leaf = x.clone().requires_grad_()
        (twice(leaf) * twice(leaf * 2)).pow(3).sum().backward()
        grads += [leaf.grad, twice.weight.grad, twice.bias.grad]
    near = tap.near(grads[:3], grads[3:], rtol=1e-4, atol=1e-3)
    tap.ok(near, "a layer that is used twice in one graph")
    for activation, given, reads in (None, (x,), 0), ("relu", (x, x), 0), ("relu", (x,), 1):
        stepped = SyncBatchNorm(4, activation=activation)
        losses = [stepped(*given).square().sum() for _ in range(2)]
        losses[0].backward()
        once = stepped.bias.grad.clone()
        stepped.bias.detach().add_(1)
        told = tap.raised(losses[1].backward)
        right = "inplace operation" in told if reads else stepped.bias.grad.equal(2 * once)
        what = f"a step of the bias before backward, {activation}, {len(given)} tensors"
        tap.ok(right, what, told)
    if hasattr(torch, "export"):
        exported = torch.export.export(nn.Sequential(SyncBatchNorm(4)).eval(), (x,))
        tap.ok(exported.module()(x).shape == x.shape, "torch.export in eval")

with tap.part("errors"):
    layer = SyncBatchNorm(4)
    x, wide = torch.ones(2, 4), torch.ones(2, 5)
    for pattern, *given in (
        (r"expected at least 2D input \(got 1D input\)", torch.ones(4)),
        ("input channels should be non-zero", torch.ones(4, 0)),
        ("Expected more than 1 value per channel", torch.ones(1, 4)),
        ("input: .*got float64", x.double()),
        ("input: expected 2 to 5 dim.*got 6", torch.ones(2, 4, 1, 1, 1, 1)),
        ("input: .* dense tensor, got sparse", x.to_sparse()),
        (r"residual: expected \(2, 4\) of float32", x, torch.ones(3)),
    ):
        tap.raises(ValueError, pattern, layer, *given)
    tap.raises(syncbn.SyncBatchNormError, r"expected 4 channels, got 5 in \(2,5\)", layer, wide)
    for name in "weight", "bias", "running_mean", "running_var":
        for wrong, pattern in (
            (torch.ones(3), r"4 elements, got \(3,\)"),
            (torch.ones(2, 4), r".*4 elem.*\(2, 4\)"),
            (torch.ones(4).double(), ".*64"),
        ):
            other = SyncBatchNorm(4)
            setattr(other, name, nn.Parameter(wrong) if name in "weight bias" else wrong)
            tap.raises(ValueError, f"{name}: expected {pattern}", other, x)

    class Bare(torch.Tensor):
        """Without memory, as a DTensor."""

        __torch_dispatch__ = torch.Tensor.__torch_function__

    other = SyncBatchNorm(4, affine=False)
    other.running_mean = other.running_var = torch.Tensor._make_wrapper_subclass(Bare, (4,))
    tap.raises(ValueError, "running_mean: .* memory .* a Bare", other, x)

    def cubes(y):
        return y.pow(3).sum()

    pattern, hvp = "got one of its gradients", torch.autograd.functional.hvp
    for loss in torch.sum, cubes:
        leaf = torch.randn(5, 4, 3).transpose(0, 2).requires_grad_()
        (grad,) = torch.autograd.grad(loss(SyncBatchNorm(4)(leaf)), leaf, create_graph=True)
        tap.raises(RuntimeError, pattern, grad.sum().backward)
    leaf, v = torch.randn(shape), torch.randn(shape)
    tap.raises(RuntimeError, pattern, hvp, lambda x: cubes(SyncBatchNorm(4)(x)), leaf, v)
    pattern = r'layer "batchnorm": expected eval\(\) in '
    transforms = torch.func if hasattr(torch, "func") else importlib.import_module("functorch")
    tap.raises(RuntimeError, pattern + "torch.jit.trace", torch.jit.trace, layer, x)
    pattern += "transforms of torch.func"
    tap.raises(RuntimeError, pattern, transforms.grad(lambda x: layer(x).sum()), x)
    pattern, jacobian = (
        "expected a tensor with memory, .*vectorize",
        torch.autograd.functional.jacobian,
    )
    tap.raises(RuntimeError, pattern, jacobian, SyncBatchNorm(4), torch.randn(2, 4), vectorize=True)
    other = SyncBatchNorm(4)
    other.activation = "gelu"
    for called in other, copy.deepcopy(other).eval(), revert_sync_batchnorm(copy.deepcopy(other)):
        tap.raises(ValueError, "activation: expected None, .*, got 'gelu'", called, x)
    unpaired = SyncBatchNorm(4, affine=False)
    unpaired.bias = nn.Parameter(torch.ones(4))
    tap.raises(ValueError, "weight: expected one beside the bias", unpaired, x)
    tap.raises(ValueError, "gradients: .*got 'all'", SyncBatchNorm, 4, gradients="all")
    tap.raises(ValueError, "activation: .*got 'gelu'", SyncBatchNorm, 4, activation="gelu")
    tap.raises(ValueError, "timeout: .*got 0", SyncBatchNorm, 4, timeout=0)
    tap.raises(ValueError, "gradients: .*got 'all'", convert_sync_batchnorm, layer, gradients="all")
    numbers = {"get_rank": lambda *_: 0, "get_world_size": lambda *_: 2}
    without_store = mock.patch.object(dist.distributed_c10d, "_get_default_store", lambda: None)
    with without_store, mock.patch.multiple(dist, get_backend=lambda *_: "mpi", **numbers):
        tap.raises(ValueError, '"mpi".*mpi.Communicator', transport_of, io.StringIO(), 1)
    same = not layer.num_batches_tracked and torch.equal(layer.running_mean, torch.zeros(4))
    tap.ok(same, "errors leave the running statistics as they were")
    try:
        layer(wide)
    except syncbn.SyncBatchNormError as error:
        status = error.status, error.status_name
        tap.ok(status == (-20001, "SBN_INVALID_ARGUMENT"), "an error has its status and its name")
        copied = pickle.loads(pickle.dumps(error))
        same = (str(copied), copied.status) == (str(error), error.status)
        tap.ok(same, "an error is pickled, on its way from a worker process")
    named = SyncBatchNorm(4, name="a" + 40 * "\u00e9")
    tap.raises(syncbn.SyncBatchNormError, "expected 4 channels, got 5", named, wide)

with tap.part("leaks"):
    tap.keeps_no_tensor(layer, (2, 5))
    passes = 10000 if os.environ.get("CHECK") == "full" else 1500
    layer = SyncBatchNorm(4)
    x = torch.randn(2, 4, 3, 3, requires_grad=True)

    def run(times):
        for number in range(times):
            y = layer(x)
            if number % 3:
                y.sum().backward()
            x.grad = None

    run(200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, _c.sbn_device_memory()
    run(passes)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, _c.sbn_device_memory()
    tap.ok(after[1] == before[1], f"{passes} passes: no device memory", before, after)
    tap.ok(after[0] - before[0] < 4096, f"{passes} passes: no host memory", before, after)
    other = SyncBatchNorm(4, timeout=55.0)
    kept = [other(x) for _ in range(3)]
    other.group(1, None).close()
    left = _c.sbn_device_memory()
    tap.ok(left == after[1], "a group that ends gives back what awaits backward", left, after[1])
    if hasattr(torch._C._autograd, "_get_current_graph_task_keep_graph"):
        other = SyncBatchNorm(4, timeout=77.0)
        losses = [other(x).sum() for _ in range(2)]
        losses[0].backward(retain_graph=True)
        for left, loss in zip((2, 1), losses):
            tap.ok(other.group(1, None).awaits_backward(), f"{left} losses await backward")
            loss.backward()
        tap.ok(not other.group(1, None).awaits_backward(), "losses keep nothing after backward")
        tap.raises(RuntimeError, "through the graph a second time", losses[0].backward)
        (y := other(x)).grad_fn.register_hook(lambda *_: 1 / 0)
        tap.raises(ZeroDivisionError, "division", (loss := y.sum()).backward)
        tap.raises(RuntimeError, "whose backward pass has been made", loss.backward)

with tap.part("threads"):
    group = layer.group(1, None)
    other = SyncBatchNorm(4, name="another thread's")
    thread = threading.Thread(target=other, args=(x,))

    def is_made():
        return any(settings.name == other.name for settings in group._layers)

    with group.lock:
        thread.start()
        thread.join(0.3)
        early = is_made()
    thread.join()
    tap.ok(not early and is_made(), "a layer is made while no other thread uses the group")

with tap.part("fork"):
    halves, layers = SyncBatchNorm(4, activation="relu", name="a child's"), len(group._layers)
    model = SimpleNamespace(module=nn.Linear(2, 2), parameters_to_ignore=())
    for made, input in (layer, x), (halves, x.detach().bfloat16()), (average_exactly, model):
        child = os.fork()
        if not child:
            signal.alarm(60)
            told = "got its child by fork" in tap.raised(made, input)
            os._exit(0 if told and len(group._layers) == layers else 1)
        name = getattr(made, "name", "average_exactly")
        tap.ok(os.waitpid(child, 0)[1] == 0, f"a child of fork is told, and does not hang: {name}")
    loader = torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=4, num_workers=1)
    tap.ok([layer(batch).shape for batch in loader] == [(4, 4)] * 2, "a DataLoader that forks")

    launch = os.environ["MPI_LAUNCH"].split()
    program = (
        "import os, sys; from syncbn import mpi\n"
        "mpi.Communicator(); child = os.fork()\n"
        "sys.exit(os.waitpid(child, 0)[1] if child else 0)"
    )
    if launch:
        ended = run_apart(program, *launch, "-n", "1")
        tap.ok(ended.returncode == 0, "a child of fork does not end its parent's MPI", ended)
    else:
        tap.skip("a child of fork and MPI", "configured without MPI")

with tap.part("the end"):
    ended = run_apart(
        "import torch; from syncbn.torch import SyncBatchNorm\n"
        "layer = SyncBatchNorm(4); x = torch.ones(2, 4, requires_grad=True)\n"
        "kept = layer(x); print('passed')"
    )
    well = (ended.returncode, ended.stdout, ended.stderr) == (0, "passed\n", "")
    tap.ok(well, "the interpreter ends well with a graph that has not run backward", ended)
    ended = run_apart(
        "import torch, weakref; import torch.distributed as dist\n"
        "from syncbn.torch import SyncBatchNorm\n"
        "store = dist.TCPStore('127.0.0.1', 0, 1, True)\n"
        "dist.init_process_group('gloo', store=store, rank=0, world_size=1)\n"
        "SyncBatchNorm(4)(torch.ones(2, 4, requires_grad=True)).sum().backward()\n"
        "world = weakref.ref(dist.group.WORLD); dist.destroy_process_group(); print(world())"
    )
    tap.ok(ended.stdout == "None\n", "nothing keeps a world that has been destroyed", ended)
    ended = run_apart(
        "import torch; from syncbn import _group; from syncbn.torch import SyncBatchNorm\n"
        "layers = [SyncBatchNorm(4, timeout=n) for n in range(1, 9)]; ended = []\n"
        "made = [(layer(torch.ones(2, 4)), layer.group(1, None))[1] for layer in layers]\n"
        "_group.Group.close = lambda group: ended.append(group); _group.close_all()\n"
        "print(ended == made)"
    )
    tap.ok(ended.stdout == "True\n", "groups end in the order in which they were made", ended)
    ended = run_apart("import syncbn", SYNCBN_LIBRARY="/none/libsyncbn.so.0")
    told = "ImportError: SYNCBN_LIBRARY: expected the path of libsyncbn.so.0" in ended.stderr
    tap.ok(told, "a library that is not there", ended.stderr)
    pattern = "^libsyncbn.0.dylib was not found"
    with mock.patch.object(sys, "platform", "darwin"):
        tap.raises(ImportError, pattern, _c.load, "SBN_NONE", "libsyncbn.so.0")
    other = find_library("c")
    ended = run_apart("import syncbn", SYNCBN_LIBRARY=other)
    told = f"ImportError: {other}: expected a library that has sbn_version" in ended.stderr
    tap.ok(told, "another library", ended.stderr)
    multiarch = f"lib/{sysconfig.get_config_var('MULTIARCH') or ''}"
    for number, folder in enumerate(("lib", "lib64", multiarch)):
        prefix = Path(sys.argv[1], f"prefix {number}")
        for made in "lib/python3/site-packages/syncbn", "lib64", folder:
            (prefix / made).mkdir(parents=True, exist_ok=True)
        (prefix / folder / "beside").symlink_to(os.environ["SYNCBN_LIBRARY"])
        _c.__file__ = str(prefix / "lib/python3/site-packages/syncbn/_c.py")
        tap.ok(_c.load("SBN_NONE", "beside")._handle, f"the prefix's own library in {folder}")
    found = _c.load("SYNCBN_LIBRARY", "beside")._name
    tap.ok(
        found == os.environ["SYNCBN_LIBRARY"], "... behind the file that a variable names", found
    )
    _c.__file__ = "/syncbn/_c.py"
    tap.ok(_c.load("SYNCBN_LIBRARY", "none")._handle, "a package near the root of the file system")
    ended = run_apart(
        "import torch; from syncbn.torch import SyncBatchNorm; SyncBatchNorm(2)(torch.eye(2))",
        OCL_ICD_VENDORS="/none",
    )
    told = "OpenCL: expected a driver for this machine's CPU, got none" in ended.stderr
    tap.ok(told, "no OpenCL driver", ended.stderr)
    example = Path(__file__).parents[2] / "examples/fashion_ddp.py"
    command = [sys.executable, example, "--images", "1"]
    ended = subprocess.run(command, capture_output=True, text=True)
    told = ended.stderr.endswith("one value in the dense layer; it needs 2\n")
    tap.ok(told and ended.returncode == 2, "the example refuses single images", ended)
    mesa = "/etc/OpenCL/vendors/rusticl.icd"
    if os.path.exists(mesa):
        ended = run_apart(
            "import torch; from syncbn.torch import SyncBatchNorm\n"
            "x = torch.randn(8, 64, 28, 28)\n"
            "ours, theirs = SyncBatchNorm(64), torch.nn.BatchNorm2d(64)\n"
            "print([ours(x).allclose(theirs(x), atol=1e-5) for _ in range(3)])",
            OCL_ICD_VENDORS=mesa,
            RUSTICL_ENABLE="llvmpipe",
        )
        told = ended.stdout == "[True, True, True]\n"
        tap.ok(told, "Mesa's device: a pass has ended when its call returns", ended)
tap.end()
