"""SyncBatchNorm over communicators of mpi4py, in a job of 4 ranks that it launches of itself."""

import os
import sys

import torch

import launch
import tap

WORLD = 4


def run_rank():
    """Every second rank has a communicator, of which each has half of the batch."""
    from mpi4py import MPI

    from syncbn import mpi
    from syncbn.torch import SyncBatchNorm

    world = MPI.COMM_WORLD
    half = world.Split(world.rank % 2, world.rank)
    group = mpi.Communicator(half)
    assert (group.rank, group.size) == (half.rank, 2) == (world.rank // 2, half.size)
    torch.set_num_threads(1)
    batch = torch.randn(8, 5, 3, generator=torch.Generator().manual_seed(world.rank % 2))
    results = []
    for x, process_group in (batch, None), (batch[4 * half.rank :][:4], group):
        layer = SyncBatchNorm(5, process_group=process_group, gradients="group", timeout=60)
        x = x.clone().requires_grad_()
        y = layer(x)
        y.backward(torch.ones_like(y) * torch.arange(3))
        results.append([y.detach(), x.grad, layer.weight.grad, layer.running_var])
    (y, dx, weight, var), (own_y, own_dx, own_weight, own_var) = results
    part = slice(4 * half.rank, 4 * half.rank + 4)
    same = torch.equal(own_y, y[part]) and torch.equal(own_dx, dx[part])
    same = same and torch.equal(own_weight, weight / 2) and torch.equal(own_var, var)
    assert world.allreduce(int(same)) == WORLD
    between = half.Create_intercomm(0, world, 1 - world.rank % 2)
    assert "expected an intracommunicator" in tap.raised(mpi.Communicator, between)


if len(sys.argv) > 2:
    run_rank()
    sys.exit(0)
try:
    from mpi4py import MPI
except ImportError as error:
    print(f"1..0 # SKIP mpi4py finds no MPI: {error}")
    sys.exit(0)
from syncbn import mpi
from syncbn.torch import SyncBatchNorm
from syncbn.torch._groups import transport_of

try:
    mpi.Communicator(MPI.COMM_WORLD)
except ValueError as error:
    print(f"1..0 # SKIP {error}")
    sys.exit(0)
with tap.part("parts of the world"):
    status = launch.job(os.environ["MPI_LAUNCH"].split(), WORLD, sys.argv[1])
    library = MPI.Get_library_version().split()[0]
    tap.ok(status == 0, f"{library}: parts of the world have the bits of one process", status)
with tap.part("a communicator of one process"):
    alone = mpi.Communicator(MPI.COMM_SELF)
    tap.ok(transport_of(alone, 1) is None, "a process alone takes no communicators of MPI")
    layer = SyncBatchNorm(5, process_group=alone, gradients="group")
    for mode in layer.train(), layer.eval():
        mode(torch.ones(4, 5)).sum().backward()
    tap.ok(torch.equal(layer.bias.grad, torch.full((5,), 8.0)), "and trains, and evaluates")
tap.raises(TypeError, "comm: expected a communicator of mpi4py, got int", mpi.Communicator, 7)
tap.raises(ValueError, "comm: expected .*, got MPI.COMM_NULL", mpi.Communicator, MPI.COMM_NULL)
MPI.Finalize()
tap.raises(RuntimeError, "MPI: expected it running, got it ended", mpi.Communicator)
tap.end()
