# What data-parallel training needs around batch norm: means by integers, the sampler, exchanges, bad input.
asan_programs += tests/parallel/arguments tests/parallel/average tests/parallel/exchange tests/parallel/refused \
	tests/parallel/sampler tests/parallel/timeout
tests_parallel_exchange_LDFLAGS = $(program_wraps)
tests_parallel_refused_LDFLAGS = $(wraps)
tests_parallel_timeout_LDFLAGS = $(wraps)
