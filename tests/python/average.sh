#!/bin/sh
# Gradients averaged exactly under DistributedDataParallel: tests/python/average.py. Environment:
# srcdir, PYTORCH_PYTHON.

. "${srcdir:=.}/tests/python/common.sh"
with_pytorch average.py "$work"
