#!/bin/sh
# torch.compile and opcheck: tests/python/compiled.py. Environment: srcdir,
# PYTORCH_PYTHON.

. "${srcdir:=.}/tests/python/common.sh"
with_newest_pytorch compiled.py "$work"
