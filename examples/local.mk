# Examples, built but not installed.
noinst_PROGRAMS += examples/minimal examples/timeline
examples_minimal_SOURCES = examples/minimal.c
examples_minimal_LDADD = libsyncbn.la $(OPENCL_LIBS)
examples_timeline_SOURCES = examples/timeline.c
examples_timeline_LDADD = libsyncbn.la $(OPENCL_LIBS)

if HAVE_MPI
noinst_PROGRAMS += examples/data_parallel examples/minimal_mpi
endif
examples_data_parallel_SOURCES = examples/data_parallel.c
examples_data_parallel_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
examples_data_parallel_LDADD = libsyncbn-mpi.la libsyncbn.la $(MPI_LIBS) $(OPENCL_LIBS)
examples_minimal_mpi_SOURCES = examples/minimal_mpi.c
examples_minimal_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
examples_minimal_mpi_LDADD = libsyncbn-mpi.la libsyncbn.la $(MPI_LIBS) $(OPENCL_LIBS)

# The demo convolves with CLBlast and reads gzip files; without either it is left out.
if HAVE_CLBLAST
noinst_PROGRAMS += examples/train_fashion
endif
examples_train_fashion_SOURCES = \
	examples/train_fashion.c \
	examples/fashion/blocks.c \
	examples/fashion/blocks.h \
	examples/fashion/check.c \
	examples/fashion/check.h \
	examples/fashion/choose.c \
	examples/fashion/choose.h \
	examples/fashion/curves.c \
	examples/fashion/curves.h \
	examples/fashion/dataset.c \
	examples/fashion/dataset.h \
	examples/fashion/device.c \
	examples/fashion/device.h \
	examples/fashion/fold.c \
	examples/fashion/fold.h \
	examples/fashion/gemm.c \
	examples/fashion/gemm.h \
	examples/fashion/model.c \
	examples/fashion/model.h \
	examples/fashion/network.c \
	examples/fashion/network.h \
	examples/fashion/norm.c \
	examples/fashion/norm.h \
	examples/fashion/options.c \
	examples/fashion/options.h \
	examples/fashion/progress.c \
	examples/fashion/progress.h \
	examples/fashion/random.h \
	examples/fashion/ranks.c \
	examples/fashion/ranks.h \
	examples/fashion/train.c \
	examples/fashion/train.h \
	examples/fashion/verify.c \
	examples/fashion/verify.h
nodist_examples_train_fashion_SOURCES = examples/fashion/kernels.c
# Like a reader's program it sees the public headers only.
examples_train_fashion_CPPFLAGS = -I$(top_srcdir)/include $(OPENCL_CFLAGS) $(CLBLAST_CFLAGS) \
	$(ZLIB_CFLAGS)
examples_train_fashion_LDADD = libsyncbn.la $(OPENCL_LIBS) $(CLBLAST_LIBS) $(ZLIB_LIBS) -lm
if HAVE_MPI
examples_train_fashion_CPPFLAGS += $(MPI_CFLAGS) -DFASHION_MPI
examples_train_fashion_LDADD += libsyncbn-mpi.la $(MPI_LIBS)
endif

# Of the package for Python: doc/python.md.
EXTRA_DIST += examples/fashion_ddp.py

EXTRA_DIST += examples/fashion/kernels.cl examples/fashion/curves.png
CLEANFILES += examples/fashion/kernels.c

# The demo's kernels as an array of characters: see build-aux/embed-kernels.sh.
examples/fashion/kernels.c: examples/fashion/kernels.cl $(srcdir)/examples/local.mk
	$(AM_V_GEN)$(MKDIR_P) examples/fashion && { \
	  echo '/* Generated from kernels.cl; do not edit. */' && \
	  echo '#include <stddef.h>' && \
	  echo 'extern const char fashion_kernels[];' && \
	  echo 'extern const size_t fashion_kernels_length;' && \
	  echo 'const char fashion_kernels[] = {' && \
	  od -An -v -to1 $(srcdir)/examples/fashion/kernels.cl | \
	    sed "s/ *\([0-7]\{3\}\)/'\\\\\1',/g" && \
	  echo '};' && \
	  echo 'const size_t fashion_kernels_length = sizeof fashion_kernels;'; \
	} > $@.tmp && mv -f $@.tmp $@
