# Every failure tried: calls into OpenCL, the system and the allocator fail one after the other. Two
# of them fail in a sample in make check, and everywhere in make check-faults (build-aux/checks.mk).
faults_driver = tests/faults/driver.c tests/faults/driver.h tests/faults/scenario.h tests/faults/stand.c \
	tests/faults/stand.h tests/support/wraps_queries.c
faults_here = tests/faults/main.c tests/support/system_calls.c tests/support/system_calls.h \
	tests/support/wraps_files.c $(faults_driver)
faults_programs = tests/faults/faults tests/faults/faults_ranks
check_PROGRAMS += $(faults_programs)
tests_faults_faults_SOURCES = tests/faults/branches.c tests/faults/group.c tests/faults/layer.c tests/faults/lists.c \
	tests/faults/model.c tests/faults/parallel.c tests/faults/passes.c $(faults_here)
tests_faults_faults_ranks_SOURCES = tests/faults/ranks.c $(faults_here)
faults_wraps = $(wraps) $(query_wraps) $(system_wraps) $(file_wraps)
tests_faults_faults_LDFLAGS = $(faults_wraps)
tests_faults_faults_ranks_LDFLAGS = $(faults_wraps)
ASAN_TESTS += $(faults_programs)

# Calls into MPI, and allocations of the transport over it: on two ranks.
EXTRA_DIST += tests/faults/mpi.sh
faults_tests = $(faults_programs)
if HAVE_MPI
faults_mpi_programs = tests/faults/faults_mpi
check_PROGRAMS += $(faults_mpi_programs)
faults_tests += tests/faults/mpi.sh
TIMED_TESTS += tests/faults/mpi.sh
endif
tests_faults_faults_mpi_SOURCES = tests/faults/mpi.c tests/support/wraps_memory.c tests/support/wraps_mpi.c \
	$(faults_driver)
tests_faults_faults_mpi_CPPFLAGS = $(mpi_cppflags)
tests_faults_faults_mpi_LDFLAGS = $(wraps) $(query_wraps) $(memory_wraps) $(mpi_wraps)
tests_faults_faults_mpi_LDADD = $(on_mpi)

# Allocations of the command that reports in JSON, and of the library that it uses for that.
check_PROGRAMS += tests/faults/faults_json
faults_tests += tests/faults/faults_json
tests_faults_faults_json_SOURCES = tests/faults/json.c tests/support/wraps_memory.c $(syncbn_parts)
tests_faults_faults_json_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_faults_faults_json_LDFLAGS = $(memory_wraps)
tests_faults_faults_json_LDADD = libsyncbn_bench.la $(LDADD) $(JANSSON_LIBS)
