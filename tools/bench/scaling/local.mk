# make scaling: what combining costs over ranks (doc/scaling.md); RANKS, CHANNELS and SCALING_SECONDS (for each
# number of channels) say what is measured. Averaging: mpiexec -n 2 tools/bench/scaling/scaling average.
if HAVE_MPI
noinst_PROGRAMS += tools/bench/scaling/scaling
endif
tools_bench_scaling_scaling_SOURCES = tools/bench/scaling/scaling.c
tools_bench_scaling_scaling_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
tools_bench_scaling_scaling_LDADD = libsyncbn_bench.la libsyncbn_mpi_core.la libsyncbn_core.la $(OPENCL_LIBS)

# tests/mpi launches its jobs with the same means.
EXTRA_DIST += tools/bench/scaling/launch.sh tools/bench/scaling/model.py

RANKS = 1 2 4 8
CHANNELS = 16 64 256 1024 2048 4096 8192
SCALING_SECONDS = 1
scaling:
	@$(needs_python)
	@test '$(MPI_KIND)' != none || { echo 'make $@: configured without MPI' >&2; exit 1; }
	@$(MAKE) $(AM_MAKEFLAGS) tools/bench/scaling/scaling
	@$(MKDIR_P) bench
	@$(AM_TESTS_ENVIRONMENT) srcdir='$(srcdir)'; . $(srcdir)/tools/bench/scaling/launch.sh; mpi_limit=0; \
	{ echo "# cores `getconf _NPROCESSORS_ONLN`" && for ranks in 1 $(filter-out 1,$(RANKS)); do \
	  mpi $$ranks tools/bench/scaling/scaling $(SCALING_SECONDS) $(CHANNELS) || exit 1; \
	done; } > bench/scaling.columns
	@$(PYTHON) $(srcdir)/tools/bench/scaling/model.py bench/scaling.columns
CLEANFILES += bench/scaling.columns

.PHONY: scaling
