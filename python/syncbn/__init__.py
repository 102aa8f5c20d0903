"""Synchronised batch normalisation on CPUs and OpenCL devices, over libsyncbn.

`syncbn.torch` has the layer for PyTorch, `syncbn.mpi` groups over the ranks of an MPI job.
"""

from syncbn._c import SyncBatchNormError, version

__all__ = ["SyncBatchNormError", "__version__"]
__version__ = version()
