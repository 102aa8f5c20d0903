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

dist_check_SCRIPTS += tests/tools/exports.sh
TESTS += tests/tools/exports.sh

EXTRA_DIST += tests/support/drivers.supp tests/support/drivers.lsan

# The checker itself: its problems' lines, and that its tolerances refuse faults.
check_PROGRAMS += tests/tools/problem tests/tools/tolerance
tests_tools_problem_SOURCES = tests/tools/problem.c tests/support/tap.c tests/support/tap.h
tests_tools_problem_LDADD = libsyncbn_check.la libsyncbn_core.la
tests_tools_tolerance_SOURCES = tests/tools/tolerance.c tests/support/tap.c tests/support/tap.h
tests_tools_tolerance_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/tools/problem tests/tools/tolerance
ASAN_TESTS += tests/tools/problem tests/tools/tolerance
VALGRIND_TESTS += tests/tools/problem

# Problems, by the command on every usable device.
dist_check_SCRIPTS += tests/tools/check.sh
TESTS += tests/tools/check.sh
EXTRA_DIST += \
	tests/inputs/data_hard \
	tests/inputs/settings \
	tests/inputs/shapes_basic \
	tests/inputs/shapes_hard \
	tests/inputs/shapes_large_images \
	tests/inputs/shapes_regressions \
	tests/inputs/shards

# The bits of version 1 of the order of summation.
dist_check_SCRIPTS += tests/pass/golden.sh
TESTS += tests/pass/golden.sh
EXTRA_DIST += tests/pass/golden

# Machines with a GPU have a script of their own; here it is tried without one.
EXTRA_DIST += tests/gpu.sh
dist_check_SCRIPTS += tests/tools/gpu_none.sh
TESTS += tests/tools/gpu_none.sh

# The arithmetic on the host.
check_PROGRAMS += tests/exact/narrow tests/exact/statistics tests/exact/big tests/exact/accumulator
tests_exact_narrow_SOURCES = tests/exact/narrow.c tests/support/tap.c tests/support/tap.h
tests_exact_narrow_LDADD = libsyncbn_core.la
tests_exact_accumulator_SOURCES = tests/exact/accumulator.c tests/support/tap.c tests/support/tap.h
tests_exact_accumulator_LDADD = libsyncbn_core.la
tests_exact_big_SOURCES = tests/exact/big.c tests/support/tap.c tests/support/tap.h
tests_exact_big_LDADD = libsyncbn_core.la
tests_exact_statistics_SOURCES = tests/exact/statistics.c tests/support/tap.c tests/support/tap.h
tests_exact_statistics_LDADD = libsyncbn_core.la
TESTS += tests/exact/narrow tests/exact/statistics tests/exact/big tests/exact/accumulator
ASAN_TESTS += tests/exact/narrow tests/exact/statistics tests/exact/big tests/exact/accumulator
VALGRIND_TESTS += tests/exact/statistics tests/exact/big tests/exact/accumulator

# The same bits in every configuration; compilers' first builds make it long.
check_PROGRAMS += tests/pass/bits
tests_pass_bits_SOURCES = \
	tests/pass/bits.c \
	tests/pass/bits.h \
	tests/pass/bits_list.c \
	tests/pass/bits_worker.c \
	tests/support/tap.c \
	tests/support/tap.h \
	tests/support/trial.c \
	tests/support/trial.h
tests_pass_bits_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/pass/bits

# How the library behaves: on the first PoCL device, against sentences and by hand.
check_LIBRARIES = tests/support/libfixture.a
tests_support_libfixture_a_SOURCES = tests/support/fixture.c tests/support/fixture.h tests/support/tap.c tests/support/tap.h
on_fixture = tests/support/libfixture.a libsyncbn_core.la $(OPENCL_LIBS)

