# Kernels, embedded into the library as byte arrays. The order here is the order
# of the table in src/kernels.h.
KERNELS = \
	cl/common.cl \
	cl/sum.cl \
	cl/sum_doubles.cl \
	cl/batch.cl \
	cl/rows.cl \
	cl/forward_terms.cl \
	cl/backward_terms.cl \
	cl/rows_of_one.cl \
	cl/forward_first.cl \
	cl/forward_last.cl \
	cl/backward_first.cl \
	cl/backward_last.cl \
	cl/fold.cl \
	cl/tiles.cl \
	cl/forward_apply.cl \
	cl/backward_apply.cl \
	cl/gradients.cl

EXTRA_DIST += $(KERNELS) build-aux/embed-kernels.sh
CLEANFILES += cl/kernels.c

# Made in the build directory, and not part of a release: always from the .cl files.
cl/kernels.c: $(KERNELS) $(srcdir)/cl/local.mk $(srcdir)/build-aux/embed-kernels.sh
	$(AM_V_GEN)$(MKDIR_P) cl && \
	$(SHELL) $(srcdir)/build-aux/embed-kernels.sh $(srcdir) $(KERNELS) > $@.tmp && mv -f $@.tmp $@
