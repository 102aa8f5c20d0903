"""SyncBatchNorm of one process in turns with nn.BatchNorm2d: forward and backward.

    SYNCBN_LIBRARY=build/.libs/libsyncbn.so.0 PYTHONPATH=python python3 tools/bench/pytorch.py [ROUNDS]

Prints the least time of each over the rounds, their ratio, and the load of the machine.
"""

import os
import sys
import time

import torch

from syncbn.torch import SyncBatchNorm

SHAPES = [(32, 64, 56, 56), (32, 256, 56, 56), (32, 1024, 14, 14), (2, 512, 28, 28), (4, 64, 8, 8)]
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
for dtype in torch.float32, torch.bfloat16:
    for layout in torch.contiguous_format, torch.channels_last:
        for shape in SHAPES:
            x = torch.randn(shape).to(dtype).contiguous(memory_format=layout).requires_grad_()
            dy = torch.randn_like(x)
            layers = SyncBatchNorm(shape[1]), torch.nn.BatchNorm2d(shape[1])
            repeats = max(1, min(200, 2_000_000 // x.numel()))
            least = [float("inf")] * 2
            for number in range(rounds + 1):
                for place, layer in enumerate(layers):
                    for _ in range(repeats):
                        start = time.perf_counter()
                        layer(x).backward(dy)
                        seconds = time.perf_counter() - start
                        x.grad = None
                        if number:  # the first round compiles
                            least[place] = min(least[place], seconds)
            ours, theirs = least
            print(
                f"{str(dtype)[6:]:9} {'nhwc' if layout is torch.channels_last else 'nchw'} "
                f"{','.join(map(str, shape)):14} ours {1e6 * ours:8.0f} us, torch "
                f"{1e6 * theirs:8.0f} us, ratio {ours / theirs:.2f}, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