# Bad input.
arguments = tests/pass/arguments tests/pass/arguments_layer tests/pass/arguments_pass tests/pass/arguments_shards
check_PROGRAMS += $(arguments)
tests_pass_arguments_LDADD = $(on_fixture)
tests_pass_arguments_layer_LDADD = $(on_fixture)
tests_pass_arguments_pass_SOURCES = tests/pass/arguments_pass.c tests/support/refused.c tests/support/refused.h
tests_pass_arguments_pass_LDADD = $(on_fixture)
tests_pass_arguments_shards_SOURCES = tests/pass/arguments_shards.c tests/support/refused.c tests/support/refused.h
tests_pass_arguments_shards_LDADD = $(on_fixture)
TESTS += $(arguments)
ASAN_TESTS += $(arguments)

# Buffers that overlap; objects destroyed in any order.
check_PROGRAMS += tests/pass/overlaps tests/pass/lifetimes
tests_pass_overlaps_SOURCES = tests/pass/overlaps.c tests/support/refused.c tests/support/refused.h
tests_pass_overlaps_LDADD = $(on_fixture)
tests_pass_lifetimes_LDADD = $(on_fixture)
TESTS += tests/pass/overlaps tests/pass/lifetimes
ASAN_TESTS += tests/pass/overlaps tests/pass/lifetimes

# The last bits of saved statistics, and eps 0; elements beyond 2^32.
check_PROGRAMS += tests/pass/saved tests/pass/wide_index
tests_pass_saved_LDADD = $(on_fixture)
tests_pass_wide_index_LDADD = $(on_fixture)
TESTS += tests/pass/saved tests/pass/wide_index
ASAN_TESTS += tests/pass/saved

# Calls into OpenCL that are counted, fail or lie: tests/support/wraps.c stands between.
wraps_sources = tests/support/wraps.c tests/support/wraps.h
wrap = -Wl,--wrap=
wraps = \
	$(wrap)clBuildProgram $(wrap)clCreateBuffer $(wrap)clCreateCommandQueue \
	$(wrap)clCreateKernel $(wrap)clEnqueueMapBuffer \
	$(wrap)clCreateProgramWithBinary $(wrap)clCreateProgramWithSource \
	$(wrap)clEnqueueMarkerWithWaitList \
	$(wrap)clEnqueueNDRangeKernel $(wrap)clEnqueueReadBuffer $(wrap)clEnqueueWriteBuffer \
	$(wrap)clEnqueueWriteBufferRect \
	$(wrap)clFlush $(wrap)clGetDeviceInfo $(wrap)clGetEventInfo $(wrap)clRetainEvent \
	$(wrap)clSetKernelArg \
	$(wrap)sbn__allocate

# Devices that cannot run the kernels; every call failing once.
check_PROGRAMS += tests/device/embedded tests/pass/faults
tests_device_embedded_SOURCES = tests/device/embedded.c $(wraps_sources)
tests_device_embedded_LDFLAGS = $(wraps)
tests_device_embedded_LDADD = $(on_fixture)
tests_pass_faults_SOURCES = tests/pass/faults.c $(wraps_sources)
tests_pass_faults_LDFLAGS = $(wraps)
tests_pass_faults_LDADD = $(on_fixture)
TESTS += tests/device/embedded tests/pass/faults
ASAN_TESTS += tests/device/embedded tests/pass/faults

# Groups that share programs.
check_PROGRAMS += tests/device/shared_programs
tests_device_shared_programs_SOURCES = tests/device/shared_programs.c $(wraps_sources)
tests_device_shared_programs_LDFLAGS = $(wraps)
tests_device_shared_programs_LDADD = $(on_fixture)
TESTS += tests/device/shared_programs
ASAN_TESTS += tests/device/shared_programs

# Passes made a few channels at a time.
check_PROGRAMS += tests/pass/chunks
tests_pass_chunks_SOURCES = tests/pass/chunks.c $(wraps_sources)
tests_pass_chunks_LDFLAGS = $(wraps)
tests_pass_chunks_LDADD = $(on_fixture)
TESTS += tests/pass/chunks
ASAN_TESTS += tests/pass/chunks

# Compiled programs on disk.
check_PROGRAMS += tests/device/cache tests/device/programs
tests_device_cache_SOURCES = tests/device/cache.c tests/support/tap.c tests/support/tap.h
tests_device_cache_LDADD = libsyncbn_core.la
tests_device_programs_SOURCES = tests/device/programs.c $(wraps_sources)
tests_device_programs_LDFLAGS = $(wraps)
tests_device_programs_LDADD = $(on_fixture)
TESTS += tests/device/cache tests/device/programs
ASAN_TESTS += tests/device/cache

