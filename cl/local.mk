# Kernels, embedded into the library as byte arrays. The order here is the order
# of the table in src/program/kernels.h.
KERNELS = \
	cl/common/common.cl \
	cl/common/pivots.cl \
	cl/common/storage.cl \
	cl/common/fusion.cl \
	cl/common/inversion.cl \
	cl/common/accumulator.cl \
	cl/cpu/accumulator_doubles.cl \
	cl/common/channels.cl \
	cl/common/rounding.cl \
	cl/common/integers_wide.cl \
	cl/common/integers_narrow.cl \
	cl/common/statistics.cl \
	cl/common/channel_rows.cl \
	cl/common/combine.cl \
	cl/common/combine_forward.cl \
	cl/common/combine_backward.cl \
	cl/cpu/batches.cl \
	cl/cpu/strips.cl \
	cl/cpu/rows_of_one.cl \
	cl/cpu/elements_forward.cl \
	cl/cpu/elements_backward.cl \
	cl/cpu/sums_forward.cl \
	cl/cpu/sums_backward.cl \
	cl/cpu/reduce_pivots.cl \
	cl/cpu/reduce_nchw.cl \
	cl/cpu/reduce_nhwc.cl \
	cl/cpu/add_slices.cl \
	cl/common/coefficients.cl \
	cl/common/coefficients_forward.cl \
	cl/common/coefficients_backward.cl \
	cl/common/fusion_forward.cl \
	cl/common/fusion_backward.cl \
	cl/cpu/apply_walk.cl \
	cl/cpu/walk_forward.cl \
	cl/cpu/walk_backward.cl \
	cl/common/store_gradients.cl \
	cl/cpu/whole_nchw.cl \
	cl/cpu/whole_nhwc.cl \
	cl/cpu/forward_whole.cl \
	cl/cpu/backward_whole.cl \
	cl/common/self_test.cl \
	cl/common/self_test_storage.cl \
	cl/gpu/work_group.cl \
	cl/gpu/sums_forward.cl \
	cl/gpu/sums_backward.cl \
	cl/gpu/block_flags.cl \
	cl/gpu/large_planes.cl \
	cl/gpu/small_planes.cl \
	cl/gpu/reduce_planes.cl \
	cl/gpu/reduce_columns.cl \
	cl/gpu/reduce_rows.cl \
	cl/gpu/add_slices.cl \
	cl/gpu/apply.cl \
	cl/gpu/forward_apply.cl \
	cl/gpu/backward_apply.cl

EXTRA_DIST += $(KERNELS) build-aux/embed-kernels.sh
CLEANFILES += cl/kernels.c

# Made in the build directory, and not part of a release: always from the .cl files.
cl/kernels.c: $(KERNELS) $(srcdir)/cl/local.mk $(srcdir)/build-aux/embed-kernels.sh
	$(AM_V_GEN)$(MKDIR_P) cl && \
	$(SHELL) $(srcdir)/build-aux/embed-kernels.sh $(srcdir) $(KERNELS) > $@.tmp && mv -f $@.tmp $@
