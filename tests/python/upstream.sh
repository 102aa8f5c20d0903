#!/bin/sh
# PyTorch's own tests of SyncBatchNorm: tests/python/upstream.py. Environment: srcdir,
# PYTORCH_PYTHON.

. "${srcdir:=.}/tests/python/common.sh"
with_newest_pytorch upstream.py
