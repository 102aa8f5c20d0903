# How tests are run: make check, and one target for each tool that watches them.

TEST_EXTENSIONS = .sh .py
LOG_DRIVER = env AM_TAP_AWK='$(TAP_AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
PY_LOG_DRIVER = $(LOG_DRIVER)
PY_LOG_COMPILER = $(SHELL) $(srcdir)/tests/python/run.sh

needs_python = test '$(PYTHON)' != : || { \
	  echo 'make $@: needs Python; install python3 and run configure again' >&2; exit 1; }

# The same devices and the same state wherever it runs: rusticl shows its CPU device only when asked;
# compiled kernels and tuned plans are kept here and nowhere else, by all test programs together. The environment's
# OCL_ICD_VENDORS names the drivers; else most tests have PoCL's alone, because loading Mesa's costs each
# process a fifth of a second.
TEST_UNDER =
pocl_icd = $(wildcard /etc/OpenCL/vendors/pocl.icd)
TEST_ICD = $(or $(OCL_ICD_VENDORS),$(if $(filter $(ALL_DRIVERS_TESTS),$(@:.log=)),,$(pocl_icd)))
TEST_CACHE = $(abs_top_builddir)/kernel-cache
# tests/faults tries all single failures; a second one after so many of each scenario; 0: after all.
FAULT_POINTS = 6
# PoCL compiles a kernel in a fifth of the time when it does not optimise, and the bits are the same;
# llvmpipe, which nobody trains on, may optimise less, too. CHECK=full optimises all; a test that needs
# kernels as users run them clears POCL_EXTRA_BUILD_FLAGS itself.
# Threads of OpenMP, which oneDNN and PyTorch start, spin while they wait: a test has one.
KERNEL_FLAGS = $(if $(filter full,$(CHECK)),,-cl-opt-disable)
AM_TESTS_ENVIRONMENT = \
	LC_ALL=C; export LC_ALL; \
	RUSTICL_ENABLE=llvmpipe; export RUSTICL_ENABLE; \
	test -z '$(TEST_ICD)' || { OCL_ICD_VENDORS='$(TEST_ICD)'; export OCL_ICD_VENDORS; }; \
	POCL_CACHE_DIR='$(TEST_CACHE)'; export POCL_CACHE_DIR; \
	POCL_EXTRA_BUILD_FLAGS='$(KERNEL_FLAGS)'; export POCL_EXTRA_BUILD_FLAGS; \
	GALLIVM_PERF='$(if $(filter full,$(CHECK)),,nopt)'; export GALLIVM_PERF; \
	MESA_SHADER_CACHE_DIR='$(TEST_CACHE)'; export MESA_SHADER_CACHE_DIR; \
	XDG_CACHE_HOME='$(TEST_CACHE)'; export XDG_CACHE_HOME; \
	SBN_TEST_UNDER='$(TEST_UNDER)'; export SBN_TEST_UNDER; \
	NM='$(NM)'; export NM; CC='$(CC)'; export CC; \
	OPENCL_CFLAGS='$(OPENCL_CFLAGS)'; export OPENCL_CFLAGS; \
	OPENCL_LIBS='$(OPENCL_LIBS)'; export OPENCL_LIBS; \
	SBN_CFLAGS='$(SBN_CFLAGS)'; export SBN_CFLAGS; SBN_LDFLAGS='$(SBN_LDFLAGS)'; export SBN_LDFLAGS; \
	MPIEXEC='$(MPIEXEC)'; export MPIEXEC; MPI_KIND='$(MPI_KIND)'; export MPI_KIND; \
	PYTORCH_PYTHON='$(PYTORCH_PYTHON)'; export PYTORCH_PYTHON; \
	FAULT_POINTS='$(FAULT_POINTS)'; export FAULT_POINTS; \
	SYNCBN_TUNING=; export SYNCBN_TUNING; \
	OMP_NUM_THREADS=1; export OMP_NUM_THREADS; \
	unset POCL_DEVICES POCL_MAX_PTHREAD_COUNT; \
	$(MKDIR_P) '$(TEST_CACHE)';

clean-local:
	rm -rf '$(TEST_CACHE)' '$(TEST_CACHE)-valgrind' asan coverage cross deb fuzz intel kernel-texts mutants openmpi pytorch tsan
CLEANFILES += check-bare.log check-demo.log check-golden.log check-intel.log check-pytorch.log check-valgrind.log check-valgrind-kernels.log \
	check-oclgrind.log

