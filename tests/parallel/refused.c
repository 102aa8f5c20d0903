/*
 * Ranks that do not agree on an exchange of tensors, and devices that fail in it: each rank learns
 * who did what, nothing has changed where that is promised, and the next exchange succeeds. Threads
 * over the in-memory transport, or ranks over MPI.
 */
#include <stdio.h>
#include <string.h>

#include "support/exchanges.h"
#include "support/main.h"
#include "support/refused_ranks.h"
#include "support/wraps.h"

static uint64_t mean; /* of all right averages */

/* --- one call --- */

typedef struct arguments {
    size_t counts[TENSORS], count, offset; /* of tensor 3 */
    int broadcast, no_tensors;
    int beside;    /* another exchange is under way, whose memory this one cannot take */
    int behind;    /* a broadcast follows */
    int condemned; /* the first copy from the device fails there, after it has been enqueued */
    size_t root;
    size_t bucket_bytes; /* above 0: another sbn_data_parallel is made of it instead */
    failure fails;
} arguments;

static void right(test_rank *m, void *of)
{
    arguments *a = of;
    *a = (arguments){.count = TENSORS, .offset = exchange_of[m->rank].buffers[0][3].offset};
    memcpy(a->counts, exchange_counts, sizeof a->counts);
}

/* A handle beside an error counts as success. */
static int create(test_rank *m, size_t bucket_bytes)
{
    sbn_data_parallel *made;
    const sbn_data_parallel_config config = {sizeof config, bucket_bytes};
    rank_says(m, sbn_data_parallel_create(m->group, &config, &made));
    m->status = made ? SBN_SUCCESS : m->status;
    sbn_data_parallel_destroy(made);
    return m->status;
}

static int call(test_rank *m, const void *of)
{
    const arguments *a = of;
    if (a->bucket_bytes)
        return create(m, a->bucket_bytes);
    exchange_tensors *t = &exchange_of[m->rank];
    sbn_data_parallel *const parallel = exchange_joined[m->rank];
    const sbn_tensors *const given = a->no_tensors ? NULL : t->of;
    const size_t offset = t->buffers[0][3].offset;
    const sbn_tensors none = SBN_TENSORS_INIT;
    sbn_exchange *first = NULL;
    events_release(t->events, m->replicas);
    if (a->beside)
        must(sbn_average_gradients_begin(parallel, NULL, 0, &none, &first), "begin");
    t->buffers[0][3].offset = a->offset;
    wraps_fail(a->fails.function, a->fails.n);
    wraps_condemn(a->condemned);
    rank_says(m, a->broadcast ? sbn_broadcast(parallel, a->counts, a->count, a->root, given)
                              : sbn_average_gradients(parallel, a->counts, a->count, given));
    wraps_fail(WRAP_ANY, 0);
    if (a->behind)
        rank_says(m, sbn_broadcast(parallel, a->counts, a->count, 0, given));
    wraps_condemn(0);
    if (first)
        must(sbn_exchange_end(first), "end");
    t->buffers[0][3].offset = offset;
    return m->status;
}

static void reset(test_rank *m)
{
    tensors_fill(&exchange_of[m->rank], sbn_data_parallel_first(exchange_joined[m->rank]));
}

static uint64_t state(test_rank *m)
{
    return tensors_state(&exchange_of[m->rank]);
}

/* A right average has the same bits each time. */
static int go_on(test_rank *m)
{
    arguments a;
    reset(m);
    right(m, &a);
    call(m, &a);
    m->digest = tensors_digest(&exchange_of[m->rank], NULL);
    if (!m->status && mean && m->digest != mean)
        m->status = SBN_TRANSPORT_ERROR;
    return m->status;
}

#define REPORTED(what) .heard = "rank 1 began averaging and reported " what
#define IN_COPY \
    .status = CL_OUT_OF_RESOURCES, \
    .heard = "rank 1 reported CL_OUT_OF_RESOURCES in averaging of 7 tensors, 6149 floats"
#define OTHERS "; ranks 0, 2, 3 began averaging of 7 tensors, 6149 floats"

