# Every failure tried: calls into OpenCL, the system and the allocator fail one after the other. The
# programs take a sample of them in make check, all in make check-faults (build-aux/checks.mk).
faults_driver = \
	tests/faults/driver.c \
	tests/faults/scenario.h \
	tests/faults/stand.c \
	tests/faults/stand.h \
	tests/support/system_calls.c \
	tests/support/system_calls.h \
	tests/support/wraps_files.c \
	tests/support/wraps_queries.c
faults_programs = tests/faults/faults tests/faults/faults_ranks
check_PROGRAMS += $(faults_programs)
tests_faults_faults_SOURCES = \
	tests/faults/branches.c \
	tests/faults/files.c \
	tests/faults/group.c \
	tests/faults/layer.c \
	tests/faults/lists.c \
	tests/faults/model.c \
	tests/faults/model.h \
	tests/faults/parallel.c \
	tests/faults/passes.c \
	$(faults_driver)
tests_faults_faults_ranks_SOURCES = tests/faults/ranks.c $(faults_driver)
faults_wraps = $(wraps) $(query_wraps) $(system_wraps) $(file_wraps)
tests_faults_faults_LDFLAGS = $(faults_wraps)
tests_faults_faults_ranks_LDFLAGS = $(faults_wraps)
TESTS += $(faults_programs)
TIMED_TESTS += tests/faults/faults_ranks
ASAN_TESTS += $(faults_programs)
