# The library. Its objects live in a convenience library, so that unit tests can
# link the insides statically; libsyncbn.la is that and nothing more.
noinst_LTLIBRARIES += libsyncbn_core.la
libsyncbn_core_la_SOURCES = \
	src/collective/agreement.c \
	src/collective/agreement.h \
	src/pass/apply.c \
	src/pass/apply.h \
	src/pass/backward.c \
	src/pass/backward.h \
	src/layer/batchnorm.c \
	src/layer/batchnorm.h \
	src/device/binary.c \
	src/device/binary.h \
	src/device/cache.c \
	src/device/cache.h \
	src/model/checkpoint.c \
	src/model/checkpoint.h \
	src/model/checkpoint_load.c \
	src/model/checkpoint_save.c \
	src/pass/combine.c \
	src/pass/combine.h \
	src/layer/set_group.c \
	src/device/device.c \
	src/device/device.h \
	src/base/digest.h \
	src/base/error.c \
	src/base/error.h \
	src/pass/evaluate.c \
	src/collective/mismatch.c \
	src/collective/mismatch.h \
	src/pass/fold.c \
	src/pass/forward.c \
	src/pass/forward.h \
	src/pass/frozen_backward.c \
	src/device/geometry.c \
	src/device/geometry.h \
	src/pass/weight_gradients.c \
	src/group/group.c \
	src/group/group.h \
	src/model/half.c \
	src/model/half.h \
	src/base/memory.c \
	src/base/memory.h \
	src/device/kernels.h \
	src/model/keys.c \
	src/layer/training_mode.c \
	src/model/model.c \
	src/model/model.h \
	src/model/model_convert.c \
	src/base/object.c \
	src/base/object.h \
	src/pass/overlap.c \
	src/pass/overlap.h \
	src/model/parameters.c \
	src/exact/narrow.h \
	src/parallel/average.c \
	src/parallel/average.h \
	src/parallel/bucket.c \
	src/parallel/bucket.h \
	src/parallel/tensors.c \
	src/parallel/tensors.h \
	src/parallel/exchange.c \
	src/parallel/header.c \
	src/parallel/header.h \
	src/parallel/move.c \
	src/parallel/move.h \
	src/parallel/parallel.c \
	src/parallel/parallel.h \
	src/parallel/sampler.c \
	src/pass/layer_pass.c \
	src/pass/layer_pass.h \
	src/pass/pass.c \
	src/pass/pass.h \
	src/pass/workspace.c \
	src/pass/chunks.c \
	src/pass/chunks.h \
	src/device/program.c \
	src/device/program.h \
	src/device/programs.c \
	src/pass/reduce.c \
	src/pass/reduce.h \
	src/model/safetensors.c \
	src/model/safetensors.h \
	src/model/safetensors_header.c \
	src/model/safetensors_write.c \
	src/layer/saved.c \
	src/collective/settings.c \
	src/collective/settings.h \
	src/pass/shard.c \
	src/pass/shard.h \
	src/group/group_split.c \
	src/device/staging.c \
	src/device/staging.h \
	src/exact/statistics.c \
	src/exact/statistics.h \
	src/exact/big.c \
	src/exact/big.h \
	src/device/channel_table.c \
	src/device/channel_table.h \
	src/collective/hub.c \
	src/exact/format.c \
	src/exact/format.h \
	src/exact/accumulator.c \
	src/exact/accumulator.h
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
	tools/check/bounds.c \
	tools/check/bounds.h \
	tools/check/check.c \
	tools/check/check.h \
	tools/check/collect.c \
	tools/check/compare.c \
	tools/check/compare.h \
	tools/check/devices.c \
	tools/check/devices.h \
	tools/check/digests.c \
	tools/check/digests.h \
	tools/check/layout.c \
	tools/check/layout.h \
	tools/check/inputs.c \
	tools/check/inputs.h \
	tools/check/job.c \
	tools/check/job.h \
	tools/check/mix.h \
	tools/check/outputs.c \
	tools/check/outputs.h \
	tools/check/parser.h \
	tools/check/problem.c \
	tools/check/problem.h \
	tools/check/problem_parse.c \
	tools/check/problem_shape.c \
	tools/check/queues.c \
	tools/check/queues.h \
	tools/check/reference.c \
	tools/check/reference.h \
	tools/check/ranks.h \
	tools/check/runner.c \
	tools/check/runner.h \
	tools/check/tensors.c \
	tools/check/tensors.h \
	tools/check/tolerance.c \
	tools/check/tolerance.h

