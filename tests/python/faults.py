"""What each rank is told when ranks differ, skip a layer, come late, interrupt or die."""

import os
import re
import signal
import sys
import threading
import time
import weakref

import torch
import torch.distributed as dist

import launch
import tap
from syncbn.torch import average_exactly, convert_sync_batchnorm
from syncbn.torch._distributed import DistributedTransport

torch.set_num_threads(1)
# It ends processes now and then, before PyTorch 2.4.
dist.Store.compare_set = None
WORLD = 3
LIMIT = 2.0  # seconds that a group waits


def expect(what, pattern, call, *arguments):
    """A check that a call fails with a sentence of this pattern."""
    text = tap.raised(call, *arguments)
    tap.ok(re.search(pattern, text), what, text)


def run_rank(folder, rank):
    sys.stdout = open(f"{folder}/faults-{rank}", "w")
    x = torch.randn(4, 8)

    # Process 2 takes the place of process 1 in a new world.
    for place, members in enumerate(((0, 1), (0, 2))):
        if rank in members:
            os.makedirs(f"{folder}/world-{place}", exist_ok=True)
            launch.join(f"{folder}/world-{place}", 2, members.index(rank))
            layer = convert_sync_batchnorm(torch.nn.BatchNorm1d(8), timeout=60.0)
            if place == 1 and rank == 0:
                layer(x)
                pattern = "RuntimeError: backward: expected the process group of its forward"
                expect("backward after the end of its world", pattern, loss.backward)
            else:
                expect(f"world {place}", "nothing was raised", layer, x)
            loss = layer(x.clone().requires_grad_()).sum()
            left = f"{folder}/left-{place}"
            if rank == 0:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
                expect("Control-C leaves a pass", "^KeyboardInterrupt", layer, x)
                open(left, "x").close()
            while not os.path.exists(left):
                time.sleep(0.01)
            store = weakref.ref(dist.distributed_c10d._get_default_store())
            dist.destroy_process_group()
            tap.ok(store() is None, "... leaves no store")
    launch.join(folder, WORLD, rank)

    def model(channels=8, timeout=60.0, **settings):
        """Layers in a process group of their own, which their failure ends. All ranks meet first."""
        dist.barrier()
        two = torch.nn.Sequential(
            torch.nn.BatchNorm1d(channels, **settings), torch.nn.BatchNorm1d(channels)
        )
        return convert_sync_batchnorm(two, dist.new_group(), timeout=timeout)

    two = model(8 if rank else 16)
    pattern = (
        r'the ranks made different calls: .*rank 0 called forward of layer "0" with 16 channels.*'
        r"with 8 channels.*SBN_DISAGREEMENT"
    )
    expect("other channels", pattern, two, x if rank else torch.randn(4, 16))
    two = model()
    pattern = r"type SBN_BF16 on rank 1, SBN_F32 on ranks 0, 2\) \(SBN_DISAGREEMENT"
    expect("other types", pattern, two, x.bfloat16() if rank == 1 else x)
    expect("the group goes on", "nothing was raised", two, x)
    two = model(eps=1e-3 if rank == 2 else 1e-5)
    expect("another eps", r"eps 1e-05 on ranks 0, 1; 0.001 on rank 2|eps.*0\.001", two, x)
    two = model()
    lacks = "ValueError: input: expected float32, float16 or bfloat16, got float64"
    for what, wrong, told in (
        ("another input than the layer's", torch.randn(4, 5), "shape: expected 8 channels, got 5"),
        ("a type that the library lacks", x.double(), lacks),
    ):
        pattern, given = (told, wrong) if rank == 1 else (r"rank 1.*SBN_REMOTE_ERROR", x)
        expect(what, pattern, two, given)
    two = model(momentum=None)
    for name, wrong, told in (
        ("momentum", 1.5, "momentum: expected 0 to 1, got 1.5"),
        ("eps", -1.0, "eps: expected a finite number from 0, got -1"),
        ("activation", "gelu", "ValueError: activation: expected None, .*got 'gelu'"),
        ("num_batches_tracked", torch.tensor(-3), "num_batches_tracked: expected 0 .*got -3"),
        ("num_batches_tracked", torch.tensor(0, device="meta"), "Error: .*[mM]eta"),
    ):
        kept = getattr(two[0], name)
        if rank == 1:
            setattr(two[0], name, wrong)
        expect(f"a wrong {name}", told if rank == 1 else r"rank 1.*SBN_REMOTE_ERROR", two, x)
        setattr(two[0], name, kept)
    expect("one value in the group", "ValueError: Expected more than 1 value", two, x[: rank == 0])
    two[0](x)
    pattern = r'rank 2 called forward of layer "1".*SBN_DISAGREEMENT'
    expect("another layer", pattern, two[rank == 2], x)

    # Rank 1 skips a layer, and comes when the others have given up: without their sums, or with them,
    # which all ranks expect behind a pass of the same size.
    alone = r'ranks 0, 2 called forward of layer "0" .* and reported SBN_TIMEOUT \(SBN_REMOTE_ERROR'
    behind = r'rank 1 waited 2 s in forward of layer "1" for ranks 0, 2 \(SBN_TIMEOUT\)'
    for layers, late in (1, alone), (2, behind):
        two = model(timeout=LIMIT)
        two[:layers](x)
        dist.barrier()
        told = r'rank \d waited 2 s in forward of layer "0" for rank 1 \(SBN_TIMEOUT\)'
        if rank == 1:
            time.sleep(LIMIT + 1.5)
            told = late
        expect("a late rank", told, two, x)
        expect("its group has failed", r"the group failed earlier", two, x)

    # Rank 1 is late to each pass, which the others announce in the store.
    two, keys = model(), []
    two[0](x)
    for _ in range(9):
        dist.barrier()
        keys.append(dist.distributed_c10d._get_default_store().num_keys())
        dist.barrier()
        time.sleep(0.2 * (rank == 1))
        two[0](x)
    # A key of each rank and tag.
    tap.ok(keys[-1] <= keys[0] + 3 * WORLD, "waits do not fill the store", keys)

    # Rank 0 is interrupted while it waits: once the pass has a handler of its own. It may have
    # begun with SIGINT ignored, as a shell's job in the background.
    def stop(*_):
        raise ValueError("stopped")

    for number, handler, told in (
        (signal.SIGINT, signal.default_int_handler, "KeyboardInterrupt"),
        (signal.SIGTERM, stop, "stopped"),
        (signal.SIGCHLD, stop, "stopped"),
    ):
        two = model(timeout=float("inf"))
        expect("a timeout without an end", "nothing was raised", two, x)
        dist.barrier()
        if rank == 0:
            signal.signal(number, handler)

            def interrupt():
                while signal.getsignal(number) is handler and time.monotonic() < end:
                    time.sleep(0.01)
                os.kill(os.getpid(), number)

            end = time.monotonic() + 2
            threading.Thread(target=interrupt).start()
            expect(f"{number.name} ends a wait", f"^(ValueError: )?{told}", two, x)
            expect("... and its group", f"the group failed earlier.*{told}", two, x)
            expect("... and nothing else", "nothing was raised", torch.relu, x)
            tap.ok(signal.getsignal(number) is handler, "... and its handler is set again")
    # Which a driver's compiler sends when it ends.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    # Rank 1 never comes, not even to the first pass, in which the ranks connect.
    two = model(timeout=LIMIT)
    if rank != 1:
        pattern = r"waited 2 s to make a group with rank 1 \(SBN_TIMEOUT"
        expect("a rank that skips the first pass", pattern, two, x)
    dist.barrier()
    expect("PyTorch's own group goes on", "nothing was raised", dist.all_reduce, x)

    # It comes when the others have given up.
    two = model(timeout=LIMIT)
    told = r"rank \d waited 2 s to make a group with rank 1 \(SBN_TIMEOUT"
    if rank == 1:
        dist.barrier()
        told = r"rank 1 waited 2 s to make a group with ranks 0, 2 \(SBN_TIMEOUT"
    expect("a rank that is late to the first pass", told, two, x)
    if rank != 1:
        dist.barrier()
    dist.barrier()
    expect("... and all come to the next one", "nothing was raised", two, x)

    # Rank 0 is interrupted while it waits in the first pass.
    two = model()
    if rank == 0:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        expect("Control-C ends a first pass", "^KeyboardInterrupt", two, x)
    dist.barrier()
    expect("... and the next one connects", "nothing was raised", two, x)

    # Rank 0 is interrupted just when the last rank has come.
    come = DistributedTransport._come

    def interrupted(transport):
        if come(transport):
            raise KeyboardInterrupt

    two, told = model(timeout=LIMIT), r"for rank 0 \(SBN_TIMEOUT"
    if rank == 0:
        DistributedTransport._come, told = interrupted, "^KeyboardInterrupt"
    expect("Control-C when all have come", told, two, x)
    DistributedTransport._come = come
    expect("... and the next one connects", "nothing was raised", model(), x)

    # Rank 0 is interrupted while it waits for the others in a part of a group.
    split = DistributedTransport.split

    def split_alone(*arguments):
        if rank != 0:
            dist.barrier()
            return 1
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        return split(*arguments)

    DistributedTransport.split = split_alone
    parallel = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    told = "SBN_TRANSPORT_ERROR" if rank else "^KeyboardInterrupt"
    began = time.monotonic()
    expect("Control-C ends a wait for a part", told, lambda: average_exactly(parallel, timeout=30))
    tap.ok(time.monotonic() - began < 20, "... at once")
    if rank == 0:
        dist.barrier()

    # Ranks in unequally many groups.
    dist.new_group([0])
    half = dist.new_group([0, 1])
    if rank < 2:
        layer = convert_sync_batchnorm(torch.nn.BatchNorm1d(8), half, timeout=LIMIT)
        expect("some of the ranks", "nothing was raised", layer, x)
        if rank == 0:
            expect("... one of which is late", "for rank 1", layer, x)
        dist.all_reduce(two := torch.ones(8), group=half)
        tap.ok(two.eq(2).all(), "... the user's group goes on")

    # Groups of the same ranks, which each come to another one first.
    halves = [dist.new_group([0, 1]) for _ in range(2)]
    if rank < 2:
        layers = [convert_sync_batchnorm(torch.nn.BatchNorm1d(8), half) for half in halves]
        threads = [threading.Thread(target=layers[i], args=(x * 0 + i,)) for i in range(2)]
        threads[rank].start()
        time.sleep(0.5)
        threads[1 - rank].start()
        for thread in threads:
            thread.join()
        means = [layer.running_mean.mean().item() for layer in layers]
        tap.ok(means[0] == 0 and abs(means[1] - 0.1) < 1e-6, "two groups of the same ranks", means)
    open_files = []
    for _ in range(5):
        half = dist.new_group([0, 1])
        if rank < 2:
            layer = convert_sync_batchnorm(torch.nn.BatchNorm1d(8), half)
            if len(open_files) == 1:
                kept = layer(x.clone().requires_grad_()).sum()
            else:
                layer(x)
            dist.barrier(half)
            dist.destroy_process_group(half)
        del half
        open_files.append(len(os.listdir("/proc/self/fd")))
        if rank < 2 and len(open_files) == 3:
            expect("... but for a backward pass", "nothing was raised", kept.backward)
    # Each has six, of which the other rank's end closes some a little later.
    grown = open_files[4] - open_files[2]
    tap.ok(grown < 6, "a group that is destroyed leaves no files", open_files)

    # Rank 1 dies in the first pass of another group, once it has told the others that it is there.
    two, other = model(), model(timeout=LIMIT)
    two(x)
    dist.barrier()

    def dying(*arguments):
        come(*arguments)
        os._exit(7)

    if rank == 1:
        DistributedTransport._come = dying
        other(x)
    began = time.monotonic()
    expect("a rank that has died", r"SBN_TRANSPORT_ERROR", two, x)
    tap.ok(time.monotonic() - began < 30, "... which is noticed at once")
    expect("... in a first pass", "(?s)before rank 1 connected.*SBN_TIMEOUT", other, x)
    os._exit(0)


