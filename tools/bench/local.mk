# Contenders, timing and comparison: for the command and the tests.
noinst_LTLIBRARIES += libsyncbn_bench.la
libsyncbn_bench_la_SOURCES = \
	tools/bench/bench.c tools/bench/bench.h tools/bench/compare.c tools/bench/contender.h \
	tools/bench/copy.c tools/bench/judge.c tools/bench/judge.h tools/bench/kernels.c \
	tools/bench/kernels.h tools/bench/onednn.c tools/bench/replicas.c tools/bench/scene.c \
	tools/bench/spread.c tools/bench/spread.h tools/bench/timing.c tools/bench/timing.h \
	tools/bench/tuner.c tools/bench/tuner.h tools/bench/unordered.c tools/bench/variant.c
nodist_libsyncbn_bench_la_SOURCES = tools/bench/source.c
libsyncbn_bench_la_CPPFLAGS = $(AM_CPPFLAGS) $(DNNL_CPPFLAGS)
libsyncbn_bench_la_LIBADD = libsyncbn_check.la $(DNNL_LIBS)

# The benchmark's kernels.
bench_parts = vectors copy separate unordered unordered_planes unordered_rows
bench_kernels = $(bench_parts:%=$(srcdir)/tools/bench/%.cl)
EXTRA_DIST += $(bench_kernels) build-aux/embed-text.sh
CLEANFILES += tools/bench/source.c

tools/bench/source.c: $(bench_kernels) $(srcdir)/tools/bench/local.mk $(srcdir)/build-aux/embed-text.sh
	$(AM_V_GEN)$(MKDIR_P) tools/bench && \
	$(SHELL) $(srcdir)/build-aux/embed-text.sh bench_source $(bench_kernels) > $@.tmp && \
	mv -f $@.tmp $@

# make bench: how fast the passes are, against the goals. See doc/performance.md.
bench_lists = resnet50_batch32 resnet50_batch2 large_planes vectors types fusions views output fixed_cost
EXTRA_DIST += $(bench_lists:%=tools/bench/lists/%) tools/bench/lists/gpu tools/bench/lists/traps
CLEANFILES += bench/results.json bench/columns bench/speed.png

# Two devices, so that synchronising them can be measured; another machine says which
# (BENCH_OPTIONS='--devices 2,3'), how long (a problem), and adds lists.
BENCH_POCL_DEVICES = pthread pthread
BENCH_SECONDS = 3
BENCH_OPTIONS =
BENCH_LISTS =

EXTRA_DIST += tools/bench/report.py tools/bench/plot.gp tools/bench/pytorch.py
bench: tools/syncbn/syncbn
	@$(needs_python)
	@$(MKDIR_P) bench
	POCL_DEVICES="$${POCL_DEVICES-$(BENCH_POCL_DEVICES)}" tools/syncbn/syncbn bench \
	  --seconds $(BENCH_SECONDS) --json bench/results.json $(BENCH_OPTIONS) \
	  $(bench_lists:%=--file $(srcdir)/tools/bench/lists/%) $(BENCH_LISTS:%=--file %)
	@echo
	@$(PYTHON) $(srcdir)/tools/bench/report.py goals bench/results.json
	@$(PYTHON) $(srcdir)/tools/bench/report.py data bench/results.json > bench/columns
	@if test -n '$(GNUPLOT)'; then \
	  $(GNUPLOT) -e 'data="bench/columns"; picture="bench/speed.png"' $(srcdir)/tools/bench/plot.gp && \
	  echo 'plots: bench/speed.png'; \
	else \
	  echo 'no plots: gnuplot is not installed'; \
	fi

.PHONY: bench
