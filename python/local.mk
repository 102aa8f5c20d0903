# The package for Python: pure, over the shared library, which it finds when it is imported.
# make install has it where configure found Python; pip install ./python does the same anywhere.
syncbn_python = \
	python/syncbn/__init__.py \
	python/syncbn/_c.py \
	python/syncbn/_device.py \
	python/syncbn/_group.py \
	python/syncbn/_opencl.py \
	python/syncbn/mpi.py
syncbn_torch_python = \
	python/syncbn/torch/__init__.py \
	python/syncbn/torch/_average.py \
	python/syncbn/torch/_backend.py \
	python/syncbn/torch/_data_parallel.py \
	python/syncbn/torch/_distributed.py \
	python/syncbn/torch/_groups.py \
	python/syncbn/torch/_module.py \
	python/syncbn/torch/_operators.py \
	python/syncbn/torch/_passes.py
EXTRA_DIST += $(syncbn_python) $(syncbn_torch_python) python/pyproject.toml python/syncbn/py.typed

if HAVE_PYTHON
syncbnpythondir = $(pythondir)/syncbn
syncbnpython_PYTHON = $(syncbn_python)
syncbnpython_DATA = python/syncbn/py.typed
syncbntorchdir = $(pythondir)/syncbn/torch
syncbntorch_PYTHON = $(syncbn_torch_python)
endif
