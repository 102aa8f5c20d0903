# The package for Python, from the source, over the library just built. What needs PyTorch is skipped
# without it: configure says so.
python_scripts = \
	tests/python/average.sh \
	tests/python/bits.sh \
	tests/python/faults.sh \
	tests/python/layout.sh \
	tests/python/module.sh \
	tests/python/replicas.sh
dist_check_SCRIPTS += $(python_scripts)
# What make check-pytorch tests besides.
newest_pytorch_scripts = \
	tests/python/backend.sh \
	tests/python/communicators.sh \
	tests/python/compiled.sh \
	tests/python/upstream.sh
dist_check_SCRIPTS += $(newest_pytorch_scripts)
EXTRA_DIST += \
	tests/python/average.py \
	tests/python/backend.cpp \
	tests/python/backend.py \
	tests/python/bench.py \
	tests/python/bits.py \
	tests/python/cases.py \
	tests/python/common.sh \
	tests/python/communicators.py \
	tests/python/compiled.py \
	tests/python/faults.py \
	tests/python/launch.py \
	tests/python/layout.py \
	tests/python/module.py \
	tests/python/rank.py \
	tests/python/replicas.py \
	tests/python/tap.py \
	tests/python/upstream.py
TESTS += $(python_scripts)
TIMED_TESTS += tests/python/average.sh tests/python/faults.sh
PATIENT_TESTS += tests/python/bits.sh
