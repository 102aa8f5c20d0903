/*
 * A communicator connects this rank to others: a transport, a timeout, and its state after errors
 * and timeouts. It knows neither passes nor exchanges of tensors.
 *
 *   alive    requests may be started
 *   failed   no new work; the next collective tells the other ranks the status
 *   dead     the other ranks cannot be told; `reason` says why
 *   alone    after a timeout with SBN_TIMEOUT_LOCAL: this rank continues by itself
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <syncbn/group.h>
#include <syncbn/transport.h>

#include "base/error.h"
#include "collective/forecast.h"

/* The words of a request and the transport's handle, in one block, so that abandoning it allocates nothing. */
typedef struct sbn_request_block {
    struct sbn_request_block *next; /* abandoned */
    void *handle;
    int64_t words[];
} sbn_request_block;

typedef struct sbn_communicator {
    sbn_transport transport; /* start NULL: none, a world of one; end NULL: it is the caller's */
    uint32_t calls;          /* calls made by all ranks so far: the number in the next header */
    sbn_forecast forecast;
    int subsets; /* communicators split from it, here and on other ranks */
    int *names;  /* per rank: its number in sentences; NULL: the same */
    double timeout;
    sbn_timeout_action on_timeout;
    const atomic_int *abort_flag; /* set by any thread: sbn_group_abort; or NULL */
    int alone;
    int status; /* other than SBN_SUCCESS: failed, */
    int dead;   /* or even dead */
    int broken; /* the transport must not be called any more, but to connect other subsets */
    char reason[SBN_SENTENCE_SIZE];
    uint64_t completed;           /* completed requests: progress of the other ranks */
    sbn_request_block *abandoned; /* blocks that the transport may still write to */
} sbn_communicator;

/* The transport remains the caller's. NULL: a communicator of this rank alone. */
void sbn__communicator_open(sbn_communicator *communicator, const sbn_transport *transport,
                            double timeout, sbn_timeout_action on_timeout);

/* No request of its users may be in flight. Keeps the last sentence: the transport may set one. */
void sbn__communicator_close(sbn_communicator *communicator);

/* 1 if other ranks take part in its requests. */
int sbn__communicator_is_joined(const sbn_communicator *communicator);

/* A rank's number in sentences. */
int sbn__communicator_name(const sbn_communicator *communicator, int rank);

/* "ranks 1, 3"; replaces the ranks by their numbers. */
void sbn__communicator_name_ranks(const sbn_communicator *communicator, int *ranks, int count,
                                  char *out, size_t size);

/* Tests abandoned requests, so that other ranks' requests progress, and frees those that are done. */
void sbn__communicator_sweep(sbn_communicator *communicator);

/* Marks it as failed, unless it is already; the last sentence is the reason. Returns `status`. */
int sbn__communicator_fail(sbn_communicator *communicator, int status);

/* Marks it as dead: the other ranks cannot be told and will time out. */
int sbn__communicator_die(sbn_communicator *communicator, int status);

/*
 * The other ranks cannot be reached after a timeout, here or there: dead or, as configured, alone. The last sentence
 * is the reason.
 */
int sbn__communicator_part(sbn_communicator *communicator, int status);

/*
 * Without memory to take part in a collective the rank cannot tell the others: the communicator is dead with
 * SBN_OUT_OF_MEMORY. (Where it can take part, the collective carries that status instead.)
 */
int sbn__communicator_die_of_memory(sbn_communicator *communicator, const char *what);

/*
 * A function of the transport returned `code`: the communicator is dead with SBN_TRANSPORT_ERROR,
 * or SBN_OUT_OF_MEMORY if that is the code. The sentence includes the last one.
 */
int sbn__communicator_die_of_transport(sbn_communicator *communicator, int code,
                                       const char *function);

/* 1 if a thread has called sbn_group_abort. Checked wherever ranks are waited for. */
int sbn__communicator_is_aborted(const sbn_communicator *communicator);

/* SBN_SUCCESS, or SBN_GROUP_FAILED: "rank 1: the group failed earlier: ...". Also notices an abort. */
int sbn__communicator_check(sbn_communicator *communicator, const char *what);
