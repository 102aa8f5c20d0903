"""The same bits for every number of processes, over gloo and MPI, and against float64.

bits.py FOLDER forks the ranks of gloo, and launches as MPI jobs bits.py FOLDER mpi WORLD, and
bits.py FOLDER late 2, whose rank 1 comes too late.
"""

import os
import sys
import time
from pathlib import Path

import torch

import cases
import launch
import tap
from syncbn.torch import SyncBatchNorm

folder, of_rank = sys.argv[1], sys.argv[2:]
mpi = os.environ["MPI_LAUNCH"].split()
torch.set_num_threads(1)


def run_rank(kind, world, rank=None):
    """Computes all cases and leaves the results in the folder."""
    if kind == "gloo":
        group = None
        launch.join(folder, int(world), rank)
    else:
        from syncbn.mpi import Communicator

        group = Communicator()
        rank = group.rank
    if kind == "late":
        for timeout in 120, 4:  # the first one builds kernels
            layer = SyncBatchNorm(2, process_group=group, timeout=timeout)
            layer(torch.ones(2, 2))
        if rank == 1:
            time.sleep(30)
        told = tap.raised(layer, torch.ones(2, 2))
        Path(folder, f"late-{rank}").write_text(told)
        return
    results = {case: cases.compute(case, int(world), rank, group) for case in cases.CASES}
    torch.save(results, f"{folder}/{kind}-{world}-{rank}")


if of_rank:
    run_rank(*of_rank)
    sys.exit(0)


def results_of(kind, world):
    """Per case, the whole batch's y, dx and dz, and what each rank has of the rest."""
    ranks = [torch.load(f"{folder}/{kind}-{world}-{rank}") for rank in range(world)]
    whole = {}
    for case in cases.CASES:
        parts = [results[case] for results in ranks]
        whole[case] = [torch.cat([part[place] for part in parts]) for place in range(3)], parts
    return whole


def check_world(what, whole):
    """That the results have the bits of one process, whose gradients of weight and bias the
    number of ranks divides."""
    for case, (batch, parts) in whole.items():
        own = alone[case]
        group = [own[3] / len(parts), own[4] / len(parts), own[5], own[6]]
        same = tap.digest(batch) == tap.digest(own[:3])
        same = same and {tap.digest(part[3:7]) for part in parts} == {tap.digest(group)}
        tap.ok(same, f"{what}, {case}: the bits of one process")
        sums = [sum(part[place] for part in parts) for place in (7, 8)]
        close = tap.near(sums, own[7:9], rtol=1e-5, atol=1e-4)
        tap.ok(close, f"{what}, {case}: local gradients add up to the group's")


# Of the reference, and where it is that of a half type, of one rounding.
BOUNDS = {torch.float32: 2e-6, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}

ended = {world: launch.forked(world, run_rank, "gloo", world) for world in (2, 3, 4)}
alone = {case: cases.compute(case, 1, 0, None) for case in cases.CASES}
for case, results in alone.items():
    with tap.part(case):
        for place, (got, expected) in enumerate(zip(results, cases.reference(case))):
            bound = BOUNDS[cases.CASES[case][2]] if place < 3 else 2e-6
            size = max(1.0, float(expected.abs().max())) if expected.numel() else 1.0
            error = float((got.double() - expected).abs().max()) if got.numel() else 0.0
            name = ("y", "dx", "dz", "dweight", "dbias", "mean", "var")[place]
            tap.ok(error <= bound * size, f"{case}: {name} against float64", f"{error} {size}")
for world, statuses in ended.items():
    with tap.part(f"gloo, {world}"):
        tap.ok(statuses == [0] * world, f"gloo, {world} processes end well")
        check_world(f"gloo, {world} processes", results_of("gloo", world))
for world in 2, 4:
    if not mpi:
        tap.skip(f"MPI, {world} ranks", "configured without MPI")
        continue
    with tap.part(f"MPI, {world}"):
        tap.ok(launch.job(mpi, world, folder, "mpi") == 0, f"MPI, {world} ranks end well")
        check_world(f"MPI, {world} ranks", results_of("mpi", world))
if mpi:
    with tap.part("MPI, late"):
        launch.job(mpi, 2, folder, "late")
        told = {file.name: file.read_text() for file in Path(folder).glob("late-*")}
        right = list(told) == ["late-0"] and "SBN_TIMEOUT" in told["late-0"]
        tap.ok(right, "MPI: a rank that waited too long ends, and does not wait for others", told)
tap.end()
