# make scaling: what combining costs over ranks. See doc/scaling.md.
if HAVE_MPI
noinst_PROGRAMS += tools/bench/scaling/scaling
endif
tools_bench_scaling_scaling_SOURCES = \
	tools/bench/scaling/main.c \
	tools/bench/scaling/mpi_job.c \
	tools/bench/scaling/mpi_job.h \
	tools/bench/scaling/rank.c \
	tools/bench/scaling/rank.h
tools_bench_scaling_scaling_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tools_bench_scaling_scaling_LDADD = libsyncbn_bench.la libsyncbn_mpi_core.la libsyncbn_core.la $(OPENCL_LIBS)

# For Linux alone, so made when asked for.
EXTRA_PROGRAMS += tools/bench/scaling/switch
tools_bench_scaling_switch_SOURCES = tools/bench/scaling/switch.c
tools_bench_scaling_switch_LDADD =

# tests/mpi launches its jobs with the same means.
EXTRA_DIST += \
	tools/bench/scaling/launch.sh \
	tools/bench/scaling/model.awk \
	tools/bench/scaling/namespaces.sh \
	tools/bench/scaling/plot.gp \
	tools/bench/scaling/run.sh

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

# What averaging gradients costs over MPI: mpiexec -n 2 tools/bench/scaling/average
if HAVE_MPI
noinst_PROGRAMS += tools/bench/scaling/average
endif
tools_bench_scaling_average_SOURCES = tools/bench/scaling/average.c
tools_bench_scaling_average_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tools_bench_scaling_average_LDADD = libsyncbn-mpi.la libsyncbn.la $(MPI_LIBS) $(OPENCL_LIBS)

.PHONY: scaling
