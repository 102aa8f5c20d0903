/*
 * A request: words that are added over all ranks. Only src/collective/request.c calls the transport's start and
 * missing.
 *
 * The request owns its words. If a timeout or an error ends what it was for while it is in flight, it is abandoned: the
 * communicator then keeps the words until the transport no longer writes to them, if necessary until the process ends.
 * The request is empty and can be used again.
 *
 * Deadline. A rank stops waiting when the communicator's timeout has passed without progress. The time is counted anew
 * from each completed request of the communicator and each wait for this rank's own devices, and a second at most from
 * one look to the next. Passes, splits and exchanges of tensors all wait this way.
 */
#pragma once

#include "collective/communicator.h"

typedef struct sbn_request {
    sbn_request_block *block;
    int64_t *words; /* of the block */
    size_t capacity;
    int in_flight;
} sbn_request;

/* Makes room for `count` words; their content is lost. On failure it keeps the previous room. */
int sbn__request_reserve(sbn_request *request, size_t count, const char *what);

/* Frees the words of a request that is not in flight. */
void sbn__request_free(sbn_request *request);

/* Begins to add the first `count` words; does nothing without others. Fails by sbn__communicator_die_of_transport. */
int sbn__request_start(sbn_communicator *communicator, sbn_request *request, int tag, size_t count);

/* Sets *done to 1 when the sum is complete. Never blocks. Errors as of sbn__request_start. */
int sbn__request_poll(sbn_communicator *communicator, sbn_request *request, int *done);

/* Waits for the sum: SBN_TIMEOUT "rank 0 waited 10 s in `what` for rank 1". An error abandons it. */
int sbn__request_wait(sbn_communicator *communicator, sbn_request *request, const char *what);

/* Leaves the words of a request in flight to the communicator. */
void sbn__request_abandon(sbn_communicator *communicator, sbn_request *request);

/* A caller that waits for several requests at once polls them until a deadline. */
typedef struct sbn_deadline {
    double since, seen; /* when it began, and the last look at it */
    uint64_t completed;
    int asked; /* the transport who is missing */
} sbn_deadline;

sbn_deadline sbn__deadline_start(const sbn_communicator *communicator);

/* 1 if it has passed or a thread has called sbn_group_abort; else yields the processor, or sleeps for 0.1 ms. */
int sbn__deadline_passed(const sbn_communicator *communicator, sbn_deadline *deadline,
                         const sbn_request *late);

/*
 * After the deadline: the communicator becomes dead or alone. Returns SBN_TIMEOUT or SBN_ABORTED, or
 * the transport's error, with the sentence. `late` is the request waited for, or NULL; after an abort
 * the other ranks have up to a second to say that they have begun it.
 */
int sbn__communicator_time_out(sbn_communicator *communicator, sbn_request *late, const char *what);
