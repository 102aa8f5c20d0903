"""DataParallel: the bits of one replica, the same steps each time, errors."""

import contextlib
import copy
import sys
import threading
from collections import Counter, OrderedDict, defaultdict

import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

import cases
import launch
import tap
from syncbn import SyncBatchNormError
from syncbn.torch import DataParallel, SyncBatchNorm, average_exactly, convert_sync_batchnorm

torch.set_num_threads(1)

for case in cases.CASES:
    with tap.part(case):
        alone = cases.compute(case, 1, 0, None)
        for replicas in 1, 2, 3, 4, 16:
            got = cases.compute(case, 1, 0, None, lambda layer: DataParallel(layer, replicas))
            what = f"{case}: {replicas} replicas"
            tap.ok(tap.equal(got[:7], alone[:7]), f"{what} have the bits of one")
            near = tap.near(got[7:], alone[7:], rtol=1e-5, atol=1e-4)
            tap.ok(near, f"{what}: their own gradients add up")


def network():
    torch.manual_seed(2)
    first = nn.Conv2d(3, 8, 3), SyncBatchNorm(8, activation="relu")
    second = nn.Conv2d(8, 8, 3), SyncBatchNorm(8), nn.Flatten()
    return nn.Sequential(*first, *second, nn.Linear(128, 5))


def train(model, images, labels):
    """Gradients and buffers after a step with the mean loss of the batch."""
    nn.functional.cross_entropy(model(images), labels).backward()
    return [p.grad for p in model.parameters()] + list(model.buffers())


images, labels = torch.randn(10, 3, 8, 8), torch.arange(10) % 5

with tap.part("networks"):
    whole = train(network(), images, labels)
    split, again = (train(DataParallel(network(), 3), images, labels) for _ in range(2))
    near = tap.near(whole, split, rtol=1e-4, atol=1e-5)
    tap.ok(near, "a network's gradients are near those of one replica")
    tap.ok(tap.equal(split, again), "the same bits again")

    def dropped():
        model = DataParallel(nn.Sequential(SyncBatchNorm(3), nn.Dropout(0.5)), 3)
        torch.manual_seed(3)
        return model(images).detach()

    tap.ok(torch.equal(dropped(), dropped()), "dropout: the same bits for the same seed")
    threads = threading.active_count()
    model = DataParallel(network(), 3)
    for _ in range(20):
        model(images).sum().backward()
    tap.ok(threading.active_count() == threads, "threads are used again")
    keys = ["module." + key for key in network().state_dict()]
    tap.ok(list(model.state_dict()) == keys, "state_dict is that of torch.nn.DataParallel")
    made = copy.deepcopy(model)
    tap.ok(torch.equal(made(images), model(images)), "deepcopy")
    plain = network().eval()
    tap.ok(torch.equal(DataParallel(plain, 3).eval()(images), plain(images)), "eval")
    recurrent = DataParallel(nn.LSTM(8, 4, batch_first=True), 2)
    sequences = torch.randn(6, 3, 8)
    near = torch.allclose(recurrent(sequences)[0], recurrent.module(sequences)[0], atol=1e-6)
    tap.ok(near, "modules that keep their parameters apart (LSTM)")
    frozen = network()
    frozen[0].weight.requires_grad_(False)
    DataParallel(frozen, 2)(images).sum().backward()
    right = frozen[0].weight.grad is None and frozen[0].bias.grad is not None
    tap.ok(right, "parameters without gradients")
    called, given = DataParallel(SyncBatchNorm(3), 2), {"module.weight": torch.full((3,), 2.0)}
    functional_call = getattr(torch, "func", nn.utils.stateless).functional_call
    if hasattr(torch, "func"):
        y = functional_call(called, given, (images,))
        tap.ok(torch.equal(y, 2 * called(images)), "functional_call")
    else:
        pattern = "got those of functional_call, which needs PyTorch 2"
        tap.raises(RuntimeError, pattern, functional_call, called, given, (images,))
    first = nn.Sequential(nn.ReLU(inplace=True), nn.Conv2d(3, 2, 3))
    grads = []
    for call in first, DataParallel(first, 2):
        first.zero_grad()
        call(torch.randn(8, 3, 8, 8, generator=torch.Generator().manual_seed(4))).sum().backward()
        grads.append(first[1].weight.grad.clone())
    tap.ok(torch.allclose(*grads, rtol=1e-4), "an input that is changed in place")


