# Statuses by name; fork, exec and signals.
check_PROGRAMS += tests/base/process tests/base/statuses
TESTS += tests/base/process tests/base/statuses
ASAN_TESTS += tests/base/statuses
dist_check_SCRIPTS += tests/base/status_table.sh
TESTS += tests/base/status_table.sh
