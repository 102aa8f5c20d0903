#!/bin/sh
# pytorch.sh PYTHON FOLDER: installs the newest PyTorch, what its own tests need and mpi4py into a
# virtual environment in FOLDER, 5 GB. Nothing outside of it changes. PIP_OPTIONS: more options of pip install.
# PyPI's torch for Linux is not imported without CUDA's libraries, so that --no-deps is of no use.
set -eu
[ -e "$2/complete" ] || {
    "$1" -m venv "$2"
    # shellcheck disable=SC2086
    "$2/bin/pip" install --quiet --disable-pip-version-check ${PIP_OPTIONS-} torch numpy expecttest mpi4py
    : > "$2/complete"
}
