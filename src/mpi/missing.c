/*
 * Finding the ranks that have not begun a reduction. Nothing is sent for this in normal operation.
 *
 * A rank whose timeout is about to expire sends the other ranks its progress and asks for theirs;
 * ranks that wait in syncbn answer from sbn__mpi_test. A rank that is not known to have begun the
 * reduction when the timeout expires, up to a second later, is missing. The question also tells
 * late ranks that the asking rank was there.
 *
 * Some ranks may have the sum of a reduction while others still wait for it. Those that have it
 * continue with the next one and must not report the others as missing: a rank that answered is
 * waiting itself, and is reported only if no other rank can be.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/mpi.h"

enum { QUESTION, ANSWER };
enum { KIND, STARTED, MESSAGE_WORDS = STARTED + SBN_TAGS };

static void forget(int64_t *message, MPI_Request request)
{
    int done = 0;
    /* MPI may still read from an incomplete send: its memory is kept. */
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done)
        free(message);
    else if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
}

/* Best effort: after an error the other rank gets no answer. */
static void tell(sbn_mpi *mpi, int rank, int kind)
{
    MPI_Request request;
    int64_t *message = malloc(sizeof *message * MESSAGE_WORDS);
    if (!message)
        return;
    message[KIND] = kind;
    memcpy(message + STARTED, mpi->started, sizeof mpi->started);
    if (MPI_Isend(message, MESSAGE_WORDS, MPI_INT64_T, rank, 0, mpi->roll, &request) == MPI_SUCCESS)
        forget(message, request);
    else
        free(message);
}

/* The rank that the next message is from, or -1 if there is none. */
static int receive(sbn_mpi *mpi, int64_t *message)
{
    MPI_Status status;
    int there = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, mpi->roll, &there, &status) != MPI_SUCCESS || !there)
        return -1;
    const int rank = status.MPI_SOURCE;
    return MPI_Recv(message, MESSAGE_WORDS, MPI_INT64_T, rank, 0, mpi->roll, MPI_STATUS_IGNORE) ==
                   MPI_SUCCESS
               ? rank
               : -1;
}

void sbn__mpi_listen(sbn_mpi *mpi)
{
    int64_t message[MESSAGE_WORDS];
    for (int rank; (rank = receive(mpi, message)) >= 0;) {
        memcpy(mpi->heard + (size_t)rank * SBN_TAGS, message + STARTED, sizeof mpi->started);
        if (message[KIND] == QUESTION)
            tell(mpi, rank, ANSWER);
    }
}

void sbn__mpi_ignore(sbn_mpi *mpi)
{
    int64_t message[MESSAGE_WORDS];
    while (receive(mpi, message) >= 0)
        continue;
}

/* A rank answers only while it waits, so it has begun something. */
static int was_heard(const int64_t *started)
{
    int any = 0;
    for (int s = 0; s < SBN_TAGS; ++s)
        any = any || started[s] > 0;
    return any;
}

/* Lists ranks not known to have begun it: those that answered, or those that did not. */
static int list(const sbn_mpi *mpi, const sbn_mpi_slot *slot, int heard, int *ranks)
{
    int count = 0;
    for (int rank = 0; rank < mpi->world_size; ++rank) {
        const int64_t *started = mpi->heard + (size_t)rank * SBN_TAGS;
        if (rank != mpi->rank && started[slot->tag] < slot->number && was_heard(started) == heard)
            ranks[count++] = rank;
    }
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
            tell(mpi, rank, QUESTION);
    sbn__mpi_listen(mpi);
    const int silent = list(mpi, slot, 0, ranks);
    return silent > 0 ? silent : list(mpi, slot, 1, ranks);
}
