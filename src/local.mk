# The library. Its objects live in a convenience library, so that unit tests can
# link the insides statically; libsyncbn.la is that and nothing more.
noinst_LTLIBRARIES += libsyncbn_core.la
libsyncbn_core_la_SOURCES = \
	src/agreement.c \
	src/agreement.h \
	src/apply.c \
	src/apply.h \
	src/backward.c \
	src/backward.h \
	src/batchnorm.c \
	src/batchnorm.h \
	src/binary.c \
	src/binary.h \
	src/cache.c \
	src/cache.h \
	src/checkpoint.c \
	src/checkpoint.h \
	src/checkpoint_load.c \
	src/checkpoint_save.c \
	src/combine.c \
	src/combine.h \
	src/convert.c \
	src/device.c \
	src/device.h \
	src/digest.h \
	src/error.c \
	src/error.h \
	src/evaluate.c \
	src/explanation.c \
	src/explanation.h \
	src/folding.c \
	src/forward.c \
	src/forward.h \
	src/frozen.c \
	src/geometry.c \
	src/geometry.h \
	src/gradients.c \
	src/group.c \
	src/group.h \
	src/half.c \
	src/half.h \
	src/handles.c \
	src/handles.h \
	src/kernels.h \
	src/keys.c \
	src/mode.c \
	src/model.c \
	src/model.h \
	src/model_convert.c \
	src/parameters.c \
	src/narrow.h \
	src/parallel/average.c \
	src/parallel/average.h \
	src/parallel/bucket.c \
	src/parallel/bucket.h \
	src/parallel/check.c \
	src/parallel/check.h \
	src/parallel/exchange.c \
	src/parallel/header.c \
	src/parallel/header.h \
	src/parallel/move.c \
	src/parallel/move.h \
	src/parallel/parallel.c \
	src/parallel/parallel.h \
	src/parallel/sampler.c \
	src/part.c \
	src/part.h \
	src/pass.c \
	src/pass.h \
	src/pass_memory.c \
	src/pieces.c \
	src/pieces.h \
	src/program.c \
	src/program.h \
	src/reduce.c \
	src/reduce.h \
	src/safetensors.c \
	src/safetensors.h \
	src/safetensors_header.c \
	src/safetensors_write.c \
	src/saved.c \
	src/settings.c \
	src/settings.h \
	src/share.c \
	src/share.h \
	src/split.c \
	src/staging.c \
	src/staging.h \
	src/statistics.c \
	src/statistics.h \
	src/sum.c \
	src/sum.h \
	src/table.c \
	src/table.h \
	src/transport_hub.c \
	src/window.c \
	src/window.h \
	src/words.c \
	src/words.h
nodist_libsyncbn_core_la_SOURCES = cl/kernels.c
libsyncbn_core_la_LIBADD = $(OPENCL_LIBS) $(JANSSON_LIBS)

lib_LTLIBRARIES += libsyncbn.la
libsyncbn_la_SOURCES =
libsyncbn_la_LIBADD = libsyncbn_core.la
libsyncbn_la_LDFLAGS = -version-info $(SBN_VERSION_INFO) -no-undefined

# --- the command `syncbn` -------------------------------------------------------
# All but the command line is a convenience library, so that tests can run
# problems, and judge results, with the same means.
noinst_LTLIBRARIES += libsyncbn_check.la
libsyncbn_check_la_SOURCES = \
	src/cli/bounds.c \
	src/cli/bounds.h \
	src/cli/check.c \
	src/cli/check.h \
	src/cli/collect.c \
	src/cli/compare.c \
	src/cli/compare.h \
	src/cli/devices.c \
	src/cli/devices.h \
	src/cli/digests.c \
	src/cli/digests.h \
	src/cli/geometry.c \
	src/cli/geometry.h \
	src/cli/inputs.c \
	src/cli/inputs.h \
	src/cli/job.c \
	src/cli/job.h \
	src/cli/mix.h \
	src/cli/outputs.c \
	src/cli/outputs.h \
	src/cli/parser.h \
	src/cli/problem.c \
	src/cli/problem.h \
	src/cli/problem_parse.c \
	src/cli/problem_shape.c \
	src/cli/queues.c \
	src/cli/queues.h \
	src/cli/reference.c \
	src/cli/reference.h \
	src/cli/ranks.h \
	src/cli/runner.c \
	src/cli/runner.h \
	src/cli/tensors.c \
	src/cli/tensors.h \
	src/cli/tolerance.c \
	src/cli/tolerance.h