def run_stopped(folder, ends, rank):
    """Rank 0 stops, in which PyTorch keeps its store; rank 1 continues it."""
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=False)
        os.write(ends[1], f"{store.port}".encode())
    else:
        store = dist.TCPStore("127.0.0.1", int(os.read(ends[0], 9)), 2, False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    layer, new, *several = (
        convert_sync_batchnorm(torch.nn.BatchNorm1d(8), dist.new_group(), timeout=timeout)
        for timeout in (LIMIT, LIMIT, *[20.0] * 4)
    )
    x, first = torch.randn(4, 8), torch.tensor([os.getpid()])
    layer(x)
    threads = [threading.Thread(target=made, args=(x,)) for made in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    dist.broadcast(first, 0)
    time.sleep(0.5 * rank)
    if rank == 0:
        if os.fork() == 0:
            os.closerange(0, 1024)  # which the test's end waits for
            time.sleep(60)
            os.kill(os.getppid(), signal.SIGCONT)  # whatever has become of rank 1
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    sys.stdout = open(f"{folder}/faults-{WORLD}", "w")
    began = time.monotonic()
    pattern = r"rank 1 waited 2 s in forward of layer .* for the other ranks \(SBN_TIMEOUT"
    try:
        tap.ok(all(made.num_batches_tracked for made in several), "threads meet at the same time")
        expect("the process of the store has stopped", pattern, layer, x)
        expect("... before a first pass", "PyTorch's store does not answer.*SBN_TIMEOUT", new, x)
        tap.ok(time.monotonic() - began < 15, "... no wait is longer", time.monotonic() - began)
    finally:
        os.kill(int(first), signal.SIGCONT)
    os._exit(0)


def run_left(rank):
    """Rank 0 leaves a pass to which rank 1 does not come, and ends as programs do."""
    launch.join(f"{folder}/left", 2, rank)
    layer = convert_sync_batchnorm(torch.nn.BatchNorm1d(8), timeout=20.0)
    x, first = torch.randn(4, 8), torch.tensor([os.getpid()])
    layer(x)
    dist.broadcast(first, 0)
    if rank == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            layer(x)
        except KeyboardInterrupt:
            return
    end = time.monotonic() + 20
    while os.path.exists(f"/proc/{first.item()}") and time.monotonic() < end:
        time.sleep(0.05)
    os._exit(rank == 0 or time.monotonic() > end)


folder = sys.argv[1]
statuses = launch.forked(2, run_stopped, folder, os.pipe())
tap.ok(statuses == [0, 0], "both end", statuses)
os.mkdir(f"{folder}/left")
statuses = launch.forked(2, run_left)
tap.ok(statuses == [0, 0], "a process that has left a pass ends at once", statuses)
statuses = launch.forked(WORLD, run_rank, folder)
tap.ok(statuses == [0, 7, 0], "all ranks end, rank 1 by dying", statuses)
for rank in range(WORLD + 1):
    for line in open(f"{folder}/faults-{rank}"):
        status, _, what = line.strip().partition(" - ")
        if line.startswith("#"):
            print(line, end="")
        else:
            tap.ok(status.startswith("ok"), f"rank {rank}: {what}")
tap.end()