class Forms(nn.Module):
    """Several inputs and outputs, in containers."""

    def __init__(self):
        super().__init__()
        self.norm = SyncBatchNorm(3)
        self.seen = []

    def forward(self, pair, *, factor, names):
        x, mask = pair
        self.seen.append((len(x), len(mask), factor, names))
        y = self.norm(x) * factor
        return {"y": y, "sums": (y.sum(), [mask + 1])}, None


class Turned(nn.Module):
    """Outputs in another order where there is one sample, or a list of them, or none."""

    def forward(self, x, listed=False, last=False):
        made = {"y": x, "z": -x}
        if last:
            return x, None if len(x) > 1 else x
        return [*x] if listed else made if len(x) > 1 else dict(reversed(made.items()))


class Named(OrderedDict):
    """Outputs by their names, as transformers has them."""


with tap.part("containers"):
    forms = Forms()
    x, mask = torch.randn(5, 3), torch.arange(5)
    (result, nothing) = DataParallel(forms, 3)((x, mask), factor=2.0, names=["a"])
    right = forms.seen == [(part, part, 2.0, ["a"]) for part in (2, 2, 1)]
    tap.ok(right, "tensors are split, all else goes to each replica", forms.seen)
    sums, masks = result["sums"]
    right = torch.equal(result["y"], 2 * SyncBatchNorm(3)(x)) and nothing is None
    right = right and sums.shape == (3,) and torch.equal(masks[0], mask + 1)
    tap.ok(right, "results are joined, scalars to a vector")
    turned = DataParallel(Turned(), 3)
    tap.ok(torch.equal(turned(x)["z"], -x), "dictionaries by their keys, not by their order")
    tap.raises(ValueError, r"result: .*\[0, 1\] .*, got \[0\]", turned, x, listed=True)
    tap.raises(ValueError, r"result: .* a NoneType .*, got a Tensor", turned, x, last=True)
    default = defaultdict(list, {"x": x})
    for given in OrderedDict(x=x), Named(x=x), default, Counter(x=x):
        got = DataParallel(nn.Identity(), 2)(given)
        same = type(got) is type(given) and torch.equal(got["x"], x)
        tap.ok(same, f"the class of a dictionary stays: {type(given).__name__}", type(got))
    sideways = DataParallel(nn.Identity(), 2, dim=1)
    tap.ok(torch.equal(sideways(x), x), "along another dimension")


class WithoutGrad(nn.Sequential):
    """Its layers, in no_grad."""

    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


with tap.part("modes"):
    layer = SyncBatchNorm(3)
    grads, tiny = [], images * 1e-30
    for count in 1, 2:
        grouped = SyncBatchNorm(3, gradients="group")
        DataParallel(grouped, count)(tiny).backward(images * 1e-40)
        grads.append(grouped.weight.grad.view(torch.int32))
    tap.ok(torch.equal(*grads), "gradients of the group that underflow have the same sign", grads)
    with torch.no_grad():
        tap.ok(not DataParallel(layer, 2)(images).requires_grad, "no_grad")
    with torch.inference_mode():
        tap.ok(DataParallel(layer, 2)(images).is_inference(), "inference_mode")
    y = DataParallel(WithoutGrad(layer), 2)(images)
    tap.ok(not y.requires_grad, "no_grad within the model")
    # Before PyTorch 2.4 there is bfloat16 alone.
    for dtype in (torch.bfloat16, torch.float16)[: 1 + hasattr(torch, "get_autocast_dtype")]:
        with torch.autocast("cpu", dtype=dtype):
            y = DataParallel(network()[:2], 2)(images)
        tap.ok(y.dtype is dtype, f"autocast to {dtype}", y.dtype)
    model, numbers = DataParallel(layer, 2), []
    layer.register_forward_pre_hook(lambda *_: numbers.append(torch.get_num_threads()))
    for number in (3, 1):
        torch.set_num_threads(number)
        model(images)
    tap.ok(numbers == [3, 3, 1, 1], "the number of threads", numbers)


