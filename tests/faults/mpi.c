/*
 * Calls into MPI and allocations of its transport fail: every kind on a communicator of one rank;
 * on one of all ranks, those that all ranks make in the same order.
 */
#include <sched.h>
#include <string.h>

#include <syncbn-mpi.h>

#include "faults/driver.h"
#include "faults/stand.h"
#include "support/tap_mpi.h"
#include "support/wraps.h"

enum { WORDS = 5 };

static MPI_Comm whole;
static int rank;
static sbn_mpi *mpi;
static sbn_transport table, part;
static int64_t words[2][WORDS];

static int make(void)
{
    table = (sbn_transport)SBN_TRANSPORT_INIT;
    const int status = mpi ? SBN_SUCCESS : sbn_mpi_create(whole, &mpi);
    return status ? status : sbn_mpi_transport(mpi, &table);
}

/* A sum over the ranks; a request that cannot be tested is left to the transport. */
static int add(sbn_transport *t, int64_t *words_of)
{
    void *request = NULL;
    int done = 0;
    for (int i = 0; i < WORDS; ++i)
        words_of[i] = i + t->rank;
    int status = t->start(t->context, SBN_TAG_WORDS, words_of, WORDS, &request);
    while (!status && !done) {
        status = t->test(t->context, request, &done);
        sched_yield();
    }
    return status;
}

/* --- one rank: everything fails ------------------------------------------------------------ */

static void begin_alone(void)
{
    whole = MPI_COMM_SELF;
    memset(words, 0, sizeof words);
    part = (sbn_transport)SBN_TRANSPORT_INIT;
}

/* Abandoned requests end at once here: destroying the transport finds nothing pending. */
static void end(void)
{
    wraps_pause();
    if (part.end)
        part.end(part.context);
    part.end = NULL;
    must(sbn_mpi_destroy(mpi), "sbn_mpi_destroy");
    mpi = NULL;
    wraps_resume();
}

static int step_alone(int number)
{
    static const int ranks[] = {0};
    switch (number) {
    case 0: return make();
    case 1: return add(&table, words[0]);
    case 2: return part.end ? SBN_SUCCESS : table.split(table.context, ranks, 1, 7, &part);
    default: return add(&part, words[1]);
    }
}

static uint64_t result_alone(void)
{
    return sbn__digest(SBN_DIGEST_START, words, sizeof words);
}

/* --- all ranks: what they call alike ------------------------------------------------------- */

static void begin_all(void)
{
    whole = MPI_COMM_WORLD;
    slices_reset(at.slices, 1);
}

static int make_group(void)
{
    int status = make();
    if (!status)
        status = STAND_GROUP(0, .transport = &table, .timeout = 60);
    return status ? status : stand_both(0, at.groups[0]);
}

static int step_all(int number)
{
    const int colour = rank == 0 ? 0 : 1;
    switch (number) {
    case 0: return make_group();
    case 2:
        return at.groups[1] ? SBN_SUCCESS : sbn_group_split(at.groups[0], &colour, &at.groups[1]);
    default: return sbn_forward(at.layers[0], &at.slices[0].shard, at.saved[0], 0, NULL);
    }
}

static uint64_t result_all(void)
{
    return stand_running(stand_outputs(SBN_DIGEST_START, at.slices, 1), at.layers[0]);
}

static void end_all(void)
{
    wraps_pause();
    stand_end();
    end();
    MPI_Barrier(MPI_COMM_WORLD);
    wraps_resume();
}

/* An answer to a rank that asks who is late may be missing. */
static const int survived[] = {WRAP_MPI_IPROBE, WRAP_MPI_RECV, SURVIVED_RELEASES, -1};

static const scenario scenarios[] = {
    SCENARIO("MPI, one rank", .begin = begin_alone, .step = step_alone, .steps = 4,
             .result = result_alone, .end = end, .survived = survived),
    SCENARIO("MPI, all ranks", .begin = begin_all, .step = step_all, .steps = 4,
             .result = result_all, .end = end_all, .survived = survived, .fails = WRAP_SYMMETRIC),
};

int main(int argc, char **argv)
{
    tap_mpi_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (stand_open())
        return mpi_job_end(fixture_missing());
    /* What the driver opens once is open. */
    sbn_group *first = fixture_group(at.queues[0], 1, SBN_FORM_AUTO);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
        const totals t = try_scenario(&scenarios[i], fault_points(), 0, 1);
        report_scenario(&scenarios[i], &t);
    }
    sbn_group_destroy(first);
    stand_close();
    return mpi_job_end(tap_done());
}
