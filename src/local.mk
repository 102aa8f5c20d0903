# The library. Its objects live in a convenience library, so that unit tests can
# link the insides statically; libsyncbn.la is that and nothing more.
noinst_LTLIBRARIES += libsyncbn_core.la
libsyncbn_core_la_SOURCES = \
	src/kernels.h
nodist_libsyncbn_core_la_SOURCES = cl/kernels.c
libsyncbn_core_la_LIBADD = $(OPENCL_LIBS)

lib_LTLIBRARIES += libsyncbn.la
libsyncbn_la_SOURCES =
libsyncbn_la_LIBADD = libsyncbn_core.la
libsyncbn_la_LDFLAGS = -version-info $(SBN_VERSION_INFO) -no-undefined

# --- the command `syncbn` -------------------------------------------------------