class Other(nn.Module):
    """Layers by the number of images."""

    def __init__(self):
        super().__init__()
        norms = nn.ModuleDict({"one": nn.BatchNorm2d(3), "two": nn.BatchNorm2d(3)})
        self.model = convert_sync_batchnorm(norms)

    def forward(self, x):
        if len(x) == 4:
            return x
        if len(x) == 5:
            raise KeyError("five")
        if len(x) == 6:
            return checkpoint(lambda x: self.model["one"](x).square(), x, use_reentrant=False)
        if len(x) == 8:
            try:
                return self.model["one"](x.flatten(1))
            except BaseException:
                return self.model["two"](x)
        if len(x) == 10:
            with torch.set_grad_enabled(bool(x.sum() > 0)):
                return self.model["one"](x)
        if len(x) == 7:
            functional_call = getattr(torch, "func", nn.utils.stateless).functional_call
            return functional_call(self.model["one"], {"weight": x[0, :, 0, 0]}, (x,))
        return self.model["one" if len(x) == 3 else "two"](x, x if len(x) == 1 else None)


with tap.part("errors"):
    model = DataParallel(Other(), 2)
    tap.raises(ValueError, "replicas: expected at least 1, got 0", DataParallel, Other(), 0)
    for count, pattern in (
        (5, 'different calls: replica 0 called layer "one", replica 1 called layer "two"'),
        (7, 'replica 1 called layer "one", replica 0 has ended'),
        (3, 'layer "two": expected a residual in each replica, got 1 of 2'),
    ):
        tap.raises(RuntimeError, pattern, model, torch.randn(count, 3, 2, 2))
    pattern = r'layer "one": expected gradients .* in none, got them enabled in replicas \[1\] of 2'
    tap.raises(RuntimeError, pattern, model, torch.arange(-9.9, 10)[:, None, None].expand(20, 3, 2))
    tap.raises(AttributeError, "", setattr, model, "replicas", 3)
    tap.raises(KeyError, "five", model, torch.randn(9, 3, 2, 2))
    tap.raises(ValueError, "weight: expected one for all", model, torch.randn(14, 3, 2, 2))
    pattern = 'layer "one".* expected 3 channels, got 12'
    tap.raises(SyncBatchNormError, pattern, DataParallel(Other(), 1), torch.randn(8, 3, 2, 2))
    pattern = 'layer "one": expected a call within the forward pass of its DataParallel'
    given = torch.randn(12, 3, 2, 2, requires_grad=True)
    tap.raises(RuntimeError, pattern, lambda: model(given).sum().backward())
    parallel = DataParallel(SyncBatchNorm(3), 2)
    tap.raises(ValueError, "Expected more than 1 value per channel", parallel, torch.randn(1, 3))
    nn.init.constant_(parallel.module.weight, torch.nan)
    tap.ok(parallel(images).isnan().all(), "a weight that is NaN in all replicas")
    held = nn.Sequential(SyncBatchNorm(3))
    held.forward = held.forward
    for call in DataParallel(held, 2), DataParallel(DataParallel(SyncBatchNorm(3), 2), 2):
        tap.raises(RuntimeError, "expected a call of its copy in a replica", call, images)
    for call, failing_shape in (model, (9, 3, 2, 2)), (DataParallel(SyncBatchNorm(3), 2), (9, 4)):
        tap.keeps_no_tensor(call, failing_shape)
    pattern = r"DataParallel: expected eval\(\) in torch.jit.trace"
    tap.raises(RuntimeError, pattern, torch.jit.trace, DataParallel(network(), 2), images)
    text = DataParallel(nn.Module(), 2)
    text.module.forward = lambda x: "text"
    tap.raises(TypeError, "result: expected tensors.*got str", text, images)
    tap.ok(model(torch.randn(4, 3, 2, 2)).shape == (4, 3, 2, 2), "after errors the next call works")


def dense():
    return nn.Linear(2, 2)


def channels_last():
    return nn.Conv2d(2, 2, 2).to(memory_format=torch.channels_last)


def with_gaps():
    made = nn.Linear(2, 2)
    made.weight = nn.Parameter(torch.ones(2, 4)[:, ::2])
    return made


def scalars():
    return nn.Linear(1, 1)


