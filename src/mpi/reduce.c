#include "mpi/reduce.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- who is missing ----------------------------------------------------------------------- */

/*
 * The ranks that have not begun a reduction are found when a timeout is near; nothing is sent for this in normal
 * operation.
 *
 * A rank whose timeout is about to expire sends the other ranks its progress and asks for theirs; ranks that wait in
 * syncbn answer from sbn__mpi_test. A rank that is not known to have begun the reduction when the timeout expires, up
 * to a second later, is missing. The question also tells late ranks that the asking rank was there.
 *
 * Some ranks may have the sum of a reduction while others still wait for it, and continue with the next one. A rank that
 * may wait itself is reported only if no other rank can be: one that has begun what has not ended here, or that has
 * answered a question which came after all that has. An answer may come late, so it repeats when the question was asked.
 */

enum { QUESTION, ANSWER };
enum { KIND, NOW, STARTED, MESSAGE_WORDS = STARTED + SBN_TAGS };

/* Best effort: after an error the other rank gets no answer. `now`: of the rank that asks. */
static void tell(sbn_mpi *mpi, int rank, int kind, int64_t now)
{
    MPI_Request request;
    int done;
    int64_t *message = malloc(sizeof *message * MESSAGE_WORDS);
    if (!message)
        return;
    message[KIND] = kind;
    message[NOW] = now;
    memcpy(message + STARTED, mpi->started, sizeof mpi->started);
    const int code = MPI_Isend(message, MESSAGE_WORDS, MPI_INT64_T, rank, 0, mpi->roll, &request);
    mpi->unheard += code == MPI_SUCCESS;
    /* MPI may still read from an incomplete send: its memory is kept. */
    if (code != MPI_SUCCESS ||
        (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done))
        free(message);
    else if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
}

void sbn__mpi_hear(sbn_mpi *mpi, int answers)
{
    int64_t message[MESSAGE_WORDS];
    MPI_Status status;
    int there;
    while (MPI_Iprobe(MPI_ANY_SOURCE, 0, mpi->roll, &there, &status) == MPI_SUCCESS && there &&
           MPI_Recv(message, MESSAGE_WORDS, MPI_INT64_T, status.MPI_SOURCE, 0, mpi->roll,
                    MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        sbn_mpi_heard *heard = &mpi->heard[status.MPI_SOURCE];
        --mpi->unheard;
        memcpy(heard->started, message + STARTED, sizeof mpi->started);
        if (message[KIND] == ANSWER)
            heard->answered = message[NOW];
        else if (answers)
            tell(mpi, status.MPI_SOURCE, ANSWER, message[NOW]);
    }
}

static int may_wait(const sbn_mpi *mpi, int rank)
{
    int may = mpi->heard[rank].answered == mpi->now;
    for (int tag = 0; tag < SBN_TAGS; ++tag)
        may |= mpi->heard[rank].started[tag] > mpi->ended[tag];
    return may;
}

/* Lists ranks not known to have begun it: those that may wait, or those that do not. */
static int list(const sbn_mpi *mpi, const sbn_mpi_slot *slot, int waiting, int *ranks)
{
    int count = 0;
    for (int rank = 0; rank < mpi->world_size; ++rank)
        if (rank != mpi->rank && mpi->heard[rank].started[slot->tag] < slot->number &&
            may_wait(mpi, rank) == waiting)
            ranks[count++] = rank;
    return count;
}

int sbn__mpi_missing(void *context, void *request, int *ranks)
{
    sbn_mpi *mpi = context;
    const sbn_mpi_slot *slot = request;
    if (sbn__mpi_check_thread(mpi) != SBN_SUCCESS)
        return -1;
    for (int rank = 0; rank < mpi->world_size; ++rank)
        if (rank != mpi->rank)
            tell(mpi, rank, QUESTION, mpi->now);
    sbn__mpi_hear(mpi, 1);
    const int count = list(mpi, slot, 0, ranks);
    return count > 0 ? count : list(mpi, slot, 1, ranks);
}

/* --- reductions ---------------------------------------------------------------------------- */

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

/* Its reduction is complete: moves a slot from those in flight to the idle ones. */
static void retire(sbn_mpi *mpi, sbn_mpi_slot *slot)
{
    sbn_mpi_slot **at = &mpi->in_flight;
    while (*at != slot)
        at = &(*at)->next;
    *at = slot->next;
    slot->next = mpi->idle;
    mpi->idle = slot;
    ++mpi->now;
    if (mpi->ended[slot->tag] < slot->number)
        mpi->ended[slot->tag] = slot->number;
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
    if (*done || ++mpi->tests % LISTEN_EVERY == 0)
        sbn__mpi_hear(mpi, 1);
    if (*done)
        retire(mpi, slot);
    return SBN_SUCCESS;
}

int sbn__mpi_test_all(sbn_mpi *mpi)
{
    int pending = 0;
    for (sbn_mpi_slot *slot = mpi->in_flight, *next; slot; slot = next) {
        int done;
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
