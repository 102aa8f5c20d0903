# Statuses by name; fork, exec and signals.
asan_programs += tests/base/statuses
plain_programs += tests/base/process
test_scripts += tests/base/status_table.sh
