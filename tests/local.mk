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
tests_problem_SOURCES = tests/problem.c tests/tap.c tests/tap.h
tests_problem_LDADD = libsyncbn_check.la libsyncbn_core.la
tests_tolerance_SOURCES = tests/tolerance.c tests/tap.c tests/tap.h
tests_tolerance_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/problem tests/tolerance
ASAN_TESTS += tests/problem tests/tolerance
VALGRIND_TESTS += tests/problem

# Problems, by the command on every usable device.
dist_check_SCRIPTS += tests/check.sh
TESTS += tests/check.sh
EXTRA_DIST += \
	tests/inputs/data_hard \
	tests/inputs/settings \
	tests/inputs/shapes_basic \
	tests/inputs/shapes_hard \
	tests/inputs/shapes_large_images \
	tests/inputs/shapes_regressions \
	tests/inputs/shares

# The bits of version 1 of the order of summation.
dist_check_SCRIPTS += tests/golden.sh
TESTS += tests/golden.sh
EXTRA_DIST += tests/golden

# Machines with a GPU have a script of their own; here it is tried without one.
EXTRA_DIST += tests/gpu.sh
dist_check_SCRIPTS += tests/gpu_none.sh
TESTS += tests/gpu_none.sh

# The arithmetic on the host.
check_PROGRAMS += tests/narrow tests/statistics tests/sum tests/words
tests_narrow_SOURCES = tests/narrow.c tests/tap.c tests/tap.h
tests_narrow_LDADD = libsyncbn_core.la
tests_words_SOURCES = tests/words.c tests/tap.c tests/tap.h
tests_words_LDADD = libsyncbn_core.la
tests_sum_SOURCES = tests/sum.c tests/tap.c tests/tap.h
tests_sum_LDADD = libsyncbn_core.la
tests_statistics_SOURCES = tests/statistics.c tests/tap.c tests/tap.h
tests_statistics_LDADD = libsyncbn_core.la
TESTS += tests/narrow tests/statistics tests/sum tests/words
ASAN_TESTS += tests/narrow tests/statistics tests/sum tests/words
VALGRIND_TESTS += tests/statistics tests/sum tests/words

# The same bits in every configuration; compilers' first builds make it long.
check_PROGRAMS += tests/bits
tests_bits_SOURCES = \
	tests/bits.c \
	tests/bits.h \
	tests/bits_list.c \
	tests/bits_worker.c \
	tests/tap.c \
	tests/tap.h \
	tests/trial.c \
	tests/trial.h
tests_bits_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/bits

# How the library behaves: on the first PoCL device, against sentences and by hand.
check_LIBRARIES = tests/libfixture.a
tests_libfixture_a_SOURCES = tests/fixture.c tests/fixture.h tests/tap.c tests/tap.h
on_fixture = tests/libfixture.a libsyncbn_core.la $(OPENCL_LIBS)

# Bad input.
arguments = tests/arguments tests/arguments_layer tests/arguments_pass tests/arguments_shares
check_PROGRAMS += $(arguments)
tests_arguments_LDADD = $(on_fixture)
tests_arguments_layer_LDADD = $(on_fixture)
tests_arguments_pass_SOURCES = tests/arguments_pass.c tests/refused.c tests/refused.h
tests_arguments_pass_LDADD = $(on_fixture)
tests_arguments_shares_SOURCES = tests/arguments_shares.c tests/refused.c tests/refused.h
tests_arguments_shares_LDADD = $(on_fixture)
TESTS += $(arguments)
ASAN_TESTS += $(arguments)

