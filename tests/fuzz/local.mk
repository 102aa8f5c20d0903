# What libFuzzer runs (make check-fuzz, build-aux/checks.mk, which builds these in a folder of its own).
fuzz_programs = tests/fuzz/cache tests/fuzz/calls tests/fuzz/checkpoint tests/fuzz/header tests/fuzz/options \
	tests/fuzz/tuning
EXTRA_PROGRAMS += $(fuzz_programs)
fuzz_flags = -fsanitize=fuzzer
fuzz_common = tests/fuzz/fuzz.c tests/fuzz/fuzz.h
tests_fuzz_cache_SOURCES = tests/fuzz/cache.c $(fuzz_common)
tests_fuzz_cache_LDFLAGS = $(fuzz_flags)
tests_fuzz_calls_SOURCES = tests/fuzz/arguments.c tests/fuzz/arguments.h tests/fuzz/calls.c tests/fuzz/calls.h \
	tests/fuzz/calls_layers.c tests/fuzz/calls_models.c $(fuzz_common)
tests_fuzz_calls_LDFLAGS = $(fuzz_flags)
tests_fuzz_checkpoint_SOURCES = tests/fuzz/checkpoint.c $(fuzz_common)
tests_fuzz_checkpoint_LDFLAGS = $(fuzz_flags)
tests_fuzz_header_SOURCES = tests/fuzz/header.c $(fuzz_common)
tests_fuzz_header_LDFLAGS = $(fuzz_flags)
tests_fuzz_options_SOURCES = tests/fuzz/options.c $(syncbn_parts) $(fuzz_common)
tests_fuzz_options_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_options_LDFLAGS = $(fuzz_flags) $(wrap)fopen $(wrap)print_sentence
tests_fuzz_options_LDADD = libsyncbn_bench.la $(LDADD) $(JANSSON_LIBS)
tests_fuzz_tuning_SOURCES = tests/fuzz/tuning.c $(fuzz_common)
tests_fuzz_tuning_LDFLAGS = $(fuzz_flags)

EXTRA_DIST += tests/fuzz/header.dict tests/fuzz/options.dict tests/fuzz/tuning.dict tests/fuzz/corpus
