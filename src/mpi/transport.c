/* Creating, splitting and destroying the transport over MPI: communicators and the table. */
#include <sched.h>
#include <stdlib.h>

#include "base/versioned_struct.h"
#include "mpi/reduce.h"

/* How long destroy waits for reductions that a timeout has left behind, and for the other ranks. */
#define PATIENCE 1.0

/* Frees everything but what is in flight. */
static void discard(sbn_mpi *mpi)
{
    while (mpi->idle) {
        sbn_mpi_slot *slot = mpi->idle;
        mpi->idle = slot->next;
        free(slot);
    }
    free(mpi->heard);
    free(mpi);
}

static void free_communicators(sbn_mpi *mpi)
{
    for (int s = 0; s < SBN_TAGS; ++s)
        if (mpi->tags[s] != MPI_COMM_NULL)
            MPI_Comm_free(&mpi->tags[s]);
    MPI_Comm_free(&mpi->roll);
}

static int duplicate(MPI_Comm comm, MPI_Comm *copy)
{
    int status = sbn__mpi_result(MPI_Comm_dup(comm, copy), "MPI_Comm_dup");
    if (status) {
        *copy = MPI_COMM_NULL;
        return status;
    }
    status = sbn__mpi_result(MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN),
                             "MPI_Comm_set_errhandler");
    if (status)
        MPI_Comm_free(copy);
    return status;
}

/* Checks that every rank of the first duplicate has what it needs. */
static int agree(const sbn_mpi *mpi, MPI_Comm comm)
{
    int good = mpi && mpi->heard;
    const int code = MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, comm);
    const int status = sbn__mpi_result(code, "MPI_Allreduce");
    if (!status && !good)
        return sbn__mpi_fail(SBN_OUT_OF_MEMORY,
                             "a rank's host has no memory left for an MPI transport, or MPI fails "
                             "there");
    return status;
}

/* Collective over comm. */
static int make(MPI_Comm comm, int any_thread, sbn_mpi **made)
{
    MPI_Comm first = MPI_COMM_NULL;
    int rank, world_size;
    int status = duplicate(comm, &first);
    if (status)
        return status;
    const int of_rank = MPI_Comm_rank(first, &rank), of_size = MPI_Comm_size(first, &world_size);
    const int known = of_rank == MPI_SUCCESS && of_size == MPI_SUCCESS;
    sbn_mpi *mpi = known ? calloc(1, sizeof *mpi) : NULL;
    if (mpi)
        mpi->heard = calloc((size_t)world_size, sizeof *mpi->heard);
    status = agree(mpi, first);
    if (!known)
        status = of_rank != MPI_SUCCESS ? sbn__mpi_result(of_rank, "MPI_Comm_rank")
                                        : sbn__mpi_result(of_size, "MPI_Comm_size");
    if (status) {
        MPI_Comm_free(&first);
        if (mpi)
            discard(mpi);
        return status;
    }
    mpi->rank = rank;
    mpi->world_size = world_size;
    mpi->any_thread = any_thread;
    mpi->now = 1;
    mpi->roll = first;
    for (int s = 0; s < SBN_TAGS; ++s)
        mpi->tags[s] = MPI_COMM_NULL;
    for (int s = 0; s < SBN_TAGS && !status; ++s)
        status = duplicate(first, &mpi->tags[s]);
    if (status) {
        free_communicators(mpi);
        discard(mpi);
        return status;
    }
    *made = mpi;
    return SBN_SUCCESS;
}

static int check_communicator(MPI_Comm comm)
{
    int between, world_size;
    if (comm == MPI_COMM_NULL)
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT,
                             "comm: expected a communicator, got MPI_COMM_NULL");
    int status = sbn__mpi_result(MPI_Comm_test_inter(comm, &between), "MPI_Comm_test_inter");
    if (!status && between)
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT,
                             "comm: expected an intracommunicator, got an intercommunicator");
    if (!status)
        status = sbn__mpi_result(MPI_Comm_size(comm, &world_size), "MPI_Comm_size");
    if (!status && world_size > SBN_MAX_WORLD_SIZE)
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT, "comm: expected at most %d ranks, got %d",
                             SBN_MAX_WORLD_SIZE, world_size);
    return status;
}

int sbn_mpi_create(MPI_Comm comm, sbn_mpi **mpi)
{
    int initialized, level;
    sbn_set_last_error(SBN_SUCCESS, "");
    if (!mpi)
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT,
                             "mpi: expected a place for the handle, got NULL");
    *mpi = NULL;
    MPI_Initialized(&initialized);
    if (!initialized)
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT,
                             "MPI_Init_thread or MPI_Init must be called before sbn_mpi_create");
    /* After MPI_Finalize, MPI_Query_thread must not be called. */
    sbn_mpi caller = {.any_thread = 1};
    int status = sbn__mpi_check_thread(&caller);
    if (status)
        return status;
    MPI_Query_thread(&level);
    caller.any_thread = level >= MPI_THREAD_SERIALIZED;
    status = sbn__mpi_check_thread(&caller);
    if (!status)
        status = check_communicator(comm);
    return status ? status : make(comm, caller.any_thread, mpi);
}

