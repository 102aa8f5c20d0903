# The bits: the same in every configuration of a list, those of version 2 of the order of summation, and how
# far denormals matter to them.
plain_programs += tests/pass/denormals
dist_check_SCRIPTS += tests/pass/same.sh
test_scripts += tests/pass/golden.sh
ASAN_TESTS += tests/pass/same.sh
EXTRA_DIST += tests/pass/golden tests/pass/same
# Not of scripts, as make's own rule for those would have it.
tests/pass/golden tests/pass/same: ;

# The values: problems that every run judges, planes of one element at the ends of what doubles and
# integers add exactly.
plain_programs += tests/pass/judged tests/pass/planes_of_one

# Halves and bfloat16s, each of them evaluated.
asan_programs += tests/pass/storage
tests_pass_storage_LDFLAGS = $(wraps)

# How the library behaves on the first PoCL device: of what, the head of each test says.
asan_programs += tests/pass/arguments tests/pass/arguments_buffers tests/pass/arguments_pass tests/pass/branches \
	tests/pass/branches_refused tests/pass/fold tests/pass/frozen tests/pass/host_memory tests/pass/lifetimes \
	tests/pass/on_device tests/pass/one_request tests/pass/overlaps tests/pass/passes tests/pass/requests \
	tests/pass/narrow tests/pass/saved tests/pass/soak
# So that empty launches are errors.
tests_pass_arguments_pass_LDFLAGS = $(wraps)
tests_pass_branches_refused_LDFLAGS = $(wraps)
tests_pass_host_memory_LDFLAGS = $(wraps) $(query_wraps)
tests_pass_host_memory_SOURCES = tests/pass/host_memory.c tests/support/wraps_queries.c
tests_pass_lifetimes_LDFLAGS = $(addprefix $(wrap), clCreateCommandQueue clEnqueueUnmapMemObject clRetainCommandQueue \
	clReleaseCommandQueue)
tests_pass_on_device_SOURCES = tests/pass/on_device.c tests/pass/on_device.h tests/pass/on_device_calls.c \
	tests/pass/on_device_late.c tests/support/wraps_queries.c
tests_pass_on_device_LDFLAGS = $(wraps) $(query_wraps)
tests_pass_requests_LDFLAGS = $(wraps)
tests_pass_saved_LDFLAGS = $(wraps)
tests_pass_soak_LDFLAGS = $(wraps)

# What takes too long under most tools: sixteen threads, and the memory of large passes; and
# elements beyond 2^32, in address space that they do not have.
plain_programs += tests/pass/large_tensors tests/pass/memory tests/pass/soak_sixteen tests/pass/wide_index
tests_pass_large_tensors_LDFLAGS = $(wrap)clGetMemObjectInfo
tests_pass_wide_index_LDFLAGS = $(wraps)
tests_pass_soak_sixteen_LDFLAGS = $(wraps)
tests_pass_soak_sixteen_SOURCES = tests/pass/soak.c
tests_pass_soak_sixteen_CPPFLAGS = $(AM_CPPFLAGS) -DRANKS=16 -DROUNDS=1000

# Calls in a row while commands run in any order that OpenCL allows: a layer of the loader, which the script compiles.
check_PROGRAMS += tests/pass/any_order
tests_pass_any_order_LDFLAGS = $(program_wraps)
test_scripts += tests/pass/any_order.sh
EXTRA_DIST += tests/support/any_order.c
CLEANFILES += tests/pass/any_order.so
ASAN_TESTS += tests/pass/any_order

# Programs of other versions of the structs, on the library as it is installed.
asan_programs += tests/pass/growth
tests_pass_growth_LDADD = tests/support/libsupport.a libsyncbn.la $(OPENCL_LIBS)
