/*
 * What joins this rank to others: a transport, how long to wait for them, and what errors and
 * timeouts have left of it. It knows neither passes nor exchanges of tensors.
 *
 *   alive    requests may be started
 *   failed   no new work, but the other ranks can be told: the next collective carries the status
 *   dead     they cannot be told; `reason` says why
 *   alone    a timeout with SBN_TIMEOUT_LOCAL: this rank goes on, joined to nobody
 */
#ifndef SBN_COLLECTIVE_COMMUNICATOR_H
#define SBN_COLLECTIVE_COMMUNICATOR_H

#include <stdatomic.h>
#include <stdint.h>

#include <syncbn/group.h>
#include <syncbn/transport.h>

#include "base/error.h"

/* The words of a request and the transport's handle of it, in one piece: abandoning needs no memory. */
typedef struct sbn_request_block {
    struct sbn_request_block *next; /* abandoned */
    void *handle;
    int64_t words[];
} sbn_request_block;

typedef struct sbn_communicator {
    sbn_transport transport; /* start NULL: there is none */
    int owns_transport;      /* made by a split: to be ended */
    uint32_t calls;          /* that all ranks have made so far: what headers number */
    int subsets;             /* that splits of it have made, here and on other ranks */
    int *names;              /* per rank: its number in sentences; NULL: the same */
    double timeout;
    sbn_timeout_action on_timeout;
    const atomic_int *abort_flag; /* set by any thread: sbn_group_abort; or NULL */
    int alone;
    int status; /* other than SBN_SUCCESS: failed, */
    int dead;   /* or even dead */
    int broken; /* the transport must not be called any more */
    char reason[SBN_SENTENCE_SIZE];
    uint64_t completed;           /* requests, as signs of life */
    sbn_request_block *abandoned; /* whose words the transport may still write */
} sbn_communicator;

/* Of a transport that stays the caller's, or NULL: of this rank alone. */
void sbn__communicator_open(sbn_communicator *communicator, const sbn_transport *transport,
                            double timeout, sbn_timeout_action on_timeout);

/* No request of its users may be in flight. */
void sbn__communicator_close(sbn_communicator *communicator);

/* Do other ranks take part in its requests? */
int sbn__communicator_is_joined(const sbn_communicator *communicator);

int sbn__communicator_rank(const sbn_communicator *communicator);
int sbn__communicator_world_size(const sbn_communicator *communicator);

/* A rank's number in sentences. */
int sbn__communicator_name(const sbn_communicator *communicator, int rank);

/* Takes over the words of a request in flight. */
void sbn__communicator_adopt(sbn_communicator *communicator, sbn_request_block *block);

/* Looks after those, so that the other ranks' requests progress; frees what is done. */
void sbn__communicator_sweep(sbn_communicator *communicator);

/* Fails, unless it has before, with the last sentence as the reason. Returns `status`. */
int sbn__communicator_fail(sbn_communicator *communicator, int status);

/* The same, and the other ranks will not be told: they learn by their timeout. */
int sbn__communicator_die(sbn_communicator *communicator, int status);

/*
 * The other ranks are out of reach, by a timeout: dead, or, as it was configured, alone. The last
 * sentence is the reason.
 */
int sbn__communicator_part(sbn_communicator *communicator, int status);

/*
 * Memory has run out before a collective, and so that this rank cannot even take part to say so: it
 * dies with SBN_OUT_OF_MEMORY. (Where it can, the collective carries that status and it lives.)
 */
int sbn__communicator_die_of_memory(sbn_communicator *communicator, const char *what);

/*
 * The transport's function has returned `code`: it dies with SBN_TRANSPORT_ERROR, or with
 * SBN_OUT_OF_MEMORY where that is the code. The sentence holds the last one.
 */
int sbn__communicator_die_of_transport(sbn_communicator *communicator, int code,
                                       const char *function);

/* Has a thread called sbn_group_abort? Looked at wherever ranks are waited for. */
int sbn__communicator_is_aborted(const sbn_communicator *communicator);

/*
 * SBN_SUCCESS, or SBN_GROUP_FAILED: "rank 1: the group failed earlier: ...". An abort that nothing has
 * noticed yet is noticed here.
 */
int sbn__communicator_check(sbn_communicator *communicator, const char *what);

#endif
