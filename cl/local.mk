# Kernels, embedded into the library as byte arrays. The order here is the order
# of the table in src/program/kernels.h.
KERNELS = \
	cl/common.cl \
	cl/pivots.cl \
	cl/storage.cl \
	cl/fusion.cl \
	cl/inversion.cl \
	cl/accumulator.cl \
	cl/accumulator_doubles.cl \
	cl/channels.cl \
	cl/rounding.cl \
	cl/integers_wide.cl \
	cl/integers_narrow.cl \
	cl/statistics.cl \
	cl/channel_rows.cl \
	cl/combine.cl \
	cl/combine_forward.cl \
	cl/combine_backward.cl \
	cl/reduce_batch.cl \
	cl/reduce_rows.cl \
	cl/reduce_rows_of_one.cl \
	cl/summed_forward.cl \
	cl/summed_backward.cl \
	cl/reduce_forward.cl \
	cl/reduce_backward.cl \
	cl/reduce_pivots.cl \
	cl/reduce_nchw.cl \
	cl/reduce_nhwc.cl \
	cl/reduce_slices.cl \
	cl/coefficients.cl \
	cl/coefficients_forward.cl \
	cl/coefficients_backward.cl \
	cl/fusion_forward.cl \
	cl/fusion_backward.cl \
	cl/apply_walk.cl \
	cl/apply_forward.cl \
	cl/apply_backward.cl \
	cl/store_gradients.cl \
	cl/whole_nchw.cl \
	cl/whole_nhwc.cl \
	cl/whole_forward.cl \
	cl/whole_backward.cl \
	cl/self_test.cl \
	cl/self_test_storage.cl \
	cl/gpu/work_group.cl \
	cl/gpu/reduce_forward.cl \
	cl/gpu/reduce_backward.cl \
	cl/gpu/block_flags.cl \
	cl/gpu/large_planes.cl \
	cl/gpu/small_planes.cl \
	cl/gpu/reduce_planes.cl \
	cl/gpu/reduce_columns.cl \
	cl/gpu/reduce_rows.cl \
	cl/gpu/add_slices.cl \
	cl/gpu/apply.cl \
	cl/gpu/apply_forward.cl \
	cl/gpu/apply_backward.cl

EXTRA_DIST += $(KERNELS) build-aux/embed-kernels.sh
CLEANFILES += cl/kernels.c

# Made in the build directory, and not part of a release: always from the .cl files.
cl/kernels.c: $(KERNELS) $(srcdir)/cl/local.mk $(srcdir)/build-aux/embed-kernels.sh
	$(AM_V_GEN)$(MKDIR_P) cl && \
	$(SHELL) $(srcdir)/build-aux/embed-kernels.sh $(srcdir) $(KERNELS) > $@.tmp && mv -f $@.tmp $@
