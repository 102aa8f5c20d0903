#!/bin/sh
# Ranks that differ, skip, come late or die: tests/python/faults.py. Environment: srcdir,
# PYTORCH_PYTHON.

. "${srcdir:=.}/tests/python/common.sh"
with_pytorch faults.py "$work"