# --- make installcheck, part of make distcheck --------------------------------------
# The README's minimal program, built as its reader would build it.
installcheck-local:
	@$(AM_TESTS_ENVIRONMENT) \
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)'"$${PKG_CONFIG_PATH:+:$$PKG_CONFIG_PATH}"; \
	export PKG_CONFIG_PATH; \
	set -x; \
	flags=`$(PKG_CONFIG) --cflags --libs syncbn` && \
	$(CC) $(CFLAGS) $(srcdir)/examples/minimal.c $$flags -o installcheck && \
	LD_LIBRARY_PATH='$(DESTDIR)$(libdir)' ./installcheck
	@test '$(MPI_KIND)' = none || { \
	$(AM_TESTS_ENVIRONMENT) \
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)'"$${PKG_CONFIG_PATH:+:$$PKG_CONFIG_PATH}"; \
	export PKG_CONFIG_PATH; \
	set -x; \
	flags=`$(PKG_CONFIG) --cflags --libs syncbn-mpi` && \
	$(CC) $(CFLAGS) $(srcdir)/examples/minimal_mpi.c $$flags -o installcheck-mpi && \
	LD_LIBRARY_PATH='$(DESTDIR)$(libdir)' ./installcheck-mpi; }
CLEANFILES += installcheck installcheck-mpi

# --- under a tool -------------------------------------------------------------------
# The suite's machinery again, on a list of programs and with a tool in front. Only PoCL's driver is
# loaded: Mesa's leave leaks in libraries they unload, which no suppression can name. A + lets make see
# that these are makes, too, which then run tests side by side, but for the timed ones (tests/local.mk).
check_under = $(MAKE) $(AM_MAKEFLAGS) check-TESTS TEST_ICD='$(pocl_icd)' TEST_SUITE_LOG=$(@:-here=).log

# $(call build_in,FOLDER,OPTIONS): configures FOLDER of this build directory as this one was, whenever this
# one was, with OPTIONS besides, and makes the target with -here behind its name there. Kernels, which no
# sanitizer of the host watches, are taken from this directory's cache.
build_in = test '$(srcdir)' != . || { \
	  echo 'make $@: needs a build directory apart from the source:' \
	       'make distclean; mkdir build; cd build; ../configure' >&2; exit 1; }; \
	$(MKDIR_P) $(1) && cd $(1) && { test config.status -nt ../config.status || \
	  eval "'$(abs_srcdir)/configure' $$(../config.status --config) --quiet $(2)" || { \
	  echo "make $@: $(1)/ cannot be configured, perhaps for want of a sanitizer's libraries:" \
	       "$(1)/config.log says more" >&2; exit 1; }; } && \
	$(MAKE) $(AM_MAKEFLAGS) $@-here TEST_CACHE='$(TEST_CACHE)'

# --- make check-valgrind ----------------------------------------------------------
# A kernel cache of its own: PoCL must compile for the CPU that valgrind shows. First valgrind runs
# without its memory checker, in which compiling takes a fifth of the time, what needs most of the
# kernels. Scripts that launch ranks put SBN_TEST_TOOL before each.
VALGRIND_TESTS = tests/base/statuses tests/collective/agreement tests/exact/accumulator tests/model/checkpoint \
	tests/model/checkpoint_files tests/model/safetensors $(filter tests/mpi/groups.sh,$(TESTS)) \
	tests/parallel/arguments tests/parallel/average tests/parallel/sampler tests/pass/passes \
	tests/tools/bench_timing tests/tools/problem
under_valgrind = $(VALGRIND) --quiet --error-exitcode=99 --leak-check=full \
  --show-leak-kinds=definite --errors-for-leak-kinds=definite \
  --suppressions=$(abs_srcdir)/tests/support/drivers.supp
check-valgrind: $(check_PROGRAMS)
	@test -n '$(VALGRIND)' || { \
	  echo 'make $@: valgrind is missing; install it and run configure again' >&2; exit 1; }
	+$(check_under) TESTS='tests/collective/agreement tests/parallel/arguments tests/pass/passes' \
	  TEST_SUITE_LOG=$@-kernels.log TEST_UNDER=valgrind TEST_CACHE='$(TEST_CACHE)-valgrind' \
	  KERNEL_FLAGS=-cl-opt-disable LOG_COMPILER='$(VALGRIND) --quiet --tool=none'
	+SBN_TEST_TOOL='$(under_valgrind)' \
	$(check_under) TESTS='$(VALGRIND_TESTS)' TEST_UNDER=valgrind TEST_CACHE='$(TEST_CACHE)-valgrind' \
	  KERNEL_FLAGS=-cl-opt-disable LOG_COMPILER='$(under_valgrind)'

