#!/usr/bin/env python3
"""Trains a network on Fashion-MNIST by DistributedDataParallel, on the CPU.

    python3 fashion_ddp.py                        plain batch norm, then synchronised
    python3 fashion_ddp.py --processes 4 --images 2 --steps 1000
    python3 fashion_ddp.py --verify               the same weights on 1, 2 and 4 processes

Each of the processes has a few images of every batch: batch norm that sees only these trains worse.
Needs the package dataset-fashion-mnist, or the folder of its four files (--data).
"""

import argparse
import gzip
import hashlib
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from syncbn.torch import DataParallel, average_exactly, convert_sync_batchnorm

REPLICAS = 4  # that --verify spreads over the processes


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


class Loss(nn.Module):
    """The network with its loss, so that each replica has one."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images, labels):
        return F.cross_entropy(self.model(images), labels)


def verify_rank(rank, options, processes, results):
    """Trains a fixed number of replicas on these processes, and leaves a digest of the weights."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=processes)
    torch.manual_seed(options.seed)
    model = convert_sync_batchnorm(network())
    parallel = DistributedDataParallel(DataParallel(Loss(model), REPLICAS // processes))
    average_exactly(parallel)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    images, labels = read(options.data, "train")
    order = torch.Generator().manual_seed(options.seed)
    whole = REPLICAS * options.images
    for _ in range(options.steps):
        own = torch.randint(len(images), (whole,), generator=order).chunk(processes)[rank]
        losses = parallel(images[own], labels[own])
        optimiser.zero_grad()
        losses.sum().backward()
        optimiser.step()
    made = hashlib.sha256()
    for tensor in model.state_dict().values():
        made.update(bytes(tensor.reshape(-1).view(torch.uint8).tolist()))
    results[rank] = made.hexdigest()
    dist.barrier()
    dist.destroy_process_group()


def verify(options):
    """Trains on 1, 2 and 4 processes; 0 if all end with the same weights, or else 1."""
    found = set()
    for processes in 1, 2, 4:
        with mp.Manager() as manager:
            results = manager.dict()
            began = time.monotonic()
            mp.spawn(verify_rank, (options, processes, results), processes)
            found |= set(results.values())
            print(
                f"{processes} x {REPLICAS // processes} replicas of {options.images} "
                f"images, {options.steps} steps, {time.monotonic() - began:.0f} s: "
                f"weights {results[0][:16]}",
                flush=True,
            )
    print("the weights are the same" if len(found) == 1 else "the weights differ")
    return int(len(found) != 1)


def number(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {value}")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=number, default=2)
    parser.add_argument("--images", type=number, default=2, help="of each process in a batch")
    parser.add_argument("--steps", type=number, default=3000)
    parser.add_argument(
        "--verify",
        action="store_true",
        help="train 4 replicas on 1, 2 and 4 processes, and compare the weights",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    options = parser.parse_args()
    if options.images < 2 and not options.verify:
        parser.error("--images 1 leaves each process one value in the dense layer; it needs 2")
    read(options.data, "t10k")  # here what is missing is said once
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    if "MASTER_PORT" not in os.environ:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            os.environ["MASTER_PORT"] = str(free.getsockname()[1])
    if options.verify:
        raise SystemExit(verify(options))
    mp.spawn(run_rank, (options,), options.processes)


if __name__ == "__main__":
    main()
