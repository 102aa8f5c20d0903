/* Non-blocking reductions on duplicates of the caller's communicator, one for each tag. */
#include <limits.h>
#include <stdlib.h>

#include "mpi/mpi.h"

int sbn__mpi_start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    sbn_mpi *mpi = context;
    int status = sbn__mpi_check_thread(mpi);
    if (!status && count > INT_MAX)
        status = sbn__mpi_fail(SBN_INVALID_ARGUMENT,
                               "a reduction: expected at most %d words, got %zu", INT_MAX, count);
    if (status)
        return status;
    sbn_mpi_slot *slot = mpi->idle;
    if (slot)
        mpi->idle = slot->next;
    else if (!(slot = malloc(sizeof *slot)))
        return sbn__mpi_fail(SBN_OUT_OF_MEMORY, "the host has no memory left for a reduction");
    status = sbn__mpi_result(MPI_Iallreduce(MPI_IN_PLACE, words, (int)count, MPI_INT64_T, MPI_SUM,
                                            mpi->tags[tag], &slot->request),
                             "MPI_Iallreduce");
    sbn_mpi_slot **list = status ? &mpi->idle : &mpi->in_flight;
    slot->next = *list;
    *list = slot;
    if (status)
        return status;
    slot->tag = tag;
    slot->number = ++mpi->started[tag];
    *request = slot;
    return SBN_SUCCESS;
}

/* Moves a slot from those in flight to the idle ones. */
static void retire(sbn_mpi *mpi, sbn_mpi_slot *slot)
{
    sbn_mpi_slot **at = &mpi->in_flight;
    while (*at != slot)
        at = &(*at)->next;
    *at = slot->next;
    slot->next = mpi->idle;
    mpi->idle = slot;
}

int sbn__mpi_test(void *context, void *request, int *done)
{
    enum { LISTEN_EVERY = 16 };
    sbn_mpi *mpi = context;
    sbn_mpi_slot *slot = request;
    int status = sbn__mpi_check_thread(mpi);
    if (!status)
        status = sbn__mpi_result(MPI_Test(&slot->request, done, MPI_STATUS_IGNORE), "MPI_Test");
    if (status)
        return status;
    if (*done)
        retire(mpi, slot);
    else if (++mpi->tests % LISTEN_EVERY == 0)
        sbn__mpi_listen(mpi);
    return SBN_SUCCESS;
}

int sbn__mpi_test_all(sbn_mpi *mpi)
{
    int pending = 0;
    for (sbn_mpi_slot *slot = mpi->in_flight, *next; slot; slot = next) {
        int done = 0;
        next = slot->next;
        if (MPI_Test(&slot->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return -1;
        if (done)
            retire(mpi, slot);
        else
            ++pending;
    }
    return pending;
}
