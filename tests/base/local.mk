# Statuses by name; fork, exec and signals; what excuses a failure of a check of deadlines.
check_PROGRAMS += tests/base/process tests/base/stalls tests/base/statuses
TESTS += tests/base/process tests/base/stalls tests/base/statuses
ASAN_TESTS += tests/base/statuses
VALGRIND_TESTS += tests/base/statuses
