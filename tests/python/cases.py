"""What every world computes: layers, and a batch of 13 samples that is split over the ranks."""

import torch

SPLITS = {1: [13], 2: [5, 8], 3: [4, 0, 9], 4: [1, 6, 2, 4]}

# name: channels, space, type, channels last, settings of the layer, with a residual
CASES = {
    "f32": (5, (7, 6), torch.float32, False, {}, False),
    "f32 channels last": (5, (7, 6), torch.float32, True, {}, False),
    "f32 2-D": (5, (), torch.float32, False, {}, False),
    "f32 5-D, no affine part": (3, (2, 3, 4), torch.float32, False, {"affine": False}, False),
    "bf16": (5, (7, 6), torch.bfloat16, False, {}, False),
    "f16 channels last": (5, (7, 6), torch.float16, True, {}, False),
    "f32, residual and relu": (5, (7, 6), torch.float32, False, {"activation": "relu"}, True),
}


def batch(case):
    """x, residual, dy of the whole batch, and weight and bias: the same in every process."""
    channels, space, dtype, last, _settings, _residual = CASES[case]
    made = torch.Generator().manual_seed(len(case))
    tensors = []
    for place in range(3):
        tensor = torch.randn((13, channels, *space), generator=made)
        tensor = (tensor * (3.0 if place == 0 else 1.0) + (place == 0)).to(dtype)
        if last:
            tensor = tensor.contiguous(memory_format=torch.channels_last)
        tensors.append(tensor)
    weight = torch.rand(channels, generator=made) + 0.5
    bias = torch.randn(channels, generator=made)
    return (*tensors, weight, bias)


def compute(case, world, rank, process_group, wrap=lambda layer: layer):
    """A training step of this rank's part: y, dx, dz of the part; then, of the group, the
    gradients of weight and bias and the running statistics; then this rank's own gradients.
    The layer is called as `wrap` makes it."""
    from syncbn.torch import SyncBatchNorm

    channels, _space, _dtype, _last, settings, with_residual = CASES[case]
    x, z, dy, weight, bias = batch(case)
    begin = sum(SPLITS[world][:rank])
    part = slice(begin, begin + SPLITS[world][rank])
    for gradients in "group", "local":
        settings = {**settings, "gradients": gradients, "name": case, "timeout": 120}
        layer = SyncBatchNorm(channels, process_group=process_group, **settings)
        if layer.affine:
            with torch.no_grad():
                layer.weight.copy_(weight)
                layer.bias.copy_(bias)
        own_x, own_z = (tensor[part].clone().requires_grad_() for tensor in (x, z))
        y = wrap(layer)(*((own_x, own_z) if with_residual else (own_x,)))
        y.backward(dy[part])
        if gradients == "group":
            results = [y.detach(), own_x.grad, own_z.grad if with_residual else y.new_empty(0)]
        parameters = [layer.weight, layer.bias] if layer.affine else []
        results += [p.grad for p in parameters] or [torch.empty(0)] * 2
        if gradients == "group":
            results += [layer.running_mean, layer.running_var]
    return results


def reference(case):
    """The same of the whole batch in float64, by PyTorch."""
    import torch.nn.functional as F

    channels, _space, _dtype, _last, settings, with_residual = CASES[case]
    x, z, dy, weight, bias = (tensor.double().contiguous() for tensor in batch(case))
    x.requires_grad_()
    z.requires_grad_()
    parameters = [None, None]
    if settings.get("affine", True):
        parameters = [weight.requires_grad_(), bias.requires_grad_()]
    mean, var = torch.zeros(channels).double(), torch.ones(channels).double()
    y = F.batch_norm(x, mean, var, *parameters, True, 0.1, 1e-5)
    if with_residual:
        y = y + z
    if settings.get("activation") == "relu":
        y = F.relu(y)
    y.backward(dy)
    grads = [tensor.grad for tensor in (x, z, weight, bias)]
    return [y.detach(), *(torch.empty(0) if g is None else g for g in grads), mean, var]