# The benchmark, in the same way.
noinst_LTLIBRARIES += libsyncbn_bench.la
libsyncbn_bench_la_SOURCES = \
	tools/bench/bench.c \
	tools/bench/bench.h \
	tools/bench/baseline.c \
	tools/bench/baseline.h \
	tools/bench/compare.c \
	tools/bench/copy.c \
	tools/bench/copy.h \
	tools/bench/judge.c \
	tools/bench/judge.h \
	tools/bench/kernels.c \
	tools/bench/kernels.h \
	tools/bench/library.c \
	tools/bench/library.h \
	tools/bench/onednn.h \
	tools/bench/replicas.c \
	tools/bench/replicas.h \
	tools/bench/source.h \
	tools/bench/stages.c \
	tools/bench/stages.h \
	tools/bench/unordered.c \
	tools/bench/unordered.h \
	tools/bench/wire.c \
	tools/bench/wire.h \
	tools/bench/contender.h \
	tools/bench/spread.c \
	tools/bench/spread.h \
	tools/bench/timing.c \
	tools/bench/timing.h
if HAVE_DNNL
libsyncbn_bench_la_SOURCES += \
	tools/bench/onednn.c \
	tools/bench/onednn_shared.c \
	tools/bench/onednn_shared.h
else
libsyncbn_bench_la_SOURCES += tools/bench/onednn_none.c
endif
nodist_libsyncbn_bench_la_SOURCES = tools/bench/source.c
libsyncbn_bench_la_CPPFLAGS = $(AM_CPPFLAGS) $(DNNL_CPPFLAGS)
libsyncbn_bench_la_LIBADD = libsyncbn_check.la $(DNNL_LIBS)

bin_PROGRAMS += tools/syncbn/syncbn
tools_syncbn_syncbn_SOURCES = \
	tools/syncbn/bench_options.c \
	tools/syncbn/bench_options.h \
	tools/syncbn/bench_report.c \
	tools/syncbn/bench_report.h \
	tools/syncbn/bench_report_json.c \
	tools/syncbn/command.h \
	tools/syncbn/command_bench.c \
	tools/syncbn/command_check.c \
	tools/syncbn/command_devices.c \
	tools/syncbn/command_inspect.c \
	tools/syncbn/inspect.c \
	tools/syncbn/inspect.h \
	tools/syncbn/device_choice.c \
	tools/syncbn/device_choice.h \
	tools/syncbn/json.h \
	tools/syncbn/main.c \
	tools/syncbn/options.c \
	tools/syncbn/options.h \
	tools/syncbn/problem_list.c \
	tools/syncbn/problem_list.h \
	tools/syncbn/report.c \
	tools/syncbn/report.h \
	tools/syncbn/report_json.c
tools_syncbn_syncbn_LDADD = libsyncbn_bench.la libsyncbn.la $(OPENCL_LIBS) $(JANSSON_LIBS)

# The benchmark's kernels.
bench_kernels = \
	$(srcdir)/tools/bench/vectors.cl \
	$(srcdir)/tools/bench/copy.cl \
	$(srcdir)/tools/bench/unordered.cl \
	$(srcdir)/tools/bench/unordered_planes.cl \
	$(srcdir)/tools/bench/unordered_rows.cl \
	$(srcdir)/tools/bench/unordered_gpu.cl \
	$(srcdir)/tools/bench/baseline.cl
EXTRA_DIST += $(bench_kernels) build-aux/embed-text.sh
CLEANFILES += tools/bench/source.c

tools/bench/source.c: $(bench_kernels) $(srcdir)/src/local.mk $(srcdir)/build-aux/embed-text.sh
	$(AM_V_GEN)$(MKDIR_P) tools && \
	$(SHELL) $(srcdir)/build-aux/embed-text.sh bench_source $(bench_kernels) > $@.tmp && \
	mv -f $@.tmp $@
