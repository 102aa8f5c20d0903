/* The definitions of libsyncbn-mpi, the only part that calls MPI. */
#pragma once

#include <stdatomic.h>

#include <syncbn-mpi.h>

/* A reduction under way. */
typedef struct sbn_mpi_slot {
    MPI_Request request;
    int tag;
    int64_t number; /* of this tag's reductions, from 1 */
    struct sbn_mpi_slot *next;
} sbn_mpi_slot;

/* What another rank has said: the reductions that it has begun, and `now` here in the last question that it answered. */
typedef struct sbn_mpi_heard {
    int64_t started[SBN_TAGS], answered;
} sbn_mpi_heard;

/* One duplicate of the communicator for each tag, as reductions on a communicator match by order. */
struct sbn_mpi {
    MPI_Comm tags[SBN_TAGS];
    MPI_Comm roll;                   /* questions and answers after a timeout */
    int64_t unheard, unheard_by_all; /* messages of roll: sent less received, here and by all */
    int rank, world_size;
    int any_thread; /* the thread level allows calls of threads other than the main one */
    sbn_mpi_slot *idle, *in_flight;
    int64_t started[SBN_TAGS]; /* reductions that this rank has begun */
    int64_t ended[SBN_TAGS];   /* the largest number of those that are complete here */
    int64_t now;               /* from 1: one more for each of them */
    sbn_mpi_heard *heard;      /* of each rank */
    unsigned tests;
    struct sbn_mpi *whole; /* the transport that this one was split from, or NULL */
    atomic_int left;       /* reductions left pending by subgroups that have ended */
};

/* SBN_INVALID_ARGUMENT with a sentence if this thread must not call MPI now. */
int sbn__mpi_check_thread(const sbn_mpi *mpi);

/* SBN_SUCCESS, or SBN_TRANSPORT_ERROR with MPI's own sentence. */
int sbn__mpi_result(int code, const char *call);

/* sbn_set_last_error with a format. */
int sbn__mpi_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
