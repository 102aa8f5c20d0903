# The bits: the same in every configuration, those of version 2 of the order of summation, what
# must change them, and how far denormals matter to them.
check_PROGRAMS += tests/pass/bits tests/pass/bits_controls
tests_pass_bits_SOURCES = \
	tests/pass/bits.c \
	tests/pass/bits.h \
	tests/pass/bits_list.c \
	tests/pass/bits_worker.c
dist_check_SCRIPTS += tests/pass/golden.sh
EXTRA_DIST += tests/pass/golden
# Not of golden.sh, as make's own rule for scripts would have it.
tests/pass/golden: ;
TESTS += tests/pass/bits_controls tests/pass/golden.sh

# The values: whole numbers, gradients against differences of the forward pass, planes of one
# element at the ends of what doubles and integers add exactly, a large mean, poor pivots.
value_tests = \
	tests/pass/gradient \
	tests/pass/mean_low \
	tests/pass/pivots \
	tests/pass/planes_of_one \
	tests/pass/whole_numbers
check_PROGRAMS += $(value_tests)
tests_pass_gradient_SOURCES = \
	tests/pass/gradient.c \
	tests/pass/gradient_terms.c \
	tests/pass/gradient_terms.h
TESTS += $(value_tests)
ASAN_TESTS += tests/pass/gradient tests/pass/whole_numbers

# Halves and bfloat16s: each of them evaluated, and all passes against floats of the same values.
check_PROGRAMS += tests/pass/storage tests/pass/types tests/pass/activation tests/pass/from_output
tests_pass_from_output_LDFLAGS = $(programs_wrap)
tests_pass_from_output_SOURCES = \
	$(programs_kept) \
	tests/pass/from_output.c \
	tests/pass/output_reference.c \
	tests/pass/output_reference.h \
	tests/pass/types.h \
	tests/pass/types_setup.c \
	tests/pass/types_sides.c
tests_pass_activation_LDFLAGS = $(programs_wrap)
tests_pass_activation_SOURCES = \
	$(programs_kept) \
	tests/pass/activation.c \
	tests/pass/types.h \
	tests/pass/types_setup.c \
	tests/pass/types_sides.c
tests_pass_types_LDFLAGS = $(programs_wrap)
tests_pass_types_SOURCES = \
	$(programs_kept) \
	tests/pass/types.c \
	tests/pass/types.h \
	tests/pass/types_setup.c \
	tests/pass/types_sides.c
tests_pass_storage_LDFLAGS = $(wraps)
TESTS += tests/pass/storage tests/pass/types tests/pass/activation tests/pass/from_output
ASAN_TESTS += tests/pass/storage

# How the library behaves on the first PoCL device: bad input, every call failing once, passes a
# few channels at a time, several layers in one call, what passes promise (their order, running
# statistics, events, no allocation), frozen layers, folding, an engine's threads, buffers that
# overlap, objects destroyed in any order, the last bits of saved statistics and eps 0.
pass_tests = \
	tests/pass/arguments \
	tests/pass/arguments_layer \
	tests/pass/arguments_objects \
	tests/pass/arguments_pass \
	tests/pass/arguments_shards \
	tests/pass/branches \
	tests/pass/branches_disagree \
	tests/pass/branches_refused \
	tests/pass/engine \
	tests/pass/events \
	tests/pass/fold \
	tests/pass/fusion \
	tests/pass/from_output_bits \
	tests/pass/from_output_refused \
	tests/pass/frozen \
	tests/pass/host_memory \
	tests/pass/in_place \
	tests/pass/lifetimes \
	tests/pass/on_device \
	tests/pass/overlaps \
	tests/pass/passes \
	tests/pass/running \
	tests/pass/running_given \
	tests/pass/saved \
	tests/pass/saved_store \
	tests/pass/soak \
	tests/pass/steady \
	tests/pass/views \
	tests/pass/views_refused
check_PROGRAMS += $(pass_tests)
tests_pass_branches_disagree_LDFLAGS = $(wraps)
tests_pass_branches_refused_LDFLAGS = $(wraps)
tests_pass_from_output_bits_SOURCES = tests/pass/from_output_bits.c $(programs_kept)
tests_pass_from_output_bits_LDFLAGS = $(programs_wrap)
tests_pass_host_memory_SOURCES = tests/pass/host_memory.c $(programs_kept)
tests_pass_host_memory_LDFLAGS = $(wraps) $(programs_wrap)
tests_pass_frozen_SOURCES = \
	tests/pass/frozen.c \
	tests/pass/frozen.h \
	tests/pass/frozen_alone.c \
	tests/pass/frozen_example.c
