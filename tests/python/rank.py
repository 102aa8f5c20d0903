"""One rank of tests/python/bits.py: rank.py FOLDER gloo|mpi WORLD RANK (over MPI without RANK).

Computes all cases and leaves the results in FOLDER.
"""

import sys

import torch

import cases

folder, kind, world = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.set_num_threads(1)
if kind == "gloo":
    import torch.distributed as dist

    rank = int(sys.argv[4])
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous-{world}", rank=rank, world_size=world
    )
    group = None
else:
    from syncbn import mpi

    group = mpi.Communicator()
    rank = group.rank
results = {case: cases.compute(case, world, rank, group) for case in cases.CASES}
torch.save(results, f"{folder}/{kind}-{world}-{rank}")
