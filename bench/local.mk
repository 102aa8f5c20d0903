# make bench: how fast the passes are, against the goals. See doc/performance.md.
noinst_PROGRAMS += bench/report
bench_report_SOURCES = \
	bench/data.c \
	bench/data.h \
	bench/goals.c \
	bench/goals.h \
	bench/main.c \
	bench/results.c \
	bench/results.h
bench_report_CPPFLAGS = $(JANSSON_CFLAGS)
bench_report_LDADD = $(JANSSON_LIBS) -lm

bench_lists = \
	bench/lists/resnet50_batch32 \
	bench/lists/resnet50_batch2 \
	bench/lists/large_planes \
	bench/lists/vectors \
	bench/lists/fixed_cost
EXTRA_DIST += $(bench_lists) bench/lists/gpu bench/plot.gp
CLEANFILES += bench/results.json bench/columns bench/speed.png

# Two devices, so that synchronising them can be measured; another machine says which
# (BENCH_OPTIONS='--devices 2,3'), how long (a problem), and adds lists.
BENCH_POCL_DEVICES = pthread pthread
BENCH_SECONDS = 3
BENCH_OPTIONS =
BENCH_LISTS =

bench: src/cli/syncbn bench/report
	@$(MKDIR_P) bench
	POCL_DEVICES="$${POCL_DEVICES-$(BENCH_POCL_DEVICES)}" src/cli/syncbn bench \
	  --seconds $(BENCH_SECONDS) --json bench/results.json $(BENCH_OPTIONS) \
	  $(bench_lists:%=--file $(srcdir)/%) $(BENCH_LISTS:%=--file %)
	@echo
	@bench/report goals bench/results.json
	@bench/report data bench/results.json > bench/columns
	@if test -n '$(GNUPLOT)'; then \
	  $(GNUPLOT) -e 'data="bench/columns"; picture="bench/speed.png"' $(srcdir)/bench/plot.gp && \
	  echo 'plots: bench/speed.png'; \
	else \
	  echo 'no plots: gnuplot is not installed'; \
	fi

.PHONY: bench

# What averaging gradients costs over MPI: mpiexec -n 2 bench/average
if HAVE_MPI
noinst_PROGRAMS += bench/average
endif
bench_average_SOURCES = bench/average.c
bench_average_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
bench_average_LDADD = libsyncbn-mpi.la libsyncbn.la $(MPI_LIBS) $(OPENCL_LIBS)
