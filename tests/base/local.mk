# Statuses by name; fork, exec and signals.
check_PROGRAMS += tests/base/process tests/base/statuses
TESTS += tests/base/process tests/base/statuses
ASAN_TESTS += tests/base/statuses
VALGRIND_TESTS += tests/base/statuses
