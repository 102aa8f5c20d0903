#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

#ifdef FASHION_MPI

#include <syncbn-mpi.h>

enum { MOST_TRANSPORTS = 256 };

static int own, in_all = 1, on_host = 1, own_on_host;
static sbn_mpi *mpis[MOST_TRANSPORTS];
static size_t mpi_count;

static void must_mpi(int code, const char *doing)
{
    if (code != MPI_SUCCESS)
        fail("MPI failed %s: error %d", doing, code);
}

/* Waits without keeping a processor busy: other ranks may need it. */
static void finish(MPI_Request *request, const char *doing)
{
    const struct timespec pause = {0, 100000};
    int done = 0;

    must_mpi(MPI_Test(request, &done, MPI_STATUS_IGNORE), doing);
    while (!done) {
        nanosleep(&pause, NULL);
        must_mpi(MPI_Test(request, &done, MPI_STATUS_IGNORE), doing);
    }
}

/* A rank that only left would be waited for. */
static void end_all(void)
{
    if (in_all > 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

void ranks_begin(int *argc, char ***argv)
{
    MPI_Comm host;
    int level;

    must_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level), "starting");
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &in_all);
    when_failed = end_all;
    must_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, own, MPI_INFO_NULL, &host),
             "counting the ranks of a host");
    MPI_Comm_rank(host, &own_on_host);
    MPI_Comm_size(host, &on_host);
    MPI_Comm_free(&host);
    if (own > 0 && !freopen("/dev/null", "w", stdout))
        fail("rank %d cannot open /dev/null", own);
}

void ranks_end(void)
{
    while (mpi_count)
        must_sbn(sbn_mpi_destroy(mpis[--mpi_count]), "ending a transport");
    MPI_Finalize();
}

const sbn_transport *ranks_transport(size_t ranks)
{
    static sbn_transport transport = SBN_TRANSPORT_INIT;
    int range[1][3] = {{0, (int)ranks - 1, 1}};
    MPI_Group all, some;
    MPI_Comm comm;

    if (ranks == 1)
        return NULL;
    if (mpi_count == MOST_TRANSPORTS)
        fail("more than %d groups over MPI", MOST_TRANSPORTS);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, range, &some);
    must_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &comm), "grouping ranks");
    must_sbn(sbn_mpi_create(comm, &mpis[mpi_count]), "making a transport");
    must_sbn(sbn_mpi_transport(mpis[mpi_count++], &transport), "asking for its table");
    MPI_Comm_free(&comm);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return &transport;
}

/* To rank 0 and back, so that all have the same bits whatever the tree. */
static void add(void *values, size_t count, MPI_Datatype type, MPI_Op op)
{
    const char *const doing = "adding over the ranks";
    MPI_Request request;

    if (in_all == 1)
        return;
    must_mpi(MPI_Ireduce(own ? values : MPI_IN_PLACE, values, (int)count, type, op, 0,
                         MPI_COMM_WORLD, &request),
             doing);
    finish(&request, doing);
    must_mpi(MPI_Ibcast(values, (int)count, type, 0, MPI_COMM_WORLD, &request), doing);
    finish(&request, doing);
}

void ranks_add(double *values, size_t count)
{
    add(values, count, MPI_DOUBLE, MPI_SUM);
}

void ranks_add_floats(float *values, size_t count)
{
    add(values, count, MPI_FLOAT, MPI_SUM);
}

void ranks_join(float *values, size_t count)
{
    add(values, count, MPI_UINT32_T, MPI_BOR);
}

void ranks_broadcast(float *values, size_t count)
{
    MPI_Request request;

    must_mpi(MPI_Ibcast(values, (int)count, MPI_FLOAT, 0, MPI_COMM_WORLD, &request), "sharing");
    finish(&request, "sharing");
}

#else

enum { own = 0, in_all = 1, on_host = 1, own_on_host = 0 };

void ranks_begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
}

void ranks_end(void)
{
}

const sbn_transport *ranks_transport(size_t ranks)
{
    (void)ranks;
    return NULL;
}

void ranks_add(double *values, size_t count)
{
    (void)values, (void)count;
}

void ranks_add_floats(float *values, size_t count)
{
    (void)values, (void)count;
}

void ranks_join(float *values, size_t count)
{
    (void)values, (void)count;
}

void ranks_broadcast(float *values, size_t count)
{
    (void)values, (void)count;
}

#endif

_Noreturn void refuse(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (own == 0)
        complain(format, arguments);
    va_end(arguments);
    ranks_end();
    exit(2);
}

size_t ranks_own(void)
{
    return (size_t)own;
}

size_t ranks_in_all(void)
{
    return (size_t)in_all;
}

size_t ranks_begin_of(size_t count, size_t rank)
{
    return count * rank / (size_t)in_all;
}

size_t ranks_devices(size_t count, size_t *first)
{
    const size_t sharing = (size_t)on_host, mine = (size_t)own_on_host;

    if (count < sharing) {
        *first = mine % count;
        return 1;
    }
    *first = count * mine / sharing;
    return count * (mine + 1) / sharing - *first;
}
