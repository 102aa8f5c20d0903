# Statuses by name; the sort of keys from files; fork, exec and signals; what excuses a failure of a check of deadlines.
check_PROGRAMS += tests/base/sort tests/base/process tests/base/stalls tests/base/statuses
TESTS += tests/base/sort tests/base/process tests/base/stalls tests/base/statuses
ASAN_TESTS += tests/base/sort tests/base/statuses