/*
 * Frees the communicators once all ranks end with nothing pending and have received all messages: one that is under way
 * ends the job (MPICH 4.2) or reaches the next communicator with the same number. Returns 0 if MPI may write to mpi.
 */
static int end_together(sbn_mpi *mpi, double end)
{
    MPI_Request request;
    int done;
    do {
        sbn__mpi_hear(mpi, 0);
        mpi->unheard_by_all = mpi->unheard;
        if (MPI_Iallreduce(MPI_IN_PLACE, &mpi->unheard_by_all, 1, MPI_INT64_T, MPI_SUM, mpi->roll,
                           &request) != MPI_SUCCESS)
            return 1;
        done = 0;
        while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done &&
               MPI_Wtime() < end)
            sched_yield();
    } while (done && mpi->unheard_by_all > 0 && MPI_Wtime() < end);
    if (done && mpi->unheard_by_all == 0)
        free_communicators(mpi);
    return done;
}

/*
 * Returns how many reductions are left pending, including those of subgroups. In a thread that must
 * not call MPI those in flight count as pending, complete or not, and the communicators stay.
 */
static int finish(sbn_mpi *mpi, int may_call)
{
    const double end = may_call ? MPI_Wtime() + PATIENCE : 0;
    int pending = 0;
    while (may_call && sbn__mpi_test_all(mpi) > 0 && MPI_Wtime() < end)
        sched_yield();
    for (const sbn_mpi_slot *slot = mpi->in_flight; slot; slot = slot->next)
        ++pending;
    const int waits = may_call && pending == 0 && !end_together(mpi, end);
    pending += mpi->left;
    if (!waits)
        discard(mpi);
    return pending;
}

int sbn_mpi_destroy(sbn_mpi *mpi)
{
    if (!mpi)
        return SBN_SUCCESS;
    const int status = sbn__mpi_check_thread(mpi);
    if (status)
        return status;
    const int pending = finish(mpi, 1);
    if (pending == 0)
        return SBN_SUCCESS;
    return sbn__mpi_fail(
        SBN_TIMEOUT,
        "%d reduction%s that other ranks have not joined %s pending, and MPI_Finalize "
        "may wait for ever: end the job by MPI_Abort",
        pending, pending == 1 ? "" : "s", pending == 1 ? "is" : "are");
}

static void end_part(void *context)
{
    sbn_mpi *mpi = context, *whole = mpi->whole;
    whole->left += finish(mpi, sbn__mpi_check_thread(mpi) == SBN_SUCCESS);
}

static void fill_table(sbn_mpi *mpi, sbn_transport *transport);

/* Only the ranks of the subgroup call this, in the same order. */
static int split(void *context, const int *ranks, int count, int number, sbn_transport *part)
{
    enum { TAGS = 32768 }; /* MPI guarantees at least so many */
    sbn_mpi *mpi = context;
    /*
     * One without messages of its own: Open MPI 4.1 sends its own with the tag given, and sbn__mpi_hear would receive
     * them from roll. The MPI group must be of this communicator: MPICH 4.0 crashes with that of a duplicate.
     */
    const MPI_Comm whole = mpi->tags[0];
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    sbn_mpi *made = NULL;
    int status = sbn__mpi_check_thread(mpi);
    if (!status)
        status = sbn__mpi_result(MPI_Comm_group(whole, &all), "MPI_Comm_group");
    if (!status)
        status = sbn__mpi_result(MPI_Group_incl(all, count, ranks, &some), "MPI_Group_incl");
    if (!status)
        status = sbn__mpi_result(MPI_Comm_create_group(whole, some, number % TAGS, &comm),
                                 "MPI_Comm_create_group");
    if (!status)
        status = make(comm, mpi->any_thread, &made);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    if (some != MPI_GROUP_NULL)
        MPI_Group_free(&some);
    if (all != MPI_GROUP_NULL)
        MPI_Group_free(&all);
    if (status)
        return status;
    made->whole = mpi;
    fill_table(made, part);
    return SBN_SUCCESS;
}

static void fill_table(sbn_mpi *mpi, sbn_transport *transport)
{
    const sbn_transport table = {
        .size = sizeof table,
        .context = mpi,
        .rank = mpi->rank,
        .world_size = mpi->world_size,
        .start = sbn__mpi_start,
        .test = sbn__mpi_test,
        .missing = sbn__mpi_missing,
        .split = split,
        .end = end_part,
    };
    sbn__struct_put(transport, 0, &table, sizeof table);
}

int sbn_mpi_transport(sbn_mpi *mpi, sbn_transport *transport)
{
    sbn_set_last_error(SBN_SUCCESS, "");
    if (!mpi || !transport)
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT, "%s: expected a pointer, got NULL",
                             mpi ? "transport" : "mpi");
    if (!sbn__struct_size_is_possible(transport->size))
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT,
                             "transport: size: expected sizeof(sbn_transport), %zu here, got %zu; "
                             "start from SBN_TRANSPORT_INIT",
                             sizeof *transport, transport->size);
    fill_table(mpi, transport);
    return SBN_SUCCESS;
}