# --- make check-oclgrind ----------------------------------------------------------
EXTRA_DIST += tests/device/races.sh
check-oclgrind: tools/syncbn/syncbn
	@test -n '$(OCLGRIND)' || { \
	  echo 'make $@: oclgrind is missing; install it and run configure again' >&2; exit 1; }
	OCLGRIND='$(OCLGRIND)' \
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS=tests/device/races.sh TEST_SUITE_LOG=$@.log

# --- make check-asan, check-tsan -----------------------------------------------------
# The programs built again under AddressSanitizer and UBSan in asan/; under ThreadSanitizer, for what
# threads share, in tsan/. With ASan fewer failures are tried than in make check, at other places.
TSAN_TESTS = tests/collective/hub tests/device/shared_programs \
	tests/parallel/exchange tests/parallel/refused tests/pass/frozen tests/pass/soak \
	tests/pass/soak_sixteen
asan_build = --disable-shared --disable-hardening \
	'CFLAGS=-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined'
tsan_build = --disable-shared --disable-hardening 'CFLAGS=-g -O1 -fno-omit-frame-pointer -fsanitize=thread'
check-asan:
	+@$(call build_in,asan,$(asan_build))

check-asan-here: $(filter-out %.sh,$(ASAN_TESTS)) $(mpi_script_programs) tools/syncbn/syncbn
	+LSAN_OPTIONS='suppressions=$(abs_srcdir)/tests/support/drivers.lsan:print_suppressions=0' \
	UBSAN_OPTIONS=print_stacktrace=1 \
	$(check_under) TESTS='$(ASAN_TESTS)' TEST_UNDER=asan FAULT_POINTS=5

check-tsan:
	+@$(call build_in,tsan,$(tsan_build))

check-tsan-here: $(TSAN_TESTS)
	+TSAN_OPTIONS='suppressions=$(abs_srcdir)/tests/support/drivers.tsan:halt_on_error=0:exitcode=66:ignore_noninstrumented_modules=1' \
	$(check_under) TESTS='$(TSAN_TESTS)' TEST_UNDER=tsan

# --- make check-fuzz ----------------------------------------------------------------
# libFuzzer, with the sanitizers, on what reads what others wrote, and on sequences of calls
# (tests/fuzz): FUZZ_SECONDS for each. Built in fuzz/, where what it finds and learns stays. The
# corpora of checkpoints are the tests' files; ones in fuzz/learnt are kept from run to run.
FUZZ_SECONDS = 10
fuzz_seeds = checkpoint=tests/model/data header=tests/model/data \
	options=tests/fuzz/corpus/options cache=tests/fuzz/corpus/cache calls=tests/fuzz/corpus/calls \
	tuning=tests/fuzz/corpus/tuning
fuzz_build = --disable-shared 'CC=$(CLANG)' \
	'CFLAGS=-g -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined'
check-fuzz:
	@test -n '$(CLANG)' || { \
	  echo 'make $@: clang is missing; install it and run configure again' >&2; exit 1; }
	+@$(call build_in,fuzz,$(fuzz_build))