# The benchmark, in the same way.
noinst_LTLIBRARIES += libsyncbn_bench.la
libsyncbn_bench_la_SOURCES = \
	src/cli/bench.c \
	src/cli/bench.h \
	src/cli/bench_baseline.c \
	src/cli/bench_baseline.h \
	src/cli/bench_compare.c \
	src/cli/bench_copy.c \
	src/cli/bench_copy.h \
	src/cli/bench_judge.c \
	src/cli/bench_judge.h \
	src/cli/bench_kernels.c \
	src/cli/bench_kernels.h \
	src/cli/bench_library.c \
	src/cli/bench_library.h \
	src/cli/bench_onednn.h \
	src/cli/bench_replicas.c \
	src/cli/bench_replicas.h \
	src/cli/bench_source.h \
	src/cli/bench_stages.c \
	src/cli/bench_stages.h \
	src/cli/bench_unordered.c \
	src/cli/bench_unordered.h \
	src/cli/bench_wire.c \
	src/cli/bench_wire.h \
	src/cli/contender.h \
	src/cli/spread.c \
	src/cli/spread.h \
	src/cli/timing.c \
	src/cli/timing.h
if HAVE_DNNL
libsyncbn_bench_la_SOURCES += \
	src/cli/bench_onednn.c \
	src/cli/onednn_shared.c \
	src/cli/onednn_shared.h
else
libsyncbn_bench_la_SOURCES += src/cli/bench_onednn_none.c
endif
nodist_libsyncbn_bench_la_SOURCES = src/cli/bench_source.c
libsyncbn_bench_la_CPPFLAGS = $(AM_CPPFLAGS) $(DNNL_CPPFLAGS)
libsyncbn_bench_la_LIBADD = libsyncbn_check.la $(DNNL_LIBS)

bin_PROGRAMS += src/cli/syncbn
src_cli_syncbn_SOURCES = \
	src/cli/bench_options.c \
	src/cli/bench_options.h \
	src/cli/bench_report.c \
	src/cli/bench_report.h \
	src/cli/bench_report_json.c \
	src/cli/command.h \
	src/cli/command_bench.c \
	src/cli/command_check.c \
	src/cli/command_devices.c \
	src/cli/command_inspect.c \
	src/cli/inspect.c \
	src/cli/inspect.h \
	src/cli/device_choice.c \
	src/cli/device_choice.h \
	src/cli/json.h \
	src/cli/main.c \
	src/cli/options.c \
	src/cli/options.h \
	src/cli/problem_list.c \
	src/cli/problem_list.h \
	src/cli/report.c \
	src/cli/report.h \
	src/cli/report_json.c
src_cli_syncbn_LDADD = libsyncbn_bench.la libsyncbn.la $(OPENCL_LIBS) $(JANSSON_LIBS)

# The benchmark's kernels.
bench_kernels = \
	$(srcdir)/src/cli/bench_vectors.cl \
	$(srcdir)/src/cli/bench_copy.cl \
	$(srcdir)/src/cli/bench_unordered.cl \
	$(srcdir)/src/cli/bench_unordered_planes.cl \
	$(srcdir)/src/cli/bench_unordered_rows.cl \
	$(srcdir)/src/cli/bench_unordered_gpu.cl \
	$(srcdir)/src/cli/bench_baseline.cl
EXTRA_DIST += $(bench_kernels) build-aux/embed-text.sh
CLEANFILES += src/cli/bench_source.c

src/cli/bench_source.c: $(bench_kernels) $(srcdir)/src/local.mk $(srcdir)/build-aux/embed-text.sh
	$(AM_V_GEN)$(MKDIR_P) src/cli && \
	$(SHELL) $(srcdir)/build-aux/embed-text.sh bench_source $(bench_kernels) > $@.tmp && \
	mv -f $@.tmp $@
