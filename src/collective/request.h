/*
 * A request to the other ranks: words that are added up over all of them. It is the only place
 * that calls the transport's start, test and missing.
 *
 * The request owns its words. An abandoned one, in flight when a timeout or an error ended what it
 * was for, passes them to the communicator, which keeps them until the transport is done with them,
 * if need be for the life of the process; the request is empty then, and may be used again.
 *
 * The deadline. A rank that waits gives up when nothing has happened for the communicator's timeout:
 * that time begins when it starts to wait, and again with every request of the communicator that
 * completes, and with every wait for devices of its own. Passes, splits and exchanges of tensors
 * all wait so.
 */
#ifndef SBN_COLLECTIVE_REQUEST_H
#define SBN_COLLECTIVE_REQUEST_H

#include "collective/communicator.h"

typedef struct sbn_request {
    sbn_request_block *block;
    int64_t *words; /* of the block */
    size_t capacity;
    int in_flight;
} sbn_request;

/* Room for `count` words; what they held is lost. Without memory it keeps the room that it had. */
int sbn__request_reserve(sbn_request *request, size_t count, const char *what);

/* Frees the words of a request that is not in flight. */
void sbn__request_free(sbn_request *request);

/*
 * Begins to add the first `count` words. Where there are no other ranks that is all. A transport
 * that fails kills the communicator: SBN_TRANSPORT_ERROR, or SBN_OUT_OF_MEMORY where it says so.
 */
int sbn__request_start(sbn_communicator *communicator, sbn_request *request, int tag, size_t count);

/* Sets *done to 1 when the sum is there. Never blocks. Errors as above. */
int sbn__request_poll(sbn_communicator *communicator, sbn_request *request, int *done);

/* Waits for the sum: SBN_TIMEOUT "rank 0 waited 10 s in `what` for rank 1". Errors abandon it. */
int sbn__request_wait(sbn_communicator *communicator, sbn_request *request, const char *what);

/* Leaves the words of a request in flight to the communicator. */
void sbn__request_abandon(sbn_communicator *communicator, sbn_request *request);

/* For those who wait for several requests at once, and poll them. */
typedef struct sbn_deadline {
    double since;
    uint64_t completed;
    int asked; /* the transport who is missing */
} sbn_deadline;

sbn_deadline sbn__deadline_start(const sbn_communicator *communicator);

/* Has it passed, or has a thread called sbn_group_abort? If not, it yields the processor. */
int sbn__deadline_passed(const sbn_communicator *communicator, sbn_deadline *deadline,
                         const sbn_request *late);

/*
 * It has: the communicator is dead, or alone. Returns SBN_TIMEOUT, or SBN_ABORTED, with the sentence.
 * `late` is the request waited for, or NULL.
 */
int sbn__communicator_time_out(sbn_communicator *communicator, const sbn_request *late,
                               const char *what);

#endif
