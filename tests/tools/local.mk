# The checker itself: its problems' lines, and that it refuses faults.
asan_programs += tests/tools/problem tests/tools/checker
tests_tools_checker_SOURCES = tests/tools/checker.c tests/support/wraps_queries.c
tests_tools_checker_LDFLAGS = $(wraps) $(query_wraps)

# The benchmark: its statistics, and that it accepts no wrong result.
asan_programs += tests/tools/bench_timing tests/tools/tuner
plain_programs += tests/tools/bench_wrong
on_bench = tests/support/libsupport.a libsyncbn_bench.la libsyncbn_core.la $(OPENCL_LIBS)
tests_tools_bench_timing_LDADD = $(on_bench)
tests_tools_tuner_LDADD = $(on_bench) -lm
tests_tools_bench_wrong_CPPFLAGS = $(AM_CPPFLAGS) $(DNNL_CPPFLAGS)
tests_tools_bench_wrong_LDFLAGS = $(program_wraps) $(wrap)clEnqueueCopyBuffer $(wrap)clEnqueueNDRangeKernel \
	$(wrap)dnnl_primitive_execute $(wrap)nanosleep
tests_tools_bench_wrong_LDADD = $(on_bench)

# The command, the benchmark's goals, the demo, an example; what configure writes for others; what the libraries
# export; the documents' links, tests and calls.
test_scripts += tests/tools/bench.sh tests/tools/check.sh tests/tools/configure.sh tests/tools/command.sh \
	tests/tools/consumers.sh tests/tools/devices.sh tests/tools/dist.sh tests/tools/doc.sh tests/tools/exports.sh \
	tests/tools/gpu_none.sh tests/tools/hardening.sh tests/tools/install.sh tests/tools/man.sh \
	tests/tools/quickstart.sh tests/tools/timeline.sh tests/tools/tune.sh
dist_check_SCRIPTS += tests/tools/demo.sh
EXTRA_DIST += tests/tools/consumer.c
TIMED_TESTS += tests/tools/timeline.sh
