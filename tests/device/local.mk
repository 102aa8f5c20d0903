# Devices that cannot run the kernels or break the contract, compiled programs on disk and between groups, what is
# allocated, plans, and options that compilers are asked for or that are refused.
asan_programs += tests/device/cache tests/device/device_memory tests/device/embedded tests/device/shared_programs \
	tests/device/tuned_plans tests/device/tuning
plain_programs += tests/device/combine tests/device/host_queue tests/device/programs tests/device/soft_doubles \
	tests/device/compiler_options tests/device/self_test
tests_device_compiler_options_LDFLAGS = $(wraps)
tests_device_device_memory_LDFLAGS = $(wraps)
tests_device_embedded_LDFLAGS = $(wraps)
tests_device_host_queue_SOURCES = tests/device/host_queue.c tests/support/wraps_queries.c
tests_device_host_queue_LDFLAGS = $(wraps) $(query_wraps)
tests_device_programs_LDFLAGS = $(wraps) $(wrap)clCreateKernelsInProgram $(wrap)clGetProgramInfo \
	$(wrap)clGetKernelWorkGroupInfo
tests_device_self_test_LDFLAGS = $(wraps)
tests_device_shared_programs_LDFLAGS = $(wraps)
tests_device_tuning_LDFLAGS = $(wraps)

# What the kernels' source must not say, and that each program compiles.
test_scripts += tests/device/source.sh tests/device/syntax.sh
