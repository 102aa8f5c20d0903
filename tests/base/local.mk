# Statuses by name; the sort of keys from files; fork, exec and signals.
check_PROGRAMS += tests/base/sort tests/base/process tests/base/statuses
TESTS += tests/base/sort tests/base/process tests/base/statuses
ASAN_TESTS += tests/base/sort tests/base/statuses
dist_check_SCRIPTS += tests/base/status_table.sh
TESTS += tests/base/status_table.sh