tests_pass_in_place_SOURCES = tests/pass/in_place.c $(programs_kept)
tests_pass_in_place_LDFLAGS = $(programs_wrap)
tests_pass_on_device_SOURCES = \
	$(programs_kept) \
	tests/pass/on_device.c \
	tests/pass/on_device_calls.c \
	tests/pass/on_device_late.c \
	tests/pass/on_device_training.c \
	tests/pass/on_device_training.h \
	tests/support/wraps_queries.c
tests_pass_on_device_LDFLAGS = $(wraps) $(query_wraps) $(programs_wrap)
tests_pass_running_given_SOURCES = tests/pass/running_given.c $(programs_kept)
tests_pass_running_given_LDFLAGS = $(programs_wrap)
tests_pass_saved_SOURCES = tests/pass/saved.c $(programs_kept)
tests_pass_saved_LDFLAGS = $(programs_wrap)
tests_pass_saved_store_SOURCES = tests/pass/saved_store.c $(programs_kept)
tests_pass_saved_store_LDFLAGS = $(programs_wrap)
tests_pass_steady_LDFLAGS = $(wraps)
tests_pass_views_SOURCES = tests/pass/views.c $(programs_kept)
tests_pass_views_LDFLAGS = $(programs_wrap)
TESTS += $(pass_tests)
ASAN_TESTS += $(pass_tests)
VALGRIND_TESTS += tests/pass/passes
TSAN_TESTS += tests/pass/engine tests/pass/frozen tests/pass/soak

# What takes too long under most tools: sixteen threads, and the memory of large passes; and
# elements beyond 2^32, in address space that they do not have.
check_PROGRAMS += tests/pass/from_output_memory tests/pass/large_tensors tests/pass/memory \
	tests/pass/soak_sixteen \
	tests/pass/wide_index \
	tests/pass/wide_index_sums
tests_pass_from_output_memory_LDFLAGS = $(wrap)clCreateBuffer $(wrap)clReleaseMemObject
tests_pass_large_tensors_LDFLAGS = $(wrap)clGetMemObjectInfo
tests_pass_soak_sixteen_SOURCES = tests/pass/soak.c
tests_pass_soak_sixteen_CPPFLAGS = $(AM_CPPFLAGS) -DRANKS=16 -DROUNDS=1000
TESTS += tests/pass/from_output_memory tests/pass/large_tensors tests/pass/memory \
	tests/pass/soak_sixteen \
	tests/pass/wide_index \
	tests/pass/wide_index_sums
TSAN_TESTS += tests/pass/soak_sixteen

# Programs of other versions of the structs, on the library as it is installed.
check_LIBRARIES += tests/pass/libgrowth_older.a tests/pass/libgrowth_current.a \
	tests/pass/libgrowth_newer.a
growth_sources = tests/pass/growth_program.c tests/pass/growth.h tests/pass/growth_declarations.h
tests_pass_libgrowth_older_a_SOURCES = $(growth_sources)
tests_pass_libgrowth_older_a_CPPFLAGS = -DGROWTH=-1 $(AM_CPPFLAGS)
tests_pass_libgrowth_current_a_SOURCES = $(growth_sources)
tests_pass_libgrowth_current_a_CPPFLAGS = -DGROWTH=0 $(AM_CPPFLAGS)
tests_pass_libgrowth_newer_a_SOURCES = $(growth_sources)
tests_pass_libgrowth_newer_a_CPPFLAGS = -DGROWTH=1 $(AM_CPPFLAGS)
check_PROGRAMS += tests/pass/growth
tests_pass_growth_SOURCES = tests/pass/growth.c tests/pass/growth.h
tests_pass_growth_LDADD = tests/support/libsupport.a tests/pass/libgrowth_older.a \
	tests/pass/libgrowth_current.a tests/pass/libgrowth_newer.a libsyncbn.la $(OPENCL_LIBS)
TESTS += tests/pass/growth
ASAN_TESTS += tests/pass/growth