# What must change those bits, and how far denormals matter to them.
check_PROGRAMS += tests/pass/bits_controls
tests_pass_bits_controls_SOURCES = \
	tests/pass/bits_controls.c \
	tests/support/tap.c \
	tests/support/tap.h \
	tests/support/trial.c \
	tests/support/trial.h
tests_pass_bits_controls_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/pass/bits_controls

# Whole numbers in, whole numbers out; and gradients against differences of the forward pass.
check_PROGRAMS += tests/pass/whole_numbers tests/pass/gradient
tests_pass_whole_numbers_SOURCES = tests/pass/whole_numbers.c tests/support/tap.c tests/support/tap.h tests/support/trial.c tests/support/trial.h
tests_pass_whole_numbers_LDADD = libsyncbn_check.la libsyncbn_core.la
tests_pass_gradient_SOURCES = tests/pass/gradient.c tests/support/tap.c tests/support/tap.h tests/support/trial.c tests/support/trial.h
tests_pass_gradient_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/pass/whole_numbers tests/pass/gradient
ASAN_TESTS += tests/pass/whole_numbers tests/pass/gradient
OCLGRIND_TESTS += tests/pass/whole_numbers

# Threaded groups: tests/support/ranks.c runs them.
threads_sources = tests/support/ranks.c tests/support/ranks.h tests/support/ranks_threads.c $(wraps_sources)
members_sources = $(threads_sources) tests/support/transport_hub.c
check_PROGRAMS += tests/collective/hub tests/collective/hub_timeout tests/pass/soak tests/collective/group_split
# The same over a transport of the tests' own.
check_PROGRAMS += tests/collective/sockets
tests_collective_sockets_SOURCES = tests/collective/hub.c tests/support/transport_sockets.c $(threads_sources)
tests_collective_sockets_LDFLAGS = $(wraps)
tests_collective_sockets_LDADD = $(on_fixture)
TESTS += tests/collective/sockets
ASAN_TESTS += tests/collective/sockets
tests_collective_group_split_SOURCES = tests/collective/group_split.c $(members_sources)
tests_collective_group_split_LDFLAGS = $(wraps)
tests_collective_group_split_LDADD = $(on_fixture)
tests_collective_hub_SOURCES = tests/collective/hub.c $(members_sources)
tests_collective_hub_LDFLAGS = $(wraps)
tests_collective_hub_LDADD = $(on_fixture)
tests_collective_hub_timeout_SOURCES = tests/collective/hub_timeout.c $(members_sources)
tests_collective_hub_timeout_LDFLAGS = $(wraps)
tests_collective_hub_timeout_LDADD = $(on_fixture)
tests_pass_soak_SOURCES = tests/pass/soak.c $(members_sources)
tests_pass_soak_LDFLAGS = $(wraps)
tests_pass_soak_LDADD = $(on_fixture)
TESTS += tests/collective/hub tests/collective/hub_timeout tests/pass/soak tests/collective/group_split
ASAN_TESTS += tests/collective/hub tests/collective/hub_timeout tests/pass/soak tests/collective/group_split

# Members that disagree, and in what: sentences by themselves, then of whole passes.
check_PROGRAMS += tests/collective/agreement tests/collective/settings
tests_collective_agreement_SOURCES = \
	tests/collective/agreement.c tests/support/calls.c tests/support/calls.h tests/support/tap.c tests/support/tap.h
tests_collective_agreement_LDADD = libsyncbn_core.la
tests_collective_settings_SOURCES = tests/collective/settings.c $(members_sources)
tests_collective_settings_LDFLAGS = $(wraps)
tests_collective_settings_LDADD = $(on_fixture)
TESTS += tests/collective/agreement tests/collective/settings
ASAN_TESTS += tests/collective/agreement tests/collective/settings
VALGRIND_TESTS += tests/collective/agreement

