# The arithmetic on the host.
exact_tests = \
	tests/exact/accumulator \
	tests/exact/int192 \
	tests/exact/statistics
check_PROGRAMS += $(exact_tests)
TESTS += $(exact_tests)
ASAN_TESTS += $(exact_tests)
