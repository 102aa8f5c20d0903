/*
 * The definition of sbn_data_parallel: exchanges in the order they began, divided into buckets, a
 * few of which are processed at a time.
 *
 *   exchange   HEADER -> MOVING -> SETTLED -> ENDED, kept for its memory
 *   bucket     READING -> LEVELS -> SUMS -> WRITING -> IDLE
 *
 * Its communicator is split from the group's. With each tag all ranks start the same requests in the same order:
 * headers as exchanges begin; levels (SBN_TAG_REPEAT) and sums (SBN_TAG_WORDS) in the order of buckets. A rank decides
 * from the sums alone what it does next. After an error the remaining buckets of an exchange still add their levels,
 * whose first words name the ranks that failed, and copy nothing.
 */
#pragma once

#include <syncbn/data_parallel.h>

#include "base/object.h"
#include "base/versioned_struct.h"
#include "collective/request.h"
#include "device/staging.h"
#include "group/group.h"

/* One bucket is read, one is added, and one is written at a time. */
#define SBN_BUCKETS 3

typedef enum { SBN_HEADER, SBN_MOVING, SBN_SETTLED, SBN_ENDED } sbn_exchange_stage;

struct sbn_exchange {
    sbn_object object;
    sbn_exchange *next_idle;
    sbn_data_parallel *parallel;
    int averages; /* 0: a broadcast from `root` */
    size_t root;
    const size_t *counts;
    size_t tensors;
    const sbn_tensors *replicas;
    char name[64]; /* in sentences: "averaging of 3 tensors, 1000 floats" */
    uint64_t floats;
    uint64_t digest; /* of all that ranks must agree on */

    sbn_exchange_stage stage;
    sbn_request header;
    size_t tensor, first; /* where the next bucket begins */
    size_t buckets;       /* open and not yet being written */
    int error;            /* of this rank, to be told to the others */
    int status;
    char sentence[SBN_SENTENCE_SIZE]; /* of either */
    cl_event *ready, *written;        /* per replica: after the wait list; the last copy */
};

typedef enum sbn_bucket_stage {
    SBN_BUCKET_IDLE,
    SBN_BUCKET_READING,
    SBN_BUCKET_LEVELS,
    SBN_BUCKET_SUMS,
    SBN_BUCKET_WRITING
} sbn_bucket_stage;

typedef struct sbn_bucket {
    sbn_bucket_stage stage;
    sbn_exchange *exchange; /* until it is being written */
    size_t tensor, first;   /* where it begins */
    size_t floats, blocks;
    int writes;         /* its copies are results, which other ranks take for given */
    sbn_staging *host;  /* per replica: its floats */
    cl_event *copied;   /* per replica: its last copy */
    sbn_request levels; /* who has failed; then a range for each block */
    sbn_request sums;
} sbn_bucket;

struct sbn_data_parallel {
    sbn_object object;
    sbn_group *group; /* whose sbn_group_abort ends it, too */
    sbn_communicator communicator;
    sbn_replica *replicas; /* of this rank, with transfer queues of their own */
    size_t replica_count;  /* 0: this rank takes no part */
    size_t total, first;   /* replicas over all ranks; this rank's first */
    size_t bucket_floats;
    sbn_bucket buckets[SBN_BUCKETS]; /* a ring: `busy` of them from `oldest` on */
    size_t oldest, busy;
    sbn_exchange *under_way[SBN_MAX_PASSES]; /* in the order they began */
    size_t under_way_count;
    sbn_exchange *idle;
    int unwritten;                  /* the status of the first results that were not written, */
    char reason[SBN_SENTENCE_SIZE]; /* and its sentence */
    sbn_claims claims;              /* the tensors of a call, all replicas together */
    uint64_t progress;              /* steps of exchanges and buckets so far */
};

/* The tensors of a replica of this rank; the array must be checked. */
static inline sbn_tensors sbn__tensors_at(const sbn_exchange *exchange, size_t replica)
{
    sbn_tensors tensors;
    sbn__struct_get(&tensors, sizeof tensors, exchange->replicas, replica);
    return tensors;
}