# Calls into OpenCL that are counted, fail or lie: tests/wraps.c stands between.
wraps_sources = tests/wraps.c tests/wraps.h
wrap = -Wl,--wrap=
wraps = \
	$(wrap)clBuildProgram $(wrap)clCreateBuffer $(wrap)clCreateCommandQueue \
	$(wrap)clCreateKernel $(wrap)clEnqueueMapBuffer \
	$(wrap)clCreateProgramWithBinary $(wrap)clCreateProgramWithSource \
	$(wrap)clEnqueueMarkerWithWaitList \
	$(wrap)clEnqueueNDRangeKernel $(wrap)clEnqueueReadBuffer $(wrap)clEnqueueWriteBuffer \
	$(wrap)clEnqueueWriteBufferRect \
	$(wrap)clFlush $(wrap)clGetDeviceInfo $(wrap)clGetEventInfo $(wrap)clSetKernelArg \
	$(wrap)sbn_allocate

# Devices that cannot run the kernels; every call failing once.
check_PROGRAMS += tests/embedded tests/faults
tests_embedded_SOURCES = tests/embedded.c $(wraps_sources)
tests_embedded_LDFLAGS = $(wraps)
tests_embedded_LDADD = $(on_fixture)
tests_faults_SOURCES = tests/faults.c $(wraps_sources)
tests_faults_LDFLAGS = $(wraps)
tests_faults_LDADD = $(on_fixture)
TESTS += tests/embedded tests/faults
ASAN_TESTS += tests/embedded tests/faults

# Passes made a few channels at a time.
check_PROGRAMS += tests/pieces
tests_pieces_SOURCES = tests/pieces.c $(wraps_sources)
tests_pieces_LDFLAGS = $(wraps)
tests_pieces_LDADD = $(on_fixture)
TESTS += tests/pieces
ASAN_TESTS += tests/pieces

# Compiled programs on disk.
check_PROGRAMS += tests/cache tests/programs
tests_cache_SOURCES = tests/cache.c tests/tap.c tests/tap.h
tests_cache_LDADD = libsyncbn_core.la
tests_programs_SOURCES = tests/programs.c $(wraps_sources)
tests_programs_LDFLAGS = $(wraps)
tests_programs_LDADD = $(on_fixture)
TESTS += tests/cache tests/programs
ASAN_TESTS += tests/cache

# What must change those bits, and how far denormals matter to them.
check_PROGRAMS += tests/bits_controls
tests_bits_controls_SOURCES = \
	tests/bits_controls.c \
	tests/tap.c \
	tests/tap.h \
	tests/trial.c \
	tests/trial.h
tests_bits_controls_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/bits_controls

# Whole numbers in, whole numbers out; and gradients against differences of the forward pass.
check_PROGRAMS += tests/exact tests/gradient
tests_exact_SOURCES = tests/exact.c tests/tap.c tests/tap.h tests/trial.c tests/trial.h
tests_exact_LDADD = libsyncbn_check.la libsyncbn_core.la
tests_gradient_SOURCES = tests/gradient.c tests/tap.c tests/tap.h tests/trial.c tests/trial.h
tests_gradient_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/exact tests/gradient
ASAN_TESTS += tests/exact tests/gradient
OCLGRIND_TESTS += tests/exact

# Threaded groups: tests/members.c runs them.
threads_sources = tests/members.c tests/members.h tests/members_threads.c $(wraps_sources)
members_sources = $(threads_sources) tests/place_hub.c
check_PROGRAMS += tests/hub tests/hub_timeout tests/soak tests/split
# The same over a transport of the tests' own.
check_PROGRAMS += tests/sockets
tests_sockets_SOURCES = tests/hub.c tests/place_sockets.c $(threads_sources)
tests_sockets_LDFLAGS = $(wraps)
tests_sockets_LDADD = $(on_fixture)
TESTS += tests/sockets
ASAN_TESTS += tests/sockets
tests_split_SOURCES = tests/split.c $(members_sources)
tests_split_LDFLAGS = $(wraps)
tests_split_LDADD = $(on_fixture)
tests_hub_SOURCES = tests/hub.c $(members_sources)
tests_hub_LDFLAGS = $(wraps)
tests_hub_LDADD = $(on_fixture)
tests_hub_timeout_SOURCES = tests/hub_timeout.c $(members_sources)
tests_hub_timeout_LDFLAGS = $(wraps)
tests_hub_timeout_LDADD = $(on_fixture)
tests_soak_SOURCES = tests/soak.c $(members_sources)
tests_soak_LDFLAGS = $(wraps)
tests_soak_LDADD = $(on_fixture)
TESTS += tests/hub tests/hub_timeout tests/soak tests/split
ASAN_TESTS += tests/hub tests/hub_timeout tests/soak tests/split

