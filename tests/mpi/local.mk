# Over MPI: programs that every rank of a job runs; the scripts launch them.
mpi_programs = tests/mpi/arguments tests/mpi/branches tests/mpi/branches_refused tests/mpi/exchange \
	tests/mpi/exchange_refused tests/mpi/faults tests/mpi/group_split tests/mpi/hub tests/mpi/no_device \
	tests/mpi/one_request tests/mpi/problems tests/mpi/soak tests/mpi/threads
if HAVE_MPI
check_PROGRAMS += $(mpi_programs)
endif

# The programs of other folders, with ranks in the place of threads.
tests_mpi_branches_SOURCES = tests/pass/branches.c
tests_mpi_branches_LDADD = $(on_mpi)
tests_mpi_branches_refused_SOURCES = tests/pass/branches_refused.c
tests_mpi_branches_refused_LDFLAGS = $(wraps)
tests_mpi_branches_refused_LDADD = $(on_mpi)
tests_mpi_exchange_SOURCES = tests/parallel/exchange.c
tests_mpi_exchange_LDFLAGS = $(program_wraps)
tests_mpi_exchange_LDADD = $(on_mpi)
tests_mpi_exchange_refused_SOURCES = tests/parallel/refused.c
tests_mpi_exchange_refused_LDFLAGS = $(wraps)
tests_mpi_exchange_refused_LDADD = $(on_mpi)
tests_mpi_group_split_SOURCES = tests/collective/group_split.c
tests_mpi_group_split_LDFLAGS = $(program_wraps)
tests_mpi_group_split_LDADD = $(on_mpi)
tests_mpi_hub_SOURCES = tests/collective/hub.c
tests_mpi_hub_LDFLAGS = $(wraps)
tests_mpi_hub_LDADD = $(on_mpi)
tests_mpi_one_request_SOURCES = tests/pass/one_request.c
tests_mpi_one_request_LDADD = $(on_mpi)
tests_mpi_soak_SOURCES = tests/pass/soak.c
tests_mpi_soak_LDADD = $(on_mpi)

# Those that call MPI themselves.
tests_mpi_arguments_CPPFLAGS = $(mpi_cppflags)
tests_mpi_arguments_LDADD = $(on_mpi)
tests_mpi_faults_CPPFLAGS = $(mpi_cppflags)
tests_mpi_faults_LDADD = $(on_mpi)
tests_mpi_no_device_CPPFLAGS = $(mpi_cppflags)
tests_mpi_no_device_LDADD = $(on_mpi)
tests_mpi_problems_CPPFLAGS = $(mpi_cppflags)
tests_mpi_problems_LDADD = $(on_mpi)
tests_mpi_threads_CPPFLAGS = $(mpi_cppflags)
tests_mpi_threads_LDADD = $(on_mpi)

# What the scripts launch: of the examples too.
mpi_examples = examples/data_parallel examples/minimal_mpi
if HAVE_CLBLAST
mpi_examples += examples/train_fashion
endif
mpi_scripts = tests/mpi/faults.sh tests/mpi/groups.sh tests/mpi/parallel.sh tests/mpi/demo.sh tests/mpi/problems.sh
# Open MPI launches on hosts in another way.
mpich_scripts = tests/mpi/hosts.sh
EXTRA_DIST += tests/mpi/common.sh $(mpi_scripts) $(mpich_scripts)
if HAVE_MPI
TESTS += $(mpi_scripts) $(mpich_scripts)
TIMED_TESTS += $(filter-out $(PATIENT_TESTS),$(mpi_scripts)) $(mpich_scripts)
ASAN_TESTS += tests/mpi/faults.sh tests/mpi/groups.sh tests/mpi/problems.sh
mpi_script_programs = $(mpi_programs)
endif
