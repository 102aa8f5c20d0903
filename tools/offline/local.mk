# make check-offline: the GPU form through the code generators of NVIDIA, AMD and Intel, without a
# GPU; see doc/devices.md. TARGETS='sm_90 gfx942' chooses some of them.
check_PROGRAMS += tools/offline/library
tools_offline_library_SOURCES = tools/offline/library.c
tools_offline_library_LDADD = libsyncbn_check.la libsyncbn_core.la $(OPENCL_LIBS)
# What a driver says of the same kernels, and what builds and each command of a pass take: tests/gpu.sh.
EXTRA_PROGRAMS += tools/offline/launches
tools_offline_launches_SOURCES = \
	tools/offline/launches.c \
	tools/offline/timeline.c \
	tools/offline/timeline.h \
	tools/bench/spread.c
tools_offline_launches_LDADD = $(tools_offline_library_LDADD)
tools_offline_launches_LDFLAGS = -Wl,--wrap=clEnqueueNDRangeKernel -Wl,--wrap=clEnqueueReadBuffer \
	-Wl,--wrap=clEnqueueWriteBuffer -Wl,--wrap=clEnqueueMarkerWithWaitList
CLEANFILES += tools/offline/launches check-offline.log

EXTRA_DIST += tools/offline/run.sh tools/offline/install.sh tools/offline/limits
offline_modules = amd check compile devices facts intel isa judge limits model nvidia planted table targets walk
EXTRA_DIST += $(offline_modules:%=tools/offline/%.py)

TARGETS =
check-offline: tools/offline/library
	+TARGETS='$(TARGETS)' $(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS=tools/offline/run.sh \
	  TEST_SUITE_LOG=$@.log

.PHONY: check-offline