# Members that disagree, and in what: sentences by themselves, then of whole passes.
check_PROGRAMS += tests/agreement tests/settings
tests_agreement_SOURCES = \
	tests/agreement.c tests/calls.c tests/calls.h tests/tap.c tests/tap.h
tests_agreement_LDADD = libsyncbn_core.la
tests_settings_SOURCES = tests/settings.c $(members_sources)
tests_settings_LDFLAGS = $(wraps)
tests_settings_LDADD = $(on_fixture)
TESTS += tests/agreement tests/settings
ASAN_TESTS += tests/agreement tests/settings
VALGRIND_TESTS += tests/agreement

# Several layers in one call.
branches_sources = tests/branch_set.c tests/branch_set.h
branch_calls_sources = tests/branch_calls.c tests/branch_calls.h $(branches_sources)
check_PROGRAMS += tests/branches tests/branches_disagree tests/branches_refused
tests_branches_SOURCES = tests/branches.c $(branches_sources) $(members_sources)
tests_branches_LDFLAGS = $(wraps)
tests_branches_LDADD = $(on_fixture)
tests_branches_disagree_SOURCES = \
	tests/branches_disagree.c $(branch_calls_sources) $(members_sources)
tests_branches_disagree_LDFLAGS = $(wraps)
tests_branches_disagree_LDADD = $(on_fixture)
tests_branches_refused_SOURCES = tests/branches_refused.c $(branch_calls_sources) $(members_sources)
tests_branches_refused_LDFLAGS = $(wraps)
tests_branches_refused_LDADD = $(on_fixture)
TESTS += tests/branches tests/branches_disagree tests/branches_refused
ASAN_TESTS += tests/branches tests/branches_disagree tests/branches_refused
# Other systems' features: each has its test and its call.
dist_check_SCRIPTS += tests/coming_from.sh
TESTS += tests/coming_from.sh

# What the kernels' source must not say.
dist_check_SCRIPTS += tests/source.sh
TESTS += tests/source.sh

# What passes promise: their order, running statistics, events, no allocation.
check_PROGRAMS += tests/passes tests/running tests/events tests/steady
tests_passes_LDADD = $(on_fixture)
tests_running_SOURCES = tests/running.c $(members_sources)
tests_running_LDFLAGS = $(wraps)
tests_running_LDADD = $(on_fixture)
tests_events_LDADD = $(on_fixture)
tests_steady_SOURCES = tests/steady.c $(members_sources)
tests_steady_LDFLAGS = $(wraps)
tests_steady_LDADD = $(on_fixture)
TESTS += tests/passes tests/running tests/events tests/steady
ASAN_TESTS += tests/passes tests/running tests/events tests/steady

# Every kernel in odd sizes; Oclgrind watches this one.
check_PROGRAMS += tests/kernels
tests_kernels_LDADD = $(on_fixture)
TESTS += tests/kernels
ASAN_TESTS += tests/kernels
OCLGRIND_TESTS += tests/kernels
VALGRIND_TESTS += tests/passes tests/hub

# The demo, a few steps of it.
dist_check_SCRIPTS += tests/demo.sh
TESTS += tests/demo.sh

# Planes of one element, at the ends of what doubles and integers add exactly.
check_PROGRAMS += tests/ones
tests_ones_SOURCES = tests/ones.c tests/tap.c tests/tap.h tests/trial.c tests/trial.h
tests_ones_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/ones