# Several layers in one call.
branches_sources = tests/support/branch_set.c tests/support/branch_set.h
branch_calls_sources = tests/support/branch_calls.c tests/support/branch_calls.h $(branches_sources)
check_PROGRAMS += tests/pass/branches tests/pass/branches_disagree tests/pass/branches_refused
tests_pass_branches_SOURCES = tests/pass/branches.c $(branches_sources) $(members_sources)
tests_pass_branches_LDFLAGS = $(wraps)
tests_pass_branches_LDADD = $(on_fixture)
tests_pass_branches_disagree_SOURCES = \
	tests/pass/branches_disagree.c $(branch_calls_sources) $(members_sources)
tests_pass_branches_disagree_LDFLAGS = $(wraps)
tests_pass_branches_disagree_LDADD = $(on_fixture)
tests_pass_branches_refused_SOURCES = tests/pass/branches_refused.c $(branch_calls_sources) $(members_sources)
tests_pass_branches_refused_LDFLAGS = $(wraps)
tests_pass_branches_refused_LDADD = $(on_fixture)
TESTS += tests/pass/branches tests/pass/branches_disagree tests/pass/branches_refused
ASAN_TESTS += tests/pass/branches tests/pass/branches_disagree tests/pass/branches_refused
# Other systems' features: each has its test and its call.
dist_check_SCRIPTS += tests/tools/coming_from.sh
TESTS += tests/tools/coming_from.sh

# What the kernels' source must not say.
dist_check_SCRIPTS += tests/device/source.sh
TESTS += tests/device/source.sh

# What passes promise: their order, running statistics, events, no allocation.
check_PROGRAMS += tests/pass/passes tests/pass/running tests/pass/events tests/pass/steady
tests_pass_passes_LDADD = $(on_fixture)
tests_pass_running_SOURCES = tests/pass/running.c $(members_sources)
tests_pass_running_LDFLAGS = $(wraps)
tests_pass_running_LDADD = $(on_fixture)
tests_pass_events_LDADD = $(on_fixture)
tests_pass_steady_SOURCES = tests/pass/steady.c $(members_sources)
tests_pass_steady_LDFLAGS = $(wraps)
tests_pass_steady_LDADD = $(on_fixture)
TESTS += tests/pass/passes tests/pass/running tests/pass/events tests/pass/steady
ASAN_TESTS += tests/pass/passes tests/pass/running tests/pass/events tests/pass/steady

# Every kernel in odd sizes; Oclgrind watches this one.
check_PROGRAMS += tests/device/kernels
tests_device_kernels_LDADD = $(on_fixture)
TESTS += tests/device/kernels
ASAN_TESTS += tests/device/kernels
OCLGRIND_TESTS += tests/device/kernels
VALGRIND_TESTS += tests/pass/passes tests/collective/hub

# The demo, a few steps of it.
dist_check_SCRIPTS += tests/tools/demo.sh
TESTS += tests/tools/demo.sh

# Planes of one element, at the ends of what doubles and integers add exactly.
check_PROGRAMS += tests/pass/planes_of_one
tests_pass_planes_of_one_SOURCES = tests/pass/planes_of_one.c tests/support/tap.c tests/support/tap.h tests/support/trial.c tests/support/trial.h
tests_pass_planes_of_one_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/pass/planes_of_one

# A large mean, to the last bits that the gradient of the weight depends on.
check_PROGRAMS += tests/pass/mean_low
tests_pass_mean_low_SOURCES = tests/pass/mean_low.c tests/support/tap.c tests/support/tap.h tests/support/trial.c tests/support/trial.h
tests_pass_mean_low_LDADD = libsyncbn_check.la libsyncbn_core.la
TESTS += tests/pass/mean_low

# The benchmark: its statistics, that it accepts no wrong result, the command and its goals.
bench_wraps = \
	$(wrap)clEnqueueNDRangeKernel $(wrap)clEnqueueCopyBuffer $(wrap)sbn_evaluate \
	$(wrap)sbn_forward $(wrap)sbn_forward_begin $(wrap)dnnl_primitive_execute
