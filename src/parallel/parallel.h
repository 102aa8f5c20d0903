/*
 * The insides of sbn_parallel: exchanges in the order they began, cut into
 * buckets, a few of which are on their way at a time.
 *
 *   exchange   HEADER -> MOVING -> SETTLED
 *   bucket     READING -> LEVELS -> SUMS -> WRITING -> IDLE
 *
 * The group of its own has the transport, with streams of its own, on each of
 * which all ranks start the same requests in the same order: headers as
 * exchanges begin; levels (SBN_TAG_REPEAT) and sums (SBN_TAG_WORDS) as
 * buckets follow each other. What a rank does next depends on the sums alone.
 * After a failure an exchange's further buckets still meet on the stream of
 * levels, whose first words say who has failed, and move nothing.
 */
#ifndef SBN_SRC_PARALLEL_PARALLEL_H
#define SBN_SRC_PARALLEL_PARALLEL_H

#include <syncbn/parallel.h>

#include "group/group.h"
#include "device/staging.h"

/* One is read, one added, one written. */
#define SBN_BUCKETS 3

typedef enum sbn_exchange_stage { SBN_HEADER, SBN_MOVING, SBN_SETTLED } sbn_exchange_stage;

struct sbn_exchange {
    sbn_object object;
    sbn_exchange *next_idle;
    sbn_parallel *parallel;
    int ended;    /* kept for its memory */
    int averages; /* or else: broadcasts from `root` */
    size_t root;
    const size_t *counts;
    size_t tensors;
    const sbn_tensors *replicas;
    char name[64]; /* in sentences: "averaging of 3 tensors, 1000 floats" */
    uint64_t floats;
    uint64_t digest; /* of all that ranks must agree on */

    sbn_exchange_stage stage;
    int64_t *header; /* on the heap: a timeout abandons it */
    void *request;
    size_t tensor, first; /* where the next bucket begins */
    size_t buckets;       /* on their way, not yet being written */
    int error;            /* of this rank, for the others to hear of */
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
    sbn_staging *host; /* per replica: its floats */
    cl_event *copied;  /* per replica: its last copy */
    int64_t *levels;   /* who has failed; then a range for each block */
    int64_t *sums;
    size_t levels_size, sums_size;
    void *request;
} sbn_bucket;

struct sbn_parallel {
    sbn_object object;
    sbn_group *own;         /* the group's replicas, with a transport of their own; or NULL */
    int *ranks;             /* of its ranks, in the group that was split */
    size_t replicas, first; /* over all ranks; this rank's first */
    size_t bucket_floats;
    sbn_bucket buckets[SBN_BUCKETS]; /* a ring: `busy` of them from `oldest` on */
    size_t oldest, busy;
    sbn_exchange *under_way[SBN_MAX_PASSES]; /* in the order they began */
    size_t under_way_count;
    sbn_exchange *idle;
    uint64_t moves; /* counted, so that waiting knows a standstill */
};

/* Memory for a first exchange, so that it can tell the others whatever goes wrong. */
int sbn__exchange_prepare(sbn_parallel *parallel);
void sbn__exchange_free(sbn_exchange *exchange);

/* Has this rank others to meet? */
int sbn__parallel_is_joined(const sbn_parallel *parallel);

/* This rank's rank in the group that was split. */
int sbn__parallel_rank(const sbn_parallel *parallel);

/* "rank 1" or "ranks 1, 3": the ranks whose `chosen` is not 0. */
void sbn__parallel_name_ranks(const sbn_parallel *parallel, const unsigned char *chosen, char *out,
                              size_t size);

/* "rank 1, 3", as far as the transport knows, for a request that has not ended in time. */
void sbn__parallel_name_missing(const sbn_parallel *parallel, void *request, char *out,
                                size_t size);

/* Words for a status of each rank. */
size_t sbn__status_words(const sbn_parallel *parallel);

/* The transport's function returned `code`: nothing can be told any more. */
void sbn__parallel_fail_transport(sbn_parallel *parallel, int code, const char *what);

#endif
