# The command `syncbn`: its parts, which tests link, too, and main.
syncbn_parts = \
	tools/syncbn/command_bench.c \
	tools/syncbn/command_check.c \
	tools/syncbn/command_devices.c \
	tools/syncbn/command_inspect.c \
	tools/syncbn/command_tune.c \
	tools/syncbn/json_output.c tools/syncbn/json_output.h \
	tools/syncbn/options.c tools/syncbn/options.h \
	tools/syncbn/report.c tools/syncbn/report.h \
	tools/syncbn/safe_text.c tools/syncbn/safe_text.h
bin_PROGRAMS += tools/syncbn/syncbn
tools_syncbn_syncbn_SOURCES = \
	tools/syncbn/main.c \
	$(syncbn_parts) \
	src/base/memory.c src/base/memory.h \
	src/program/cache.c src/program/cache.h \
	src/program/identity.c src/program/identity.h \
	src/device/tuning.c src/device/tuning.h
tools_syncbn_syncbn_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tools_syncbn_syncbn_LDADD = libsyncbn_bench.la libsyncbn.la $(OPENCL_LIBS) $(JANSSON_LIBS) $(DL_LIBS)