# A large mean, to the last bits that the gradient of the weight depends on.
check_PROGRAMS += tests/mean_low
tests_mean_low_SOURCES = tests/mean_low.c tests/tap.c tests/tap.h tests/trial.c tests/trial.h
tests_mean_low_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/mean_low

# The benchmark: its statistics, that it accepts no wrong result, the command and its goals.
bench_wraps = \
	$(wrap)clEnqueueNDRangeKernel $(wrap)clEnqueueCopyBuffer $(wrap)sbn_evaluate \
	$(wrap)sbn_forward $(wrap)sbn_forward_begin $(wrap)dnnl_primitive_execute
check_PROGRAMS += tests/bench_timing tests/bench_wrong tests/device_memory
tests_bench_timing_SOURCES = tests/bench_timing.c tests/tap.c tests/tap.h
tests_bench_timing_LDADD = libsyncbn_bench.la libsyncbn_core.la
tests_bench_wrong_CPPFLAGS = $(AM_CPPFLAGS) $(DNNL_CPPFLAGS)
tests_bench_wrong_LDFLAGS = $(bench_wraps)
tests_bench_wrong_LDADD = tests/libfixture.a libsyncbn_bench.la libsyncbn_core.la $(OPENCL_LIBS)
tests_device_memory_SOURCES = tests/device_memory.c $(members_sources)
tests_device_memory_LDFLAGS = $(wraps)
tests_device_memory_LDADD = $(on_fixture)
dist_check_SCRIPTS += tests/bench.sh
TESTS += tests/bench_timing tests/bench_wrong tests/device_memory tests/bench.sh
ASAN_TESTS += tests/bench_timing tests/device_memory
VALGRIND_TESTS += tests/bench_timing

# Files: what lies is refused; half and bfloat. $(data) was written by the reference
# implementation: tests/data/make_files.py.
data = \
	tests/data/converted.safetensors \
	tests/data/folded.safetensors \
	tests/data/frozen.safetensors \
	tests/data/network_bf16.safetensors \
	tests/data/network_f16.safetensors \
	tests/data/network_f32.safetensors \
	tests/data/network_v1.safetensors \
	tests/data/trained.safetensors \
	tests/data/troubled.safetensors
EXTRA_DIST += $(data) tests/data/make_files.py tests/fuzz_safetensors.c tests/safetensors.dict
check_PROGRAMS += tests/safetensors
tests_safetensors_SOURCES = tests/safetensors.c tests/tap.c tests/tap.h
tests_safetensors_LDADD = libsyncbn_core.la
TESTS += tests/safetensors
ASAN_TESTS += tests/safetensors
VALGRIND_TESTS += tests/safetensors

# Layers that train, evaluate, are frozen and move, against PyTorch's values.
vectors_sources = tests/vectors.c tests/vectors.h
check_PROGRAMS += tests/frozen
tests_frozen_SOURCES = tests/frozen.c $(vectors_sources) $(members_sources)
tests_frozen_LDFLAGS = $(wraps)
tests_frozen_LDADD = $(on_fixture)
TESTS += tests/frozen
ASAN_TESTS += tests/frozen
check_PROGRAMS += tests/fold
tests_fold_SOURCES = tests/fold.c $(vectors_sources)
tests_fold_LDADD = $(on_fixture)
TESTS += tests/fold
ASAN_TESTS += tests/fold
network_sources = tests/network.c tests/network.h $(vectors_sources)
models = tests/convert tests/model tests/pytorch
check_PROGRAMS += $(models)
tests_convert_SOURCES = tests/convert.c $(network_sources)
tests_convert_LDADD = $(on_fixture)
tests_model_SOURCES = tests/model.c $(network_sources)
tests_model_LDADD = $(on_fixture)
tests_pytorch_SOURCES = tests/pytorch.c $(vectors_sources)
tests_pytorch_LDADD = $(on_fixture)
TESTS += $(models)
ASAN_TESTS += $(models)
# A thread per replica, in an engine that is patched in place.
check_PROGRAMS += tests/engine
tests_engine_LDADD = $(on_fixture)
TESTS += tests/engine
ASAN_TESTS += tests/engine