check_PROGRAMS += tests/tools/bench_timing tests/tools/bench_wrong tests/device/device_memory
tests_tools_bench_timing_SOURCES = tests/tools/bench_timing.c tests/support/tap.c tests/support/tap.h
tests_tools_bench_timing_LDADD = libsyncbn_bench.la libsyncbn_core.la
tests_tools_bench_wrong_CPPFLAGS = $(AM_CPPFLAGS) $(DNNL_CPPFLAGS)
tests_tools_bench_wrong_LDFLAGS = $(bench_wraps)
tests_tools_bench_wrong_LDADD = tests/support/libfixture.a libsyncbn_bench.la libsyncbn_core.la $(OPENCL_LIBS)
tests_device_device_memory_SOURCES = tests/device/device_memory.c $(members_sources)
tests_device_device_memory_LDFLAGS = $(wraps)
tests_device_device_memory_LDADD = $(on_fixture)
dist_check_SCRIPTS += tests/tools/bench.sh
TESTS += tests/tools/bench_timing tests/tools/bench_wrong tests/device/device_memory tests/tools/bench.sh
ASAN_TESTS += tests/tools/bench_timing tests/device/device_memory
VALGRIND_TESTS += tests/tools/bench_timing

# Files: what lies is refused; half and bfloat. $(data) was written by the reference
# implementation: tests/model/data/make_files.py.
data = \
	tests/model/data/converted.safetensors \
	tests/model/data/folded.safetensors \
	tests/model/data/frozen.safetensors \
	tests/model/data/network_bf16.safetensors \
	tests/model/data/network_f16.safetensors \
	tests/model/data/network_f32.safetensors \
	tests/model/data/network_v1.safetensors \
	tests/model/data/trained.safetensors \
	tests/model/data/troubled.safetensors
EXTRA_DIST += $(data) tests/model/data/make_files.py tests/model/fuzz_safetensors.c tests/model/safetensors.dict
check_PROGRAMS += tests/model/safetensors
tests_model_safetensors_SOURCES = tests/model/safetensors.c tests/support/tap.c tests/support/tap.h
tests_model_safetensors_LDADD = libsyncbn_core.la
TESTS += tests/model/safetensors
ASAN_TESTS += tests/model/safetensors
VALGRIND_TESTS += tests/model/safetensors

# Layers that train, evaluate, are frozen and move, against PyTorch's values.
vectors_sources = tests/support/vectors.c tests/support/vectors.h
check_PROGRAMS += tests/pass/frozen
tests_pass_frozen_SOURCES = tests/pass/frozen.c $(vectors_sources) $(members_sources)
tests_pass_frozen_LDFLAGS = $(wraps)
tests_pass_frozen_LDADD = $(on_fixture)
TESTS += tests/pass/frozen
ASAN_TESTS += tests/pass/frozen
check_PROGRAMS += tests/pass/fold
tests_pass_fold_SOURCES = tests/pass/fold.c $(vectors_sources)
tests_pass_fold_LDADD = $(on_fixture)
TESTS += tests/pass/fold
ASAN_TESTS += tests/pass/fold
network_sources = tests/support/network.c tests/support/network.h $(vectors_sources)
models = tests/model/convert tests/model/model tests/model/pytorch
check_PROGRAMS += $(models)
tests_model_convert_SOURCES = tests/model/convert.c $(network_sources)
tests_model_convert_LDADD = $(on_fixture)
tests_model_model_SOURCES = tests/model/model.c $(network_sources)
tests_model_model_LDADD = $(on_fixture)
tests_model_pytorch_SOURCES = tests/model/pytorch.c $(vectors_sources)
tests_model_pytorch_LDADD = $(on_fixture)
TESTS += $(models)
ASAN_TESTS += $(models)
# A thread per replica, in an engine that is patched in place.
check_PROGRAMS += tests/pass/engine
tests_pass_engine_LDADD = $(on_fixture)
TESTS += tests/pass/engine
ASAN_TESTS += tests/pass/engine