static void check_calls(test_ranks *all)
{
    static const ranks_call exchange = {sizeof(arguments), right, call, reset, state, go_on};
    const size_t into_first = exchange_of[ODD_RANK].buffers[0][1].offset + exchange_counts[1] - 1;
    const refusal rows[] = {
        ROW(counts[1], 2990, NULL),
        DISAGREE(counts[3], 1014, "rank 1 began averaging of 7 tensors, 6129 floats|" OTHERS),
        /* As many in other tensors; the first one has room for two more behind it. */
        ROW(counts[0], 3, NULL),
        DISAGREE(counts[5], 2047,
                 "rank 1 began averaging of 7 tensors, 6149 floats (root, sizes|" OTHERS
                 " (root, sizes, bucket_bytes: digest "),
        DISAGREE(count, 1, "rank 1 began averaging of 1 tensor, 1 float (root, sizes|" OTHERS),
        DISAGREE(broadcast, 1, "rank 1 began broadcast of 7 tensors|" OTHERS),
        ROW(broadcast, 1, NULL, .odd = ALL_RANKS),
        DISAGREE(root, 1, "ranks 0, 2 began|ranks 1, 3 began", .odd = 1u << 1 | 1u << 3),
        ROW(no_tensors, 1, "replicas|got NULL", REPORTED("SBN_INVALID_ARGUMENT")),
        ROW(no_tensors, 1, "replicas|got NULL", .odd = 1u << 0,
            .heard = "rank 0 began averaging and reported SBN_INVALID_ARGUMENT"),
        ROW(counts[6], 1070, "sbn_average_gradients: replica 0: tensor 6: expected 1070 floats",
            REPORTED("SBN_INVALID_ARGUMENT")),
        ROW(offset, into_first,
            "sbn_average_gradients: replica 0: tensor 3 must not overlap tensor 1 in the same call",
            REPORTED("SBN_INVALID_ARGUMENT")),
        /* Rank 1's only replica is not the root, though it is the first one there. */
        ROW(broadcast, 1, NULL, .odd = ALL_RANKS),
        ROW(offset, into_first,
            "sbn_broadcast: replica 0: tensor 3 must not overlap tensor 1 in the same call",
            .heard = "rank 1 began broadcast and reported SBN_INVALID_ARGUMENT"),
        ROW(fails, ((failure){WRAP_MARKER, 1}), "clEnqueueMarkerWithWaitList",
            .status = CL_OUT_OF_RESOURCES, REPORTED("CL_OUT_OF_RESOURCES")),
        /* The first copy fails: nothing has been exchanged yet. A later one: something has. */
        ROW(fails, ((failure){WRAP_READ, 1}), "replica 0: tensor 0: clEnqueueReadBuffer", IN_COPY),
        ROW(fails, ((failure){WRAP_READ, 1}), "replica 0: tensor 0: clEnqueueReadBuffer",
            .status = CL_OUT_OF_RESOURCES, .odd = 1u << 0,
            .heard = "rank 0 reported CL_OUT_OF_RESOURCES in averaging of 7 tensors, 6149 floats"),
        ROW(fails, ((failure){WRAP_READ, 6}), "replica 0: tensor |: clEnqueueReadBuffer", IN_COPY,
            .changes = 1),
        ROW(beside, 1, NULL, .odd = ALL_RANKS),
        ROW(fails, ((failure){WRAP_ALLOCATE, 1}), "no memory left for an exchange of tensors",
            .status = SBN_OUT_OF_MEMORY, REPORTED("SBN_OUT_OF_MEMORY")),
        ROW(bucket_bytes, 4096, NULL, .odd = ALL_RANKS),
        ROW(bucket_bytes, 4095, "bucket_bytes: expected 4096 to |got 4095",
            .heard = "rank 1 called sbn_data_parallel_create and reported"),
    };
    RANKS_REFUSE(all, &exchange, rows);
}

/* --- calls of which the next ones know --- */

static const ranks_call alone = {sizeof(arguments), right, call, reset, state, NULL};

/* Before other exchanges, of whose copies the driver would be asked first. */
static void check_first(test_ranks *all)
{
    const refusal rows[] = {
        ROW(condemned, 1, "replica 0: a command failed on the device", IN_COPY),
        /* A broadcast copies nothing from there. */
        ROW(behind, 1, NULL, .odd = ALL_RANKS),
        ROW(condemned, 1, "", .changes = 1),
    };
    RANKS_REFUSE(all, &alone, rows);
}

/* Results cannot be given on rank 1: it says so, and what follows fails on all. */
static void check_end(test_ranks *all, failure fails, const char *words, const char *heard)
{
    char earlier[128];
    snprintf(earlier, sizeof earlier, "rank 1: an exchange failed earlier|%s", words);
    const refusal rows[] = {
        ROW(fails, fails, words, .status = CL_OUT_OF_RESOURCES, .heard = heard, .changes = 1),
        /* A right call. */
        ROW(root, 0, earlier, .status = SBN_GROUP_FAILED, REPORTED("SBN_GROUP_FAILED")),
    };
    RANKS_REFUSE(all, &alone, rows);
    ranks_do(all, exchange_leave);
}

void checks(void)
{
    test_ranks all;
    ranks_open(&all, &device, 4, NULL, NULL, NULL);
    ranks_do(&all, exchange_join);
    check_first(&all);
    ranks_do(&all, go_on);
    mean = exchanges_digest(&all, "averaged");
    check_calls(&all);
    /* Of several buckets any may have its sums first. */
    check_end(&all, (failure){WRAP_WRITE, 1}, "replica 0: tensor |: clEnqueueWriteBuffer",
              "rank 1 reported CL_OUT_OF_RESOURCES in averaging");
    ranks_do(&all, exchange_join);
    /* The first marker is the beginning's. */
    check_end(&all, (failure){WRAP_MARKER, 2}, "replica 0: clEnqueueMarkerWithWaitList", "");
    /* The group itself knows nothing of all that. */
    ranks_do(&all, rank_train);
    ranks_expect(&all, SBN_SUCCESS, "", SBN_SUCCESS, "", "batch norm goes on");
    ranks_close(&all);
}