# Standard output is the options' help; a fuzzer speaks on the other one.
check-fuzz-here: $(fuzz_programs)
	@$(AM_TESTS_ENVIRONMENT) \
	test -z '$(pocl_icd)' || { OCL_ICD_VENDORS='$(pocl_icd)'; export OCL_ICD_VENDORS; }; \
	test ! -w /dev/shm || { TMPDIR=/dev/shm; export TMPDIR; }; \
	LSAN_OPTIONS='suppressions=$(abs_srcdir)/tests/support/drivers.lsan:print_suppressions=0'; \
	srcdir='$(srcdir)' SBN_TEST_UNDER=asan; export LSAN_OPTIONS SBN_TEST_UNDER srcdir; \
	for seeds in $(fuzz_seeds); do \
	  name=$${seeds%%=*} from='$(srcdir)'/$${seeds#*=}; dict='$(srcdir)'/tests/fuzz/$$name.dict; \
	  test -f "$$dict" && dict=-dict=$$dict || dict=-verbosity=1; \
	  $(MKDIR_P) learnt/$$name && \
	  ./tests/fuzz/$$name -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -rss_limit_mb=2048 \
	    -timeout=60 "$$dict" -close_fd_mask=1 -artifact_prefix=$$name- learnt/$$name "$$from" \
	    2> $$name.log || { cat $$name.log; echo "make $@: $$name has found something" >&2; exit 1; }; \
	  sed -n "s/^#\\([0-9]*\\)\tDONE .*/$$name: \\1 executions/p" $$name.log; \
	done

# --- make check-mutants ---------------------------------------------------------------
# Faults planted one by one, in a copy of the source in mutants/ of this build directory, and which tests
# see them: MUTANTS of all that build-aux/mutants.py can make, drawn by MUTANTS_SEED, or those of the file
# MUTANTS_LIST. A second run goes on where the first has ended; rm -r mutants begins anew.
MUTANTS = 20
MUTANTS_SEED = 1
MUTANTS_LIST =
MUTANTS_JOBS = 2
EXTRA_DIST += build-aux/mutants.py tests/mutants.equivalent
check-mutants:
	@$(needs_python)
	@test -d mutants/source || { $(MKDIR_P) mutants && $(MAKE) $(AM_MAKEFLAGS) distdir distdir=mutants/source; }
	@$(MKDIR_P) mutants/build && cd mutants/build && { test -f config.status || { \
	  eval "CONFIG_SHELL='$(SHELL)' ../source/configure $$(../../config.status --config) --quiet \
	    --disable-static --disable-werror CFLAGS='-O1 -g0'"; }; }
	cd mutants/build && $(MAKE) $(AM_MAKEFLAGS) check-mutants-here
	$(PYTHON) $(srcdir)/build-aux/mutants.py mutants/source mutants/build mutants/results '$(MUTANTS)' \
	  '$(MUTANTS_SEED)' '$(MUTANTS_LIST)' '$(MUTANTS_JOBS)' '$(TEST_CACHE)' $(TESTS)

# What scripts of tests over MPI run.
check-mutants-here: tools/syncbn/syncbn $(mpi_script_programs) $(mpi_examples) $(faults_mpi_programs)

# --- make check-openmpi ----------------------------------------------------------------
# What calls MPI, and the library below it, built again with Open MPI, in openmpi/ of this build
# directory, and the tests over MPI run with it. Needs libopenmpi-dev and openmpi-bin; they do not disturb
# MPICH's.
check-openmpi:
	+@$(call build_in,openmpi,--with-mpi=openmpi --disable-static)

check-openmpi-here: $(mpi_programs) $(mpi_examples)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(mpi_scripts)' TEST_SUITE_LOG=check-openmpi.log

# --- make check-bare --------------------------------------------------------------------
# What README.md and INSTALL.md tell a stranger to do, on systems of Debian 12 and 13 that have nothing else;
# with CHECK=full all of it on both.
EXTRA_DIST += tests/tools/bare_debian.sh
check-bare: dist
	ARCHIVE='$(abs_builddir)/$(distdir).tar.gz' $(MAKE) $(AM_MAKEFLAGS) check-TESTS \
	  TESTS=tests/tools/bare_debian.sh TEST_SUITE_LOG=$@.log

# --- make check-demo --------------------------------------------------------------------
# The accuracies that README.md says the demo ends with: two trainings, some two minutes.
EXTRA_DIST += tests/tools/demo_figures.sh
check-demo: $(noinst_PROGRAMS)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS=tests/tools/demo_figures.sh TEST_SUITE_LOG=$@.log

# --- make check-golden ------------------------------------------------------------------
# All recorded bits with the optimised kernels of the CPU form, of which make check takes a part.
check-golden: tools/syncbn/syncbn
	OPTIMISED=cpu \
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS=tests/pass/golden.sh TEST_SUITE_LOG=$@.log

# --- make check-intel -------------------------------------------------------------------
# The recorded bits, the lists and the benchmark on Intel's OpenCL runtime for CPUs, and on groups of it
# and PoCL. The runtime is installed into this build directory. Its optimised kernels have the part of the
# recorded bits that PoCL's have in make check; all of them: CHECK=full.
EXTRA_DIST += build-aux/intel-runtime.sh tests/tools/intel.sh
check-intel: tools/syncbn/syncbn
	$(SHELL) $(srcdir)/build-aux/intel-runtime.sh intel
	CI= UNOPTIMISED=-cl-opt-disable \
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TEST_ICD='$(abs_builddir)/intel/vendors' \
	  TESTS='tests/tools/intel.sh tests/pass/golden.sh tests/tools/check.sh' TEST_SUITE_LOG=$@.log

# --- make check-pytorch -----------------------------------------------------------------
# The tests of the package for Python with the newest PyTorch, PyTorch's own tests of SyncBatchNorm,
# torch.compile, and tensors of an OpenCL backend. PyTorch is installed into this build directory, some
# gigabytes; PYTORCH=python3 takes the one of another Python instead, which needs expecttest, too.
PYTORCH =
EXTRA_DIST += build-aux/pytorch.sh
check-pytorch: libsyncbn.la
	@test -n '$(PYTORCH)' || { $(needs_python); $(SHELL) $(srcdir)/build-aux/pytorch.sh '$(PYTHON)' pytorch; }
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS PYTORCH_PYTHON='$(or $(PYTORCH),$(abs_builddir)/pytorch/bin/python)' \
	  TESTS='$(python_tests) $(newest_pytorch_tests)' TEST_SUITE_LOG=$@.log

# --- make soak ------------------------------------------------------------------------
# 20,000 rounds of random passes over 4 ranks: memory flat, no handle lost.
SOAK_ROUNDS = 20000
soak: $(check_PROGRAMS)
	@test '$(MPI_KIND)' != none || { echo 'make $@: configured without MPI' >&2; exit 1; }
	$(AM_TESTS_ENVIRONMENT) srcdir='$(srcdir)'; export srcdir; \
	. $(srcdir)/tools/bench/scaling/launch.sh; mpi_limit=1200; mpi 4 tests/mpi/soak $(SOAK_ROUNDS)

# --- make check-faults ------------------------------------------------------------------
# Every failure tried, and every one with a second (tests/faults): minutes.
check-faults: $(faults_programs) $(faults_mpi_programs)
	+$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(faults_tests)' TEST_SUITE_LOG=$@.log \
	  FAULT_POINTS=0
	@sed -n 's/^# \([0-9].* points, and .*\)/\1/p; s/^ok [0-9]* - \(.* points, .* of two .*\)/\1/p' \
	  $(addsuffix .log,$(faults_tests:.sh=))
CLEANFILES += check-faults.log

# --- make coverage ----------------------------------------------------------------------
# Which lines and branches of the library the tests execute (gcov), and which conditions of kernels they make true
# and false, in coverage/ of this build directory. What they do not execute has a reason in tests/coverage.reasons.
GCOV = gcov
EXTRA_DIST += build-aux/coverage.sh build-aux/kernel_coverage.py tests/coverage.reasons
coverage_build = --disable-shared 'CFLAGS=-g -O0 --coverage -fprofile-update=atomic'
coverage:
	@$(needs_python)
	+@$(call build_in,coverage,$(coverage_build))

# Of the command: what it asks the library. A benchmark's result says nothing here, and gcov has allocations
# of its own, which tests/faults/faults_json would fail.
coverage_tests = $(filter-out %.sh %.py tests/tools/% tests/faults/faults_json tests/pass/memory \
	tests/pass/soak_sixteen,$(TESTS)) \
	$(filter tests/mpi/faults.sh tests/mpi/groups.sh tests/mpi/problems.sh tests/faults/mpi.sh \
	tests/model/inspect.sh tests/model/reference.sh tests/pass/golden.sh tests/pass/same.sh \
	tests/tools/check.sh tests/tools/command.sh,$(TESTS))
kernel_coverage = $(PYTHON) $(srcdir)/build-aux/kernel_coverage.py
run_coverage = LD_PRELOAD='$(abs_builddir)/kernels/marks.so' $(MAKE) $(AM_MAKEFLAGS) TESTS='$(coverage_tests)' \
	TEST_SUITE_LOG=coverage.log TEST_UNDER=coverage
# A test of deadlines may fail on a busy machine: what has failed runs once more, one by one.
coverage-here:
	$(kernel_coverage) mark '$(srcdir)/cl' kernels && $(CC) -shared -fPIC -o kernels/marks.so kernels/marks.c
	+$(MAKE) $(AM_MAKEFLAGS) KERNELS=kernels $(check_PROGRAMS) $(bin_PROGRAMS)
	find . -name '*.gcda' -exec rm -f {} +
	+@$(run_coverage) check-TESTS || $(run_coverage) -j1 recheck; status=$$?; \
	$(kernel_coverage) report '$(srcdir)/cl' kernels || status=1; \
	$(SHELL) $(srcdir)/build-aux/coverage.sh '$(GCOV)' '$(srcdir)' && exit $$status

.PHONY: check-asan check-asan-here check-bare check-demo check-faults check-fuzz check-fuzz-here check-golden \
	check-intel check-mutants check-mutants-here check-oclgrind check-openmpi check-openmpi-here check-pytorch \
	check-tsan check-tsan-here check-valgrind coverage coverage-here soak