# Checkpoints of whole networks.
whole_sources = tests/support/whole.c tests/support/whole.h $(vectors_sources)
checkpoints = tests/model/checkpoint tests/model/checkpoint_files tests/model/checkpoint_keys
check_PROGRAMS += $(checkpoints)
tests_model_checkpoint_SOURCES = tests/model/checkpoint.c $(whole_sources)
tests_model_checkpoint_LDADD = $(on_fixture)
tests_model_checkpoint_files_SOURCES = tests/model/checkpoint_files.c $(whole_sources)
tests_model_checkpoint_files_LDADD = $(on_fixture)
tests_model_checkpoint_keys_SOURCES = tests/model/checkpoint_keys.c $(whole_sources)
tests_model_checkpoint_keys_LDADD = $(on_fixture)
TESTS += $(checkpoints)
ASAN_TESTS += $(checkpoints)
VALGRIND_TESTS += tests/model/checkpoint_files tests/model/checkpoint_keys
check_PROGRAMS += tests/model/rewrite
tests_model_rewrite_SOURCES = tests/model/rewrite.c $(vectors_sources)
tests_model_rewrite_LDADD = $(on_fixture)
dist_check_SCRIPTS += tests/model/reference.sh
EXTRA_DIST += tests/model/data/read_files.py
TESTS += tests/model/reference.sh

# The command's view of checkpoints.
dist_check_SCRIPTS += tests/model/inspect.sh
TESTS += tests/model/inspect.sh

# Sixteen threads: the transport alone, then whole passes.
check_PROGRAMS += tests/collective/hub_threads tests/pass/soak_sixteen
tests_collective_hub_threads_SOURCES = tests/collective/hub_threads.c tests/support/tap.c tests/support/tap.h
tests_collective_hub_threads_LDADD = libsyncbn_core.la
tests_pass_soak_sixteen_SOURCES = tests/pass/soak.c $(members_sources)
tests_pass_soak_sixteen_CPPFLAGS = $(AM_CPPFLAGS) -DRANKS=16 -DROUNDS=1000
tests_pass_soak_sixteen_LDFLAGS = $(wraps)
tests_pass_soak_sixteen_LDADD = $(on_fixture)
TESTS += tests/collective/hub_threads tests/pass/soak_sixteen
ASAN_TESTS += tests/collective/hub_threads

# What ThreadSanitizer watches.
TSAN_TESTS = tests/collective/hub_threads tests/collective/hub tests/pass/soak tests/pass/soak_sixteen tests/pass/frozen tests/pass/engine
EXTRA_DIST += tests/support/drivers.tsan

check_PROGRAMS += tests/pass/memory
tests_pass_memory_LDADD = $(on_fixture)
TESTS += tests/pass/memory

dist_check_SCRIPTS += tests/tools/timeline.sh
TESTS += tests/tools/timeline.sh

# Every call of these failing once.
check_PROGRAMS += tests/model/model_faults
tests_model_model_faults_SOURCES = tests/model/model_faults.c $(vectors_sources) $(wraps_sources)
tests_model_model_faults_LDFLAGS = $(wraps)
tests_model_model_faults_LDADD = $(on_fixture)
TESTS += tests/model/model_faults
ASAN_TESTS += tests/model/model_faults

# What data-parallel training needs around batch norm: means by integers, the sampler,
# exchanges between members, bad input, every call failing once.
check_PROGRAMS += tests/parallel/average tests/parallel/sampler tests/parallel/exchange tests/parallel/refused \
	tests/parallel/timeout tests/parallel/events tests/parallel/faults tests/parallel/arguments
