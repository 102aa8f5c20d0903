"""PyTorch's own tests of SyncBatchNorm, of the PyTorch that is installed, with this package's layer.

With 2 and with 4 processes. The tests are written for GPUs: cuda() does nothing here, and
DistributedDataParallel gets no devices.
"""

import os
import unittest

os.environ.setdefault("WORLD_SIZE", "2")
os.environ["BACKEND"] = "gloo"

import torch
import torch.nn as nn

import tap
from syncbn.torch import SyncBatchNorm

TESTS = [
    "test_DistributedDataParallel_SyncBatchNorm",
    "test_DistributedDataParallel_SyncBatchNorm_2D_Input",
    "test_DistributedDataParallel_SyncBatchNorm_Channels_Last",
    "test_DistributedDataParallel_SyncBatchNorm_Diff_Input_Sizes_Running_Value",
    "test_DistributedDataParallel_SyncBatchNorm_Diff_Input_Sizes_gradient",
    "test_DistributedDataParallel_SyncBatchNorm_No_Affine",
    "test_DistributedDataParallel_SyncBatchNorm_Single_Input_Per_Process",
    "test_DistributedDataParallel_SyncBatchNorm_half",
    "test_ddp_inference",
    "test_ddp_uneven_inputs_stop_iteration_sync_bn",
    "test_sync_bn_logged",
]


class CpuDistributedDataParallel(nn.parallel.DistributedDataParallel):
    def __init__(self, module, device_ids=None, output_device=None, **settings):
        super().__init__(module, **settings)


random = torch.randn


def randn(*sizes, device=None, **settings):
    return random(*sizes, **settings)


def stay(tensor, *_arguments, **_keywords):
    return tensor


torch.Tensor.cuda = nn.Module.cuda = stay
torch.randn = randn
torch.cuda.set_device = lambda device: None
torch.cuda.device_count = lambda: 8
torch.cuda.current_device = lambda: 0
torch.cuda.synchronize = lambda device=None: None
if hasattr(torch, "accelerator"):
    torch.accelerator.is_available = lambda *_, **__: True
    torch.accelerator.device_count = lambda: 8
nn.SyncBatchNorm = SyncBatchNorm
nn.parallel.DistributedDataParallel = CpuDistributedDataParallel

from torch.testing._internal.distributed import distributed_test as upstream


class Tests(upstream.TestDistBackend, upstream.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._spawn_processes()


if __name__ == "__main__":
    for processes in "2", "4":
        os.environ["WORLD_SIZE"] = processes
        for name in TESTS:
            result = unittest.TestResult()
            Tests(name).run(result)
            problems = [text for _test, text in result.failures + result.errors + result.skipped]
            tap.ok(not problems, f"{processes} processes, {name}", *problems)
    tap.end()
