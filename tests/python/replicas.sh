#!/bin/sh
# Several replicas in one process: tests/python/replicas.py. Environment: srcdir, PYTORCH_PYTHON.

. "${srcdir:=.}/tests/python/common.sh"
with_pytorch replicas.py
