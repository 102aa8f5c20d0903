# What data-parallel training needs around batch norm: means by integers, the sampler,
# exchanges between ranks, bad input.
parallel_tests = \
	tests/parallel/arguments \
	tests/parallel/average \
	tests/parallel/exchange \
	tests/parallel/refused \
	tests/parallel/sampler \
	tests/parallel/timeout
check_PROGRAMS += $(parallel_tests)
tests_parallel_refused_LDFLAGS = $(wraps)
TESTS += $(parallel_tests)
ASAN_TESTS += $(parallel_tests)