# Checkpoints of whole networks.
whole_sources = tests/whole.c tests/whole.h $(vectors_sources)
checkpoints = tests/checkpoint tests/checkpoint_files tests/checkpoint_keys
check_PROGRAMS += $(checkpoints)
tests_checkpoint_SOURCES = tests/checkpoint.c $(whole_sources)
tests_checkpoint_LDADD = $(on_fixture)
tests_checkpoint_files_SOURCES = tests/checkpoint_files.c $(whole_sources)
tests_checkpoint_files_LDADD = $(on_fixture)
tests_checkpoint_keys_SOURCES = tests/checkpoint_keys.c $(whole_sources)
tests_checkpoint_keys_LDADD = $(on_fixture)
TESTS += $(checkpoints)
ASAN_TESTS += $(checkpoints)
VALGRIND_TESTS += tests/checkpoint_files tests/checkpoint_keys
check_PROGRAMS += tests/rewrite
tests_rewrite_SOURCES = tests/rewrite.c $(vectors_sources)
tests_rewrite_LDADD = $(on_fixture)
dist_check_SCRIPTS += tests/reference.sh
EXTRA_DIST += tests/data/read_files.py
TESTS += tests/reference.sh

# The command's view of checkpoints.
dist_check_SCRIPTS += tests/inspect.sh
TESTS += tests/inspect.sh

# Sixteen threads: the transport alone, then whole passes.
check_PROGRAMS += tests/hub_threads tests/soak_sixteen
tests_hub_threads_SOURCES = tests/hub_threads.c tests/tap.c tests/tap.h
tests_hub_threads_LDADD = libsyncbn_core.la
tests_soak_sixteen_SOURCES = tests/soak.c $(members_sources)
tests_soak_sixteen_CPPFLAGS = $(AM_CPPFLAGS) -DRANKS=16 -DROUNDS=1000
tests_soak_sixteen_LDFLAGS = $(wraps)
tests_soak_sixteen_LDADD = $(on_fixture)
TESTS += tests/hub_threads tests/soak_sixteen
ASAN_TESTS += tests/hub_threads

# What ThreadSanitizer watches.
TSAN_TESTS = tests/hub_threads tests/hub tests/soak tests/soak_sixteen tests/frozen tests/engine
EXTRA_DIST += tests/drivers.tsan

check_PROGRAMS += tests/memory
tests_memory_LDADD = $(on_fixture)
TESTS += tests/memory

dist_check_SCRIPTS += tests/timeline.sh
TESTS += tests/timeline.sh

# Every call of these failing once.
check_PROGRAMS += tests/model_faults
tests_model_faults_SOURCES = tests/model_faults.c $(vectors_sources) $(wraps_sources)
tests_model_faults_LDFLAGS = $(wraps)
tests_model_faults_LDADD = $(on_fixture)
TESTS += tests/model_faults
ASAN_TESTS += tests/model_faults

# What data-parallel training needs around batch norm: means by integers, the sampler,
# exchanges between members, bad input, every call failing once.
check_PROGRAMS += tests/average tests/sampler tests/parallel tests/parallel_refused \
	tests/parallel_timeout tests/parallel_events tests/parallel_faults tests/arguments_parallel
