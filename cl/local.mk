# Kernels, embedded into the library as byte arrays. The order here is the order
# of the table in src/device/kernels.h.
KERNELS = \
	cl/common.cl \
	cl/sum.cl \
	cl/sum_doubles.cl \
	cl/batch.cl \
	cl/rows.cl \
	cl/forward_terms.cl \
	cl/backward_terms.cl \
	cl/rows_of_one.cl \
	cl/forward_reduce_nchw.cl \
	cl/forward_reduce_nhwc.cl \
	cl/backward_reduce_nchw.cl \
	cl/backward_reduce_nhwc.cl \
	cl/fold.cl \
	cl/tiles.cl \
	cl/forward_apply.cl \
	cl/backward_apply.cl \
	cl/store_gradients.cl \
	cl/self_test.cl

EXTRA_DIST += $(KERNELS) build-aux/embed-kernels.sh
CLEANFILES += cl/kernels.c

# Made in the build directory, and not part of a release: always from the .cl files.
cl/kernels.c: $(KERNELS) $(srcdir)/cl/local.mk $(srcdir)/build-aux/embed-kernels.sh
	$(AM_V_GEN)$(MKDIR_P) cl && \
	$(SHELL) $(srcdir)/build-aux/embed-kernels.sh $(srcdir) $(KERNELS) > $@.tmp && mv -f $@.tmp $@
