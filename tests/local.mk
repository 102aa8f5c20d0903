# Tests: each is a program (no suffix), a shell script (.sh) or, of the Python package, a program in Python (.py) that
# prints TAP. make check runs them through automake's TAP driver.
#
# A C test links the insides statically, which also makes it a plain program that valgrind and Oclgrind can run (no
# libtool wrapper); it links what tests/support/local.mk gives to all. Its folder's local.mk names it in
# asan_programs, which make check-asan runs too, or in plain_programs, and a script in test_scripts.
#
# Lists that a test may be in; CONTRIBUTING.md says what each is for. Patient ones run in this order, the longest first.
TIMED_TESTS =
PATIENT_TESTS = tests/tools/gpu_none.sh tests/mpi/problems.sh tests/tools/dist.sh tests/tools/tune.sh \
	tests/tools/bench_wrong tests/tools/configure.sh tests/mpi/demo.sh tests/tools/check.sh tests/python/bits.py
ALL_DRIVERS_TESTS = tests/device/programs tests/pass/golden tests/pass/storage tests/pass/same tests/tools/check \
	tests/tools/demo tests/tools/devices tests/tools/gpu_none tests/tools/tuner

asan_programs =
plain_programs =
test_scripts = tests/storeys.sh
ASAN_TESTS = $(asan_programs)
check_PROGRAMS += $(asan_programs) $(plain_programs)
dist_check_SCRIPTS += $(test_scripts)

# make starts tests in this order; those that take longest are the first.
TESTS += tests/pass/same.sh tests/tools/demo.sh $(faults_tests) $(plain_programs) $(test_scripts) $(asan_programs)
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

# Machines with a GPU have a script of their own; tests/tools/gpu_none.sh tries it without one.
EXTRA_DIST += tests/gpu.sh

# Problems: what syncbn check, tests/mpi/problems and the benchmark's readers are given.
EXTRA_DIST += tests/inputs

# The order of timed and patient tests, by order-only prerequisites of their logs (GNU make). Of patient tests as many
# run at once as there are processors: make comes back to a timed one that has to wait only after it has started all
# that need not.
logs_of = $(addsuffix .log,$(patsubst %.sh,%,$(patsubst %.py,%,$(1))))
timed_logs = $(filter $(call logs_of,$(TIMED_TESTS)),$(TEST_LOGS))
patient_logs = $(filter $(TEST_LOGS),$(call logs_of,$(PATIENT_TESTS)))
other_logs := $(filter-out $(timed_logs) $(patient_logs),$(TEST_LOGS))
ended_before := $(other_logs)
$(foreach log,$(timed_logs),$(eval $(log): | $(ended_before))$(eval ended_before += $(log)))
places := $(shell seq `getconf _NPROCESSORS_ONLN`)
$(foreach log,$(patient_logs),\
	$(eval $(log): | $(other_logs) $(filter %.log,$(firstword $(places))))\
	$(eval places := $(wordlist 2,$(words $(places)),$(places)) $(log)))
