"""Synchronised batch normalisation for PyTorch: the same bits for every number of processes.

    from syncbn.torch import SyncBatchNorm
    model = SyncBatchNorm.convert_sync_batchnorm(model)
    model = torch.nn.parallel.DistributedDataParallel(model)

doc/python.md is the guide.
"""

from syncbn._c import SyncBatchNormError
from syncbn.torch._average import average_exactly
from syncbn.torch._backend import register_opencl_backend
from syncbn.torch._data_parallel import DataParallel
from syncbn.torch._module import (
    SyncBatchNorm,
    convert_sync_batchnorm,
    revert_sync_batchnorm,
)

__all__ = [
    "DataParallel",
    "SyncBatchNorm",
    "SyncBatchNormError",
    "average_exactly",
    "convert_sync_batchnorm",
    "register_opencl_backend",
    "revert_sync_batchnorm",
]