tests_parallel_average_SOURCES = tests/parallel/average.c tests/support/tap.c tests/support/tap.h
tests_parallel_average_LDADD = libsyncbn_core.la -lm
tests_parallel_sampler_LDADD = $(on_fixture) -lm
exchanges_sources = tests/support/exchanges.c tests/support/exchanges.h
tests_parallel_exchange_SOURCES = tests/parallel/exchange.c $(exchanges_sources) $(members_sources)
tests_parallel_exchange_LDFLAGS = $(wraps)
tests_parallel_exchange_LDADD = $(on_fixture)
tests_parallel_refused_SOURCES = tests/parallel/refused.c $(exchanges_sources) $(members_sources)
tests_parallel_refused_LDFLAGS = $(wraps)
tests_parallel_refused_LDADD = $(on_fixture)
tests_parallel_timeout_SOURCES = tests/parallel/timeout.c $(exchanges_sources) $(members_sources)
tests_parallel_timeout_LDFLAGS = $(wraps)
tests_parallel_timeout_LDADD = $(on_fixture)
tests_parallel_events_LDADD = $(on_fixture)
tests_parallel_faults_SOURCES = tests/parallel/faults.c $(exchanges_sources) $(members_sources)
tests_parallel_faults_LDFLAGS = $(wraps)
tests_parallel_faults_LDADD = $(on_fixture)
tests_parallel_arguments_SOURCES = tests/parallel/arguments.c
tests_parallel_arguments_LDADD = $(on_fixture)
parallel_tests = tests/parallel/average tests/parallel/sampler tests/parallel/exchange tests/parallel/refused \
	tests/parallel/timeout tests/parallel/events tests/parallel/faults tests/parallel/arguments
TESTS += $(parallel_tests)
ASAN_TESTS += $(parallel_tests)
VALGRIND_TESTS += tests/parallel/average tests/parallel/sampler tests/parallel/arguments
TSAN_TESTS += tests/parallel/exchange tests/parallel/refused

# Over MPI: programs that every rank of a job runs; the scripts launch them.
mpi_programs = tests/mpi/hub tests/mpi/soak tests/mpi/group_split tests/mpi/problems \
	tests/mpi/arguments tests/mpi/faults tests/mpi/late tests/mpi/latency tests/mpi/exchange \
	tests/mpi/exchange_refused \
	tests/mpi/branches tests/mpi/branches_disagree tests/mpi/branches_refused tests/mpi/no_device \
	tests/mpi/settings tests/mpi/threads
if HAVE_MPI
check_PROGRAMS += $(mpi_programs)
endif
mpi_members_sources = \
	tests/support/ranks.c \
	tests/support/ranks.h \
	tests/support/ranks_mpi.c \
	tests/support/mpi_job.c \
	tests/support/mpi_job.h \
	$(wraps_sources)
on_mpi = tests/support/libfixture.a libsyncbn_mpi_core.la libsyncbn_core.la $(OPENCL_LIBS)
mpi_cppflags = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tests_mpi_hub_SOURCES = tests/collective/hub.c $(mpi_members_sources)
tests_mpi_hub_CPPFLAGS = $(mpi_cppflags)
tests_mpi_hub_LDFLAGS = $(wraps)
tests_mpi_hub_LDADD = $(on_mpi)
tests_mpi_branches_SOURCES = tests/pass/branches.c $(branches_sources) $(mpi_members_sources)
tests_mpi_branches_CPPFLAGS = $(mpi_cppflags)
tests_mpi_branches_LDFLAGS = $(wraps)
tests_mpi_branches_LDADD = $(on_mpi)
tests_mpi_branches_disagree_SOURCES = \
	tests/pass/branches_disagree.c $(branch_calls_sources) $(mpi_members_sources)
tests_mpi_branches_disagree_CPPFLAGS = $(mpi_cppflags)
tests_mpi_branches_disagree_LDFLAGS = $(wraps)
tests_mpi_branches_disagree_LDADD = $(on_mpi)
tests_mpi_branches_refused_SOURCES = \
	tests/pass/branches_refused.c $(branch_calls_sources) $(mpi_members_sources)
tests_mpi_branches_refused_CPPFLAGS = $(mpi_cppflags)
tests_mpi_branches_refused_LDFLAGS = $(wraps)
tests_mpi_branches_refused_LDADD = $(on_mpi)
tests_mpi_settings_SOURCES = tests/collective/settings.c $(mpi_members_sources)
tests_mpi_settings_CPPFLAGS = $(mpi_cppflags)
tests_mpi_settings_LDFLAGS = $(wraps)
tests_mpi_settings_LDADD = $(on_mpi)
tests_mpi_soak_SOURCES = tests/pass/soak.c $(mpi_members_sources)
tests_mpi_soak_CPPFLAGS = $(mpi_cppflags)
tests_mpi_soak_LDFLAGS = $(wraps)
tests_mpi_soak_LDADD = $(on_mpi)
tests_mpi_problems_SOURCES = \
	tests/mpi/problems.c \
	tests/support/mpi_job.c \
	tests/support/mpi_job.h \
	tests/support/tap.c \
	tests/support/tap.h \
	tests/support/trial.c \
	tests/support/trial.h
