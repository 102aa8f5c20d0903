#!/usr/bin/env python3
"""Trains a network on Fashion-MNIST by DistributedDataParallel, on the CPU.

    python3 fashion_ddp.py                        plain batch norm, then synchronised
    python3 fashion_ddp.py --processes 4 --images 2 --steps 1000

Each of the processes has a few images of every batch: batch norm that sees only these trains worse.
Needs the package dataset-fashion-mnist, or the folder of its four files (--data).
"""

import argparse
import gzip
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from syncbn.torch import convert_sync_batchnorm


def read(folder, part):
    """Images, (count, 1, 28, 28) in 0 ... 1, and labels."""
    tensors = []
    for kind, head in ("images-idx3", 16), ("labels-idx1", 8):
        path = f"{folder}/{part}-{kind}-ubyte.gz"
        try:
            with gzip.open(path) as file:
                content = bytearray(file.read())
        except FileNotFoundError:
            raise SystemExit(
                f"cannot open {path}: install dataset-fashion-mnist, or name its folder with --data"
            ) from None
        tensors.append(torch.frombuffer(content, dtype=torch.uint8)[head:])
    images, labels = tensors
    return images.view(-1, 1, 28, 28).float() / 255, labels.long()


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 49, 64, bias=False),
        nn.BatchNorm1d(64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def train(options, synchronised, rank):
    """Trains, and returns the accuracy over the test images, on rank 0."""
    what = "synchronised" if synchronised else "per process"
    torch.manual_seed(options.seed)
    model = network()
    if synchronised:
        model = convert_sync_batchnorm(model)
    # Each process has its own running statistics where batch norm is not synchronised; rank 0's
    # are taken.
    parallel = DistributedDataParallel(model, broadcast_buffers=False)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    images, labels = read(options.data, "train")
    order = torch.Generator().manual_seed(options.seed)
    whole = options.processes * options.images
    began = shown = time.monotonic()
    for step in range(options.steps):
        chosen = torch.randint(len(images), (whole,), generator=order)
        own = chosen[rank * options.images : (rank + 1) * options.images]
        loss = F.cross_entropy(parallel(images[own]), labels[own])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        now = time.monotonic()
        if rank == 0 and (now - shown > 2 or step + 1 == options.steps):
            shown, left = now, (now - began) / (step + 1) * (options.steps - step - 1)
            print(f"{what}: step {step + 1} of {options.steps}, {left:.0f} s left", flush=True)
    if rank:
        return None
    images, labels = read(options.data, "t10k")
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).sum().item()
    return 100 * right / len(labels)


def run_rank(rank, options):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=options.processes)
    for synchronised in False, True:
        accuracy = train(options, synchronised, rank)
        if rank == 0:
            what = "synchronised" if synchronised else "per process"
            print(f"batch norm {what}: test accuracy {accuracy:.2f} %", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--images", type=int, default=2, help="of each process in a batch")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    options = parser.parse_args()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    if "MASTER_PORT" not in os.environ:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            os.environ["MASTER_PORT"] = str(free.getsockname()[1])
    mp.spawn(run_rank, (options,), options.processes)


if __name__ == "__main__":
    main()
