#!/usr/bin/env python3
"""The files of this folder, written by PyTorch and safetensors' reference implementation.

    python3 tests/model/data/make_files.py [folder]

Needs the packages torch and safetensors. Reference values are computed in float64 from the
float32 inputs that the file holds, and rounded once. Another version of PyTorch may draw other
inputs; the tests hold for any.
"""
import os
import sys

import torch
from safetensors.torch import save_file

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(20)


def save(name, tensors):
    tensors = {
        key: value.detach().to(torch.float32 if value.dtype == torch.float64 else value.dtype).clone().contiguous()
        for key, value in tensors.items()
    }
    save_file(tensors, os.path.join(FOLDER, name), metadata={"format": "pt"})


def train_a_little(network, batches, *shape):
    for _ in range(batches):
        network(torch.randn(*shape, dtype=torch.float64) * 2 + 0.5)


def networks():
    """Whole networks: the layers are "1" and "4.1" and "6", the last without running statistics."""
    nn = torch.nn
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Sequential(nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU()),
        nn.Flatten(1), nn.BatchNorm1d(24, track_running_stats=False), nn.Linear(24, 5),
    ).double()
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias)
    train_a_little(network, 3, 8, 3, 10, 10)
    state = network.state_dict()
    save("network_f32.safetensors", state)
    for name, kind in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        save(f"network_{name}.safetensors",
             {k: v.to(kind) if v.is_floating_point() else v for k, v in state.items()})
    # A checkpoint of version 1: batches were not counted.
    save("network_v1.safetensors", {k: v for k, v in state.items() if not k.endswith("num_batches_tracked")})


def folded():
    """A convolution and a dense layer with batch norm behind them, and the same folded into one."""
    from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
    tensors = {}
    pairs = {
        "conv": (torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), fuse_conv_bn_eval),
        "bare": (torch.nn.Conv2d(2, 5, 2, bias=False), torch.nn.BatchNorm2d(5, affine=False), fuse_conv_bn_eval),
        "dense": (torch.nn.Linear(6, 5), torch.nn.BatchNorm1d(5), fuse_linear_bn_eval),
    }
    for name, (first, norm, fuse) in pairs.items():
        norm.running_mean.copy_(torch.randn_like(norm.running_mean))
        norm.running_var.copy_(torch.rand_like(norm.running_var) + 0.25)
        if norm.affine:
            norm.weight.data = torch.randn_like(norm.weight)
            norm.bias.data = torch.randn_like(norm.bias)
        first, norm = first.double().eval(), norm.double().eval()
        one = fuse(first, norm)
        tensors |= {f"{name}.first.{k}": v for k, v in first.state_dict().items()}
        tensors |= {f"{name}.norm.{k}": v for k, v in norm.state_dict().items()}
        tensors |= {f"{name}.folded.weight": one.weight, f"{name}.folded.bias": one.bias}
    save("folded.safetensors", tensors)


def troubled():
    """Layers that look wrong, each in its own way, and one that does not; names to be sorted."""
    nan = float("nan")
    tensors = {}

    def add(name, mean, var, batches, weight=None):
        tensors[f"{name}.running_mean"] = torch.tensor(mean)
        tensors[f"{name}.running_var"] = torch.tensor(var)
        if batches is not None:
            tensors[f"{name}.num_batches_tracked"] = torch.tensor(batches)
        if weight is not None:
            tensors[f"{name}.weight"] = torch.tensor(weight)

    add("norm.10", [0.5, -0.5], [1.0, 2.0], 7, [1.0, nan])
    add("norm.2", [0.5, -0.25], [1.0, -2.0], 7)
    add("norm.3", [0.0, 0.0], [1.0, 1.0], 0, [1.0, 1.0])
    add("norm.4", [0.0, 0.0], [1.0, 1.0], None)
    add("norm.5", [0.5, 0.5], [0.0, 1.0], 7)
    add("norm.6", [nan, float("inf")], [1.0, 1.0, 1.0], 7)
    add("norm.7", [nan, float("inf")], [3.0, 3.0], 0)
    add("norm.8\x1b[31m", [1.5, 2.5], [3.0, 4.0], 123456, [0.5, 0.25])
    tensors["fc.weight"] = torch.zeros(2, 2)
    save("troubled.safetensors", tensors)


networks()
folded()
troubled()