tests_mpi_problems_CPPFLAGS = $(mpi_cppflags)
tests_mpi_problems_LDADD = libsyncbn_check.la libsyncbn_mpi_core.la libsyncbn_core.la $(OPENCL_LIBS)
tests_mpi_group_split_SOURCES = tests/collective/group_split.c $(mpi_members_sources)
tests_mpi_group_split_CPPFLAGS = $(mpi_cppflags)
tests_mpi_group_split_LDFLAGS = $(wraps)
tests_mpi_group_split_LDADD = $(on_mpi)
tests_mpi_arguments_SOURCES = tests/mpi/arguments.c tests/support/mpi_job.c tests/support/mpi_job.h
tests_mpi_arguments_CPPFLAGS = $(mpi_cppflags)
tests_mpi_arguments_LDADD = $(on_mpi)
tests_mpi_latency_SOURCES = tests/mpi/latency.c tests/support/mpi_job.c tests/support/mpi_job.h
tests_mpi_latency_CPPFLAGS = $(mpi_cppflags)
tests_mpi_latency_LDADD = $(on_mpi)
tests_mpi_exchange_SOURCES = tests/parallel/exchange.c $(exchanges_sources) $(mpi_members_sources)
tests_mpi_exchange_CPPFLAGS = $(mpi_cppflags)
tests_mpi_exchange_LDFLAGS = $(wraps)
tests_mpi_exchange_LDADD = $(on_mpi)
tests_mpi_exchange_refused_SOURCES = \
	tests/parallel/refused.c $(exchanges_sources) $(mpi_members_sources)
tests_mpi_exchange_refused_CPPFLAGS = $(mpi_cppflags)
tests_mpi_exchange_refused_LDFLAGS = $(wraps)
tests_mpi_exchange_refused_LDADD = $(on_mpi)
tests_mpi_no_device_SOURCES = tests/mpi/no_device.c tests/support/mpi_job.c tests/support/mpi_job.h
tests_mpi_no_device_CPPFLAGS = $(mpi_cppflags)
tests_mpi_no_device_LDADD = $(on_mpi)
tests_mpi_threads_SOURCES = tests/mpi/threads.c tests/support/mpi_job.c tests/support/mpi_job.h
tests_mpi_threads_CPPFLAGS = $(mpi_cppflags)
tests_mpi_threads_LDADD = $(on_mpi)
mpi_training_sources = tests/mpi/training.c tests/mpi/training.h
tests_mpi_faults_SOURCES = tests/mpi/faults.c $(mpi_training_sources) $(wraps_sources)
tests_mpi_faults_CPPFLAGS = $(mpi_cppflags)
tests_mpi_faults_LDFLAGS = $(wraps)
tests_mpi_faults_LDADD = $(on_mpi)
tests_mpi_late_SOURCES = tests/mpi/late.c $(mpi_training_sources)
tests_mpi_late_CPPFLAGS = $(mpi_cppflags)
tests_mpi_late_LDADD = $(on_mpi)

mpi_scripts = \
	tests/mpi/demo.sh \
	tests/mpi/faults.sh \
	tests/mpi/groups.sh \
	tests/mpi/parallel.sh \
	tests/mpi/problems.sh
# Open MPI launches on hosts in another way.
mpich_scripts = tests/mpi/hosts.sh
EXTRA_DIST += tests/mpi/common.sh tests/mpi/namespaces.sh $(mpi_scripts) $(mpich_scripts)
if HAVE_MPI
TESTS += $(mpi_scripts) $(mpich_scripts)
ASAN_TESTS += tests/mpi/faults.sh tests/mpi/groups.sh tests/mpi/problems.sh
VALGRIND_TESTS += tests/mpi/faults.sh tests/mpi/groups.sh
endif
