# libsyncbn-mpi: the transport over MPI. Nothing else of the tree includes <mpi.h> but
# tests and examples of it. As with the core, the objects live in a convenience library.
if HAVE_MPI
include_HEADERS += include/syncbn-mpi.h
noinst_LTLIBRARIES += libsyncbn_mpi_core.la
lib_LTLIBRARIES += libsyncbn-mpi.la
endif

libsyncbn_mpi_core_la_SOURCES = \
	src/mpi/mpi.c \
	src/mpi/mpi.h \
	src/mpi/reduce.c \
	src/mpi/reduce.h \
	src/mpi/transport.c
libsyncbn_mpi_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
libsyncbn_mpi_core_la_LIBADD = $(MPI_LIBS)

libsyncbn_mpi_la_SOURCES =
libsyncbn_mpi_la_LIBADD = libsyncbn_mpi_core.la libsyncbn.la
libsyncbn_mpi_la_LDFLAGS = $(SBN_LDFLAGS) -version-info $(SBN_VERSION_INFO) -no-undefined
EXTRA_DIST += packaging/libsyncbn-mpi.map
if HAVE_VERSION_SCRIPT
libsyncbn_mpi_la_LDFLAGS += -Wl,--version-script=$(srcdir)/packaging/libsyncbn-mpi.map
EXTRA_libsyncbn_mpi_la_DEPENDENCIES = packaging/libsyncbn-mpi.map
endif
