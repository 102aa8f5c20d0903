# Problems, their inputs, a float64 reference, bounds, and the comparison with what the library
# computes: for the command, the benchmark and the tests.
noinst_LTLIBRARIES += libsyncbn_check.la
libsyncbn_check_la_SOURCES = \
	tools/check/bounds.c tools/check/bounds.h tools/check/check.c tools/check/check.h \
	tools/check/collect.c tools/check/collect.h tools/check/compare.c tools/check/compare.h \
	tools/check/devices.c tools/check/devices.h tools/check/digests.c tools/check/digests.h \
	tools/check/elements.c tools/check/elements.h tools/check/fusion.c tools/check/fusion.h \
	tools/check/inputs.c tools/check/inputs.h tools/check/job.c tools/check/job.h \
	tools/check/mix.h tools/check/outputs.c tools/check/outputs.h \
	tools/check/parser.c tools/check/parser.h tools/check/placement.c tools/check/placement.h \
	tools/check/problem.c tools/check/problem.h tools/check/problem_parse.c \
	tools/check/queues.c tools/check/queues.h tools/check/reference.c tools/check/reference.h \
	tools/check/tensors.c tools/check/tensors.h tools/check/words.c tools/check/words.h \
	src/base/clock.h src/base/float_bits.h src/base/text.c src/base/text.h \
	src/safetensors/half.c src/safetensors/half.h
