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
	src/layer/coefficients.c \
	src/layer/coefficients.h \
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
	src/device/kernel_constants.c \
	src/device/kernel_constants.h \
	src/device/launch_plan.c \
	src/device/launch_plan.h \
	src/device/shape.c \
	src/device/shape.h \
	src/pass/weight_gradients.c \
	src/group/group.c \
	src/group/group.h \
	src/model/half.c \
	src/model/half.h \
	src/base/memory.c \
	src/base/memory.h \
	src/base/opencl.h \
	src/base/versioned_struct.c \
	src/base/versioned_struct.h \
	src/device/kernels.h \
	src/model/keys.c \
	src/layer/training_mode.c \
	src/model/model.c \
	src/model/model.h \
	src/model/model_convert.c \
	src/model/parameters.c \
	src/exact/int192.h \
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
	src/exact/bigint.c \
	src/exact/bigint.h \
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
