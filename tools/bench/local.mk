# make bench: how fast the passes are, against the goals. See doc/performance.md.
noinst_PROGRAMS += tools/bench/report/report
tools_bench_report_report_SOURCES = \
	tools/bench/report/data.c \
	tools/bench/report/data.h \
	tools/bench/report/goals.c \
	tools/bench/report/goals.h \
	tools/bench/report/main.c \
	tools/bench/report/results.c \
	tools/bench/report/results.h
tools_bench_report_report_CPPFLAGS = $(AM_CPPFLAGS)
tools_bench_report_report_LDADD = $(JANSSON_LIBS) -lm

# make scaling: what combining costs over ranks. See doc/scaling.md.
if HAVE_MPI
noinst_PROGRAMS += tools/bench/scaling/scaling
endif
# For Linux alone, so made when asked for.
EXTRA_PROGRAMS = tools/bench/scaling/switch
tools_bench_scaling_scaling_SOURCES = \
	tools/bench/scaling/main.c \
	tools/bench/scaling/rank.c \
	tools/bench/scaling/rank.h \
	tests/support/mpi_job.c \
	tests/support/mpi_job.h \
	tests/support/tap.c \
	tests/support/tap.h
tools_bench_scaling_switch_SOURCES = tools/bench/scaling/switch.c
tools_bench_scaling_scaling_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tools_bench_scaling_scaling_LDADD = libsyncbn_bench.la libsyncbn_mpi_core.la libsyncbn_core.la $(OPENCL_LIBS)
EXTRA_DIST += tools/bench/scaling/run.sh tools/bench/scaling/plot.gp tools/bench/scaling/model.awk

# RANKS, CHANNELS and more in the environment: tools/bench/scaling/run.sh.
scaling:
	@test '$(MPI_KIND)' != none || { echo 'make $@: configured without MPI' >&2; exit 1; }
	@$(MAKE) $(AM_MAKEFLAGS) tools/bench/scaling/scaling
	@$(MAKE) $(AM_MAKEFLAGS) tools/bench/scaling/switch || echo 'make $@: no switch, so nothing over a wire'
	@$(MKDIR_P) bench/scaled
	@$(AM_TESTS_ENVIRONMENT) srcdir='$(srcdir)'; export srcdir; \
	$(SHELL) $(srcdir)/tools/bench/scaling/run.sh bench/scaled
	@$(AWK) -f $(srcdir)/tools/bench/scaling/model.awk bench/scaled/ranks.columns \
	  bench/scaled/wire.columns | tee bench/scaled/tables.md
	@test -z '$(GNUPLOT)' || $(GNUPLOT) -e 'folder="bench/scaled"; picture="bench/scaling.svg"' \
	  $(srcdir)/tools/bench/scaling/plot.gp
CLEANFILES += \
	bench/scaled/ranks.columns \
	bench/scaled/tables.md \
	bench/scaled/wire.columns \
	bench/scaling.svg \
	tools/bench/scaling/switch$(EXEEXT)

bench_lists = \
	tools/bench/lists/resnet50_batch32 \
	tools/bench/lists/resnet50_batch2 \
	tools/bench/lists/large_planes \
	tools/bench/lists/vectors \
	tools/bench/lists/fixed_cost
EXTRA_DIST += $(bench_lists) tools/bench/lists/gpu tools/bench/report/plot.gp
CLEANFILES += bench/results.json bench/columns bench/speed.png

# Two devices, so that synchronising them can be measured; another machine says which
# (BENCH_OPTIONS='--devices 2,3'), how long (a problem), and adds lists.
BENCH_POCL_DEVICES = pthread pthread
BENCH_SECONDS = 3
BENCH_OPTIONS =
BENCH_LISTS =

bench: tools/syncbn/syncbn tools/bench/report/report
	@$(MKDIR_P) bench
	POCL_DEVICES="$${POCL_DEVICES-$(BENCH_POCL_DEVICES)}" tools/syncbn/syncbn bench \
	  --seconds $(BENCH_SECONDS) --json bench/results.json $(BENCH_OPTIONS) \
	  $(bench_lists:%=--file $(srcdir)/%) $(BENCH_LISTS:%=--file %)
	@echo
	@tools/bench/report/report goals bench/results.json
	@tools/bench/report/report data bench/results.json > bench/columns
	@if test -n '$(GNUPLOT)'; then \
	  $(GNUPLOT) -e 'data="bench/columns"; picture="bench/speed.png"' $(srcdir)/tools/bench/report/plot.gp && \
	  echo 'plots: bench/speed.png'; \
	else \
	  echo 'no plots: gnuplot is not installed'; \
	fi


# What averaging gradients costs over MPI: mpiexec -n 2 tools/bench/average
if HAVE_MPI
noinst_PROGRAMS += tools/bench/average
endif
tools_bench_average_SOURCES = tools/bench/average.c
tools_bench_average_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tools_bench_average_LDADD = libsyncbn-mpi.la libsyncbn.la $(MPI_LIBS) $(OPENCL_LIBS)

.PHONY: bench scaling