tests_average_SOURCES = tests/average.c tests/tap.c tests/tap.h
tests_average_LDADD = libsyncbn_core.la -lm
tests_sampler_LDADD = $(on_fixture) -lm
exchanges_sources = tests/exchanges.c tests/exchanges.h
tests_parallel_SOURCES = tests/parallel.c $(exchanges_sources) $(members_sources)
tests_parallel_LDFLAGS = $(wraps)
tests_parallel_LDADD = $(on_fixture)
tests_parallel_refused_SOURCES = tests/parallel_refused.c $(exchanges_sources) $(members_sources)
tests_parallel_refused_LDFLAGS = $(wraps)
tests_parallel_refused_LDADD = $(on_fixture)
tests_parallel_timeout_SOURCES = tests/parallel_timeout.c $(exchanges_sources) $(members_sources)
tests_parallel_timeout_LDFLAGS = $(wraps)
tests_parallel_timeout_LDADD = $(on_fixture)
tests_parallel_events_LDADD = $(on_fixture)
tests_parallel_faults_SOURCES = tests/parallel_faults.c $(exchanges_sources) $(members_sources)
tests_parallel_faults_LDFLAGS = $(wraps)
tests_parallel_faults_LDADD = $(on_fixture)
tests_arguments_parallel_SOURCES = tests/arguments_parallel.c
tests_arguments_parallel_LDADD = $(on_fixture)
parallel_tests = tests/average tests/sampler tests/parallel tests/parallel_refused \
	tests/parallel_timeout tests/parallel_events tests/parallel_faults tests/arguments_parallel
TESTS += $(parallel_tests)
ASAN_TESTS += $(parallel_tests)
VALGRIND_TESTS += tests/average tests/sampler tests/arguments_parallel
TSAN_TESTS += tests/parallel tests/parallel_refused

# Over MPI: programs that every rank of a job runs; the scripts launch them.
mpi_programs = tests/mpi_hub tests/mpi_soak tests/mpi_split tests/mpi_problems \
	tests/mpi_arguments tests/mpi_faults tests/mpi_late tests/mpi_latency tests/mpi_parallel \
	tests/mpi_parallel_refused \
	tests/mpi_branches tests/mpi_branches_disagree tests/mpi_branches_refused tests/mpi_no_device \
	tests/mpi_settings tests/mpi_threads
if HAVE_MPI
check_PROGRAMS += $(mpi_programs)
endif
mpi_members_sources = \
	tests/members.c \
	tests/members.h \
	tests/members_mpi.c \
	tests/ranks.c \
	tests/ranks.h \
	$(wraps_sources)
on_mpi = tests/libfixture.a libsyncbn_mpi_core.la libsyncbn_core.la $(OPENCL_LIBS)
mpi_cppflags = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tests_mpi_hub_SOURCES = tests/hub.c $(mpi_members_sources)
tests_mpi_hub_CPPFLAGS = $(mpi_cppflags)
tests_mpi_hub_LDFLAGS = $(wraps)
tests_mpi_hub_LDADD = $(on_mpi)
tests_mpi_branches_SOURCES = tests/branches.c $(branches_sources) $(mpi_members_sources)
tests_mpi_branches_CPPFLAGS = $(mpi_cppflags)
tests_mpi_branches_LDFLAGS = $(wraps)
tests_mpi_branches_LDADD = $(on_mpi)
tests_mpi_branches_disagree_SOURCES = \
	tests/branches_disagree.c $(branch_calls_sources) $(mpi_members_sources)
tests_mpi_branches_disagree_CPPFLAGS = $(mpi_cppflags)
tests_mpi_branches_disagree_LDFLAGS = $(wraps)
tests_mpi_branches_disagree_LDADD = $(on_mpi)
tests_mpi_branches_refused_SOURCES = \
	tests/branches_refused.c $(branch_calls_sources) $(mpi_members_sources)
tests_mpi_branches_refused_CPPFLAGS = $(mpi_cppflags)
tests_mpi_branches_refused_LDFLAGS = $(wraps)
tests_mpi_branches_refused_LDADD = $(on_mpi)
tests_mpi_settings_SOURCES = tests/settings.c $(mpi_members_sources)
tests_mpi_settings_CPPFLAGS = $(mpi_cppflags)
tests_mpi_settings_LDFLAGS = $(wraps)
tests_mpi_settings_LDADD = $(on_mpi)
tests_mpi_soak_SOURCES = tests/soak.c $(mpi_members_sources)
tests_mpi_soak_CPPFLAGS = $(mpi_cppflags)
tests_mpi_soak_LDFLAGS = $(wraps)
tests_mpi_soak_LDADD = $(on_mpi)
tests_mpi_problems_SOURCES = \
	tests/mpi_problems.c \
	tests/ranks.c \
	tests/ranks.h \
	tests/tap.c \
	tests/tap.h \
	tests/trial.c \
	tests/trial.h
