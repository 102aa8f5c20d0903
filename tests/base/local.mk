# Statuses by name.
check_PROGRAMS += tests/base/statuses
TESTS += tests/base/statuses
ASAN_TESTS += tests/base/statuses
VALGRIND_TESTS += tests/base/statuses
