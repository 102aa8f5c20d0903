# The package for Python, from the source, over the library just built. Without PyTorch what needs it is skipped.
python_tests = tests/python/average.py tests/python/bits.py tests/python/faults.py tests/python/layout.py \
	tests/python/module.py tests/python/replicas.py
# What make check-pytorch tests besides.
newest_pytorch_tests = tests/python/backend.py tests/python/communicators.py tests/python/compiled.py \
	tests/python/upstream.py
EXTRA_DIST += $(python_tests) $(newest_pytorch_tests) tests/python/backend.cpp tests/python/cases.py \
	tests/python/launch.py tests/python/run.sh tests/python/tap.py
TESTS += $(python_tests)
TIMED_TESTS += tests/python/average.py tests/python/faults.py
