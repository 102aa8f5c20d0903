# make check-offline: the GPU form through the code generators of NVIDIA, AMD and Intel, without a
# GPU; see doc/devices.md. TARGETS='sm_90 gfx942' chooses some of them.
check_PROGRAMS += tools/offline/library
tools_offline_library_SOURCES = tools/offline/library.c
tools_offline_library_LDADD = libsyncbn_check.la libsyncbn_core.la $(OPENCL_LIBS)
# What a driver says of the same kernels: tests/gpu.sh.
EXTRA_PROGRAMS += tools/offline/resources
tools_offline_resources_SOURCES = tools/offline/resources.c
tools_offline_resources_LDADD = $(tools_offline_library_LDADD)
# What builds and each command of a pass take: tests/gpu.sh, too.
EXTRA_PROGRAMS += tools/offline/launches
tools_offline_launches_SOURCES = \
	tools/offline/launches.c \
	tools/offline/timeline.c \
	tools/offline/timeline.h
tools_offline_launches_LDADD = $(tools_offline_library_LDADD)
tools_offline_launches_LDFLAGS = -Wl,--wrap=clEnqueueNDRangeKernel -Wl,--wrap=clEnqueueReadBuffer \
	-Wl,--wrap=clEnqueueWriteBuffer -Wl,--wrap=clEnqueueMarkerWithWaitList
CLEANFILES += tools/offline/resources tools/offline/launches check-offline.log

EXTRA_DIST += \
	tools/offline/amd.py \
	tools/offline/check.py \
	tools/offline/check.sh \
	tools/offline/compile.py \
	tools/offline/devices.py \
	tools/offline/facts.py \
	tools/offline/install.sh \
	tools/offline/intel.py \
	tools/offline/isa.py \
	tools/offline/judge.py \
	tools/offline/limits \
	tools/offline/limits.py \
	tools/offline/model.py \
	tools/offline/nvidia.py \
	tools/offline/planted.py \
	tools/offline/table.py \
	tools/offline/targets.py \
	tools/offline/walk.py

TARGETS =
check-offline: tools/offline/library
	+TARGETS='$(TARGETS)' $(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS=tools/offline/check.sh \
	  TEST_SUITE_LOG=$@.log

.PHONY: check-offline
