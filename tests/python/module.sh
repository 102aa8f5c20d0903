#!/bin/sh
# SyncBatchNorm in one process: tests/python/module.py. Environment: srcdir, PYTORCH_PYTHON, CHECK.

. "${srcdir:=.}/tests/python/common.sh"
with_pytorch module.py
