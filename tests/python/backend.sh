#!/bin/sh
# Tensors of an OpenCL backend of PyTorch, by a stand-in: tests/python/backend.py. Environment: srcdir,
# PYTORCH_PYTHON.

. "${srcdir:=.}/tests/python/common.sh"
with_newest_pytorch backend.py "$work"