tests_mpi_problems_CPPFLAGS = $(mpi_cppflags)
tests_mpi_problems_LDADD = libsyncbn_check.la libsyncbn_mpi_core.la libsyncbn_core.la $(OPENCL_LIBS)
tests_mpi_split_SOURCES = tests/split.c $(mpi_members_sources)
tests_mpi_split_CPPFLAGS = $(mpi_cppflags)
tests_mpi_split_LDFLAGS = $(wraps)
tests_mpi_split_LDADD = $(on_mpi)
tests_mpi_arguments_SOURCES = tests/mpi_arguments.c tests/ranks.c tests/ranks.h
tests_mpi_arguments_CPPFLAGS = $(mpi_cppflags)
tests_mpi_arguments_LDADD = $(on_mpi)
tests_mpi_latency_SOURCES = tests/mpi_latency.c tests/ranks.c tests/ranks.h
tests_mpi_latency_CPPFLAGS = $(mpi_cppflags)
tests_mpi_latency_LDADD = $(on_mpi)
tests_mpi_parallel_SOURCES = tests/parallel.c $(exchanges_sources) $(mpi_members_sources)
tests_mpi_parallel_CPPFLAGS = $(mpi_cppflags)
tests_mpi_parallel_LDFLAGS = $(wraps)
tests_mpi_parallel_LDADD = $(on_mpi)
tests_mpi_parallel_refused_SOURCES = \
	tests/parallel_refused.c $(exchanges_sources) $(mpi_members_sources)
tests_mpi_parallel_refused_CPPFLAGS = $(mpi_cppflags)
tests_mpi_parallel_refused_LDFLAGS = $(wraps)
tests_mpi_parallel_refused_LDADD = $(on_mpi)
tests_mpi_no_device_SOURCES = tests/mpi_no_device.c tests/ranks.c tests/ranks.h
tests_mpi_no_device_CPPFLAGS = $(mpi_cppflags)
tests_mpi_no_device_LDADD = $(on_mpi)
tests_mpi_threads_SOURCES = tests/mpi_threads.c tests/ranks.c tests/ranks.h
tests_mpi_threads_CPPFLAGS = $(mpi_cppflags)
tests_mpi_threads_LDADD = $(on_mpi)
mpi_training_sources = tests/mpi_training.c tests/mpi_training.h
tests_mpi_faults_SOURCES = tests/mpi_faults.c $(mpi_training_sources) $(wraps_sources)
tests_mpi_faults_CPPFLAGS = $(mpi_cppflags)
tests_mpi_faults_LDFLAGS = $(wraps)
tests_mpi_faults_LDADD = $(on_mpi)
tests_mpi_late_SOURCES = tests/mpi_late.c $(mpi_training_sources)
tests_mpi_late_CPPFLAGS = $(mpi_cppflags)
tests_mpi_late_LDADD = $(on_mpi)

mpi_scripts = \
	tests/mpi_demo.sh \
	tests/mpi_faults.sh \
	tests/mpi_members.sh \
	tests/mpi_parallel.sh \
	tests/mpi_problems.sh
# Open MPI launches on hosts in another way.
mpich_scripts = tests/mpi_hosts.sh
EXTRA_DIST += tests/mpi_common.sh tests/mpi_namespaces.sh $(mpi_scripts) $(mpich_scripts)
if HAVE_MPI
TESTS += $(mpi_scripts) $(mpich_scripts)
ASAN_TESTS += tests/mpi_faults.sh tests/mpi_members.sh tests/mpi_problems.sh
VALGRIND_TESTS += tests/mpi_faults.sh tests/mpi_members.sh
endif