class Summed(nn.Module):
    """Two parameters, whose gradients autograd has in the same memory."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.zeros(2)) for _ in range(2))

    def forward(self, x):
        return (self.weight + self.bias) * x


def gradient(make, steps, exact=True, **settings):
    """Of a model of two replicas, after a function of it."""
    parallel = DistributedDataParallel(DataParallel(make(), 2), **settings)
    if exact:
        average_exactly(parallel)
    steps(parallel)
    return parallel.module.module.weight.grad


with tap.part("gradients that are averaged exactly"):
    launch.join(sys.argv[1], 1, 0)
    rows, images = torch.arange(8.0).view(4, 2), torch.arange(32.0).view(4, 2, 2, 2)

    def evaluated(model):
        model.eval()(x).sum().backward()

    def accumulated(model):
        for factor in 1, 2:
            model(factor * x).sum().backward()

    def unsynchronised(model):
        with model.no_sync():
            model(x).sum().backward()
        model(2 * x).sum().backward()

    def called_twice(model):
        (model(x).sum() + model(2 * x).sum()).backward()

    def discarded(model):
        model(x).sum().backward()
        for to_none in True, False:
            model.zero_grad(set_to_none=to_none)
            for call in model.module, model:
                with model.no_sync():
                    call(x).sum().backward()
                model.zero_grad(set_to_none=to_none)
            unsynchronised(model)

    def raised(model):
        accumulated(model)
        fails = x.clone().requires_grad_()
        fails.register_hook(lambda _: 1 / 0)
        with model.no_sync():
            tap.caught(model(fails).sum().backward)
        model.zero_grad()
        unsynchronised(model)

    def asked(model):
        """It asks for gradients that nobody adds, before the first pass and between passes."""
        for _ in range(2):
            with model.no_sync():
                for _ in range(2):
                    torch.autograd.grad(model(x).sum(), model.module.module.weight)
                model(3 * x).sum().backward()
            torch.autograd.grad(model.module(x).sum(), model.module.module.weight)
            model(x).sum().backward()

    def repeated(model):
        """A backward pass calls the model again between its parts."""

        def call(x):
            return checkpoint(lambda x: model(x) * torch.ones(1), x, use_reentrant=False).sum()

        for _ in range(2):
            first = call(x.clone().requires_grad_())
            (first + call(2 * x + 0 * first)).backward()

    def adaptive(model):
        """As asked, and the pass that adds them is of the same forward pass."""
        for factor in 1, 2, 3:
            with model.no_sync() if factor == 2 else contextlib.nullcontext():
                loss = model(factor * x).sum()
                for _ in range(2):
                    torch.autograd.grad(loss, model.module.module.weight, retain_graph=True)
                loss.backward()

    every = [(evaluated, 1), (accumulated, 2), (unsynchronised, 2), (called_twice, 2)]
    every += [(discarded, 2), (raised, 2), (asked, 2)]
    if hasattr(torch._C, "_current_graph_task_id"):
        every += [(repeated, 2), (adaptive, 2)]
    for make, x in (dense, rows), (channels_last, images), (with_gaps, rows), (Summed, rows):
        for steps, losses in every:
            what = f"mean of losses: {make.__name__}, {steps.__name__}"
            with tap.part(what):
                got, plain = losses * gradient(make, steps), gradient(make, steps, exact=False)
                tap.ok(torch.equal(got, plain), what, got, plain)

    def absorbed(model):
        for _ in range(2):
            model(x).sum().backward()
        (model(x * 2.0**-25).sum() + model(x * 2.0**-24).sum()).backward()

    x = torch.ones(2, 1)
    # Before PyTorch 2.1 nothing tells passes apart whose gradients are views of one bucket.
    for is_view in {False, hasattr(torch._C, "_current_graph_task_id")}:
        what = f"parts of a gradient that are lost in it one by one, views of a bucket: {is_view}"
        with tap.part(what):
            got = gradient(scalars, absorbed, gradient_as_bucket_view=is_view)
            tap.ok(got.item() == 2.0, what, got)

    def penalised(model):
        (model(x).sum() + model.module.module.weight.sum()).backward()

    def hooked(model):
        model.module.module.weight.register_hook(lambda grad: grad.clamp(max=1.0))
        model(x).sum().backward()

    def clipped(model):
        with model.no_sync():
            model(x).sum().backward()
        for parameter in model.parameters():
            parameter.grad /= 2
        model(x).sum().backward()

    x = rows
    for steps in penalised, hooked, clipped:
        pattern = r"module\.(weight|bias): expected the sum of the replicas' gradients.*clipping"
        tap.raises(RuntimeError, pattern, gradient, dense, steps)
tap.end()
