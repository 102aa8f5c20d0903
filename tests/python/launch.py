"""Processes of tests: the ranks of a group of torch.distributed, with an end to waiting."""

import os
import signal
import subprocess
import sys
import traceback

LIMIT = float(os.environ.get("SBN_TEST_LIMIT", 250))


def forked(world, call, *arguments):
    """The exit statuses of ranks that fork from this process, before it uses OpenCL, to call this
    with these arguments and their rank. Each would need two seconds to import PyTorch."""
    children = []
    for rank in range(world):
        children.append(os.fork())
        if children[rank] == 0:
            signal.setitimer(signal.ITIMER_REAL, LIMIT)
            try:
                call(*arguments, rank)
            except Exception:
                traceback.print_exc()
                os._exit(1)
            sys.exit(0)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def job(mpi, world, *arguments):
    """The exit status of this program as an MPI job of so many ranks; killed at the limit, it raises."""
    program = [sys.executable, "-W", "ignore", sys.argv[0], *arguments, str(world)]
    return subprocess.run([*mpi, "-n", str(world), *program], timeout=LIMIT).returncode


def join(folder, world, rank):
    """Makes this process a rank of a world whose ranks meet in the folder."""
    import torch.distributed as dist

    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous-{world}", rank=rank, world_size=world
    )
