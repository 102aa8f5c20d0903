# Tests: each is a program (no suffix) or a shell script (.sh) that prints TAP.
# make check runs them through automake's TAP driver.
#
# A C test links the insides statically, which also makes it a plain program that
# valgrind and Oclgrind can run (no libtool wrapper). Its folder's local.mk names it in
# check_PROGRAMS and TESTS; it links what tests/support/local.mk gives to all.
#
# Tests run beside each other when make check is given -jN. The TIMED_TESTS run one by one, at the end:
# they have deadlines and start more ranks than there are cores, or compare times. Beside them run the
# PATIENT_TESTS, at the lowest priority: they take long and have no deadlines.
#
# Long lists are sampled: CHECK=full takes all of them, as release-check does.
TIMED_TESTS =
PATIENT_TESTS =

# What runs under a tool: programs, and scripts that launch programs over MPI. What takes
# too long there is left out of its list. Under a tool SBN_TEST_UNDER is set to asan,
# valgrind or tsan (build-aux/checks.mk).
ASAN_TESTS =
VALGRIND_TESTS =
TSAN_TESTS =

# make starts tests in this order; those that take longest are the first.
TESTS += tests/pass/bits tests/tools/demo.sh
include $(srcdir)/tests/support/local.mk
include $(srcdir)/tests/base/local.mk
include $(srcdir)/tests/exact/local.mk
include $(srcdir)/tests/device/local.mk
include $(srcdir)/tests/faults/local.mk
include $(srcdir)/tests/collective/local.mk
include $(srcdir)/tests/pass/local.mk
include $(srcdir)/tests/model/local.mk
include $(srcdir)/tests/parallel/local.mk
include $(srcdir)/tests/mpi/local.mk
include $(srcdir)/tests/tools/local.mk
include $(srcdir)/tests/fuzz/local.mk
include $(srcdir)/tests/python/local.mk

# The order of the folders, and one dialect of C.
dist_check_SCRIPTS += tests/dialect.sh tests/storeys.sh
TESTS += tests/dialect.sh tests/storeys.sh

# Machines with a GPU have a script of their own; tests/tools/gpu_none.sh tries it without one.
EXTRA_DIST += tests/gpu.sh

# Problems: what syncbn check, tests/mpi/problems and the benchmark's readers are given.
EXTRA_DIST += \
	tests/inputs/data_hard \
	tests/inputs/fusions \
	tests/inputs/output \
	tests/inputs/settings \
	tests/inputs/shapes_basic \
	tests/inputs/shapes_hard \
	tests/inputs/shapes_large_images \
	tests/inputs/shapes_regressions \
	tests/inputs/shards \
	tests/inputs/views

# By order-only prerequisites of the tests' logs (GNU make).
logs_of = $(patsubst %.sh,%.log,$(filter %.sh,$(1))) $(addsuffix .log,$(filter-out %.sh,$(1)))
timed_logs = $(filter $(call logs_of,$(TIMED_TESTS)),$(TEST_LOGS))
patient_logs = $(filter $(call logs_of,$(PATIENT_TESTS)),$(TEST_LOGS))
other_logs := $(filter-out $(timed_logs) $(patient_logs),$(TEST_LOGS))
ended_before := $(other_logs)
$(foreach log,$(timed_logs),$(eval $(log): | $(ended_before))$(eval ended_before += $(log)))
$(foreach log,$(patient_logs),$(eval $(log): | $(other_logs)))
