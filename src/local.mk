# The library. Its objects live in a convenience library, so that unit tests can
# link the insides statically; libsyncbn.la is that and nothing more.
noinst_LTLIBRARIES += libsyncbn_core.la
libsyncbn_core_la_SOURCES = \
	src/agreement.c \
	src/agreement.h \
	src/backward.c \
	src/batchnorm.c \
	src/batchnorm.h \
	src/combine.c \
	src/combine.h \
	src/device.c \
	src/device.h \
	src/error.c \
	src/error.h \
	src/evaluate.c \
	src/forward.c \
	src/forward.h \
	src/geometry.c \
	src/geometry.h \
	src/group.c \
	src/group.h \
	src/handles.c \
	src/handles.h \
	src/kernels.h \
	src/pass.c \
	src/pass.h \
	src/program.c \
	src/program.h \
	src/reduce.c \
	src/reduce.h \
	src/saved.c \
	src/share.c \
	src/share.h \
	src/statistics.c \
	src/statistics.h \
	src/sum.c \
	src/sum.h \
	src/table.c \
	src/table.h \
	src/transport_hub.c \
	src/window.c \
	src/window.h
nodist_libsyncbn_core_la_SOURCES = cl/kernels.c
libsyncbn_core_la_LIBADD = $(OPENCL_LIBS)

lib_LTLIBRARIES += libsyncbn.la
libsyncbn_la_SOURCES =
libsyncbn_la_LIBADD = libsyncbn_core.la
libsyncbn_la_LDFLAGS = -version-info $(SBN_VERSION_INFO) -no-undefined

# --- the command `syncbn` -------------------------------------------------------
