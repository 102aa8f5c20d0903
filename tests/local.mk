# Tests: each is a program (no suffix) or a shell script (.sh) that prints TAP.
# make check runs them through automake's TAP driver.
#
# A C test links the insides statically, which also makes it a plain program that
# valgrind and Oclgrind can run (no libtool wrapper):
#
#   check_PROGRAMS += tests/NAME
#   tests_NAME_LDADD = libsyncbn_core.la
#   TESTS += tests/NAME
#
# Programs only; what takes too long under a tool is left out of its list. Under a
# tool SBN_TEST_UNDER is set to asan, valgrind or oclgrind (build-aux/checks.mk).
ASAN_TESTS =
VALGRIND_TESTS =
OCLGRIND_TESTS =

dist_check_SCRIPTS += tests/exports.sh
TESTS += tests/exports.sh

EXTRA_DIST += tests/drivers.supp tests/drivers.lsan

# The checker itself: its problems' lines, and that its tolerances refuse faults.
check_PROGRAMS += tests/problem tests/tolerance
tests_problem_LDADD = libsyncbn_check.la libsyncbn_core.la
tests_tolerance_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/problem tests/tolerance
