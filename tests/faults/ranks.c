/*
 * Three ranks, threads over a hub: calls of the second one fail. The others learn of it or wait
 * until their timeout. Calls of a rank that has failed are refused, and then those of all.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "faults/scenario.h"
#include "faults/stand.h"
#include "support/exchanges.h"
#include "support/wraps.h"

enum { RANKS = REPLICAS, FAULTY = 1, LAST_CALL = 7 };

/* Its group, layer and saved statistics are those of its number in the stand. */
typedef struct member {
    int rank, number; /* the step */
    sbn_data_parallel *parallel;
    exchange_tensors tensors;
    int status;
    char sentence[512];
    pthread_t thread;
} member;

static sbn_hub *hub;
static member members[RANKS];
static int timed_out;
/* Of groups, in seconds: more in a process's first run, which has no failure and may compile kernels. */
static double timeout = 60;

static void open_member(member *m)
{
    const size_t i = (size_t)m->rank;
    const test_rank rank = {.replicas = 1, .queue = at.queues[i]};
    sbn_transport transport = SBN_TRANSPORT_INIT;
    must(sbn_hub_transport(hub, m->rank, &transport), "sbn_hub_transport");
    must(STAND_GROUP(i, .queues = &at.queues[i], .transport = &transport, .timeout = timeout),
         "sbn_group_create");
    must(stand_both(i, at.groups[i]), "sbn_saved_create");
    tensors_open(&m->tensors, &rank);
    tensors_fill(&m->tensors, i);
}

static void begin(void)
{
    timed_out = 0;
    slices_reset(at.slices, RANKS);
    must(sbn_hub_create(RANKS, &hub), "sbn_hub_create");
    for (int rank = 0; rank < RANKS; ++rank) {
        members[rank] = (member){.rank = rank};
        open_member(&members[rank]);
    }
}

static void end(void)
{
    for (int rank = 0; rank < RANKS; ++rank) {
        member *m = &members[rank];
        sbn_data_parallel_destroy(m->parallel);
        wraps_pause();
        tensors_close(&m->tensors);
        wraps_resume();
    }
    stand_end();
    sbn_hub_destroy(hub);
    timeout = 1;
}

/* The ranks 0 and 1, and 2 alone; a pass of each part. */
static int split(member *m)
{
    const int colour = m->rank == 2;
    sbn_group *part;
    sbn_batchnorm *layer = NULL;
    sbn_saved *saved = NULL;
    int status = sbn_group_split(at.groups[m->rank], &colour, &part);
    if (status)
        return status;
    must(2 - colour - sbn_group_world_size(part), "the number of a part's ranks");
    status = MAKE_LAYER(&layer, part, .channels = CHANNELS);
    if (!status)
        status = sbn_saved_create(layer, &saved);
    if (!status)
        status = sbn_forward(layer, &at.slices[m->rank].shard, saved, 0, NULL);
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(part);
    return status;
}

static int connect(member *m)
{
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = 8192;
    sbn_data_parallel_destroy(m->parallel);
    return sbn_data_parallel_create(at.groups[m->rank], &config, &m->parallel);
}

/* The last rank calls another pass: that all say so is a success here. */
static int disagree(member *m)
{
    const sbn_shard *shard = &at.slices[m->rank].shard;
    sbn_batchnorm *layer = at.layers[m->rank];
    sbn_saved *saved = at.saved[m->rank];
    const int status = m->rank == RANKS - 1 ? sbn_backward(layer, shard, saved, 0, NULL)
                                            : sbn_forward(layer, shard, saved, 0, NULL);
    return status == SBN_DISAGREEMENT ? SBN_SUCCESS : status ? status : SBN_INVALID_ARGUMENT;
}

static int act(member *m)
{
    const sbn_shard *shard = &at.slices[m->rank].shard;
    const sbn_tensors *tensors = m->tensors.of;
    sbn_batchnorm *layer = at.layers[m->rank];
    sbn_saved *saved = at.saved[m->rank];
    switch (m->number) {
    case 0: return sbn_forward(layer, shard, saved, 0, NULL);
    case 1: return sbn_backward(layer, shard, saved, SBN_GLOBAL_GRADIENTS, NULL);
    case 2: return split(m);
    case 3: return connect(m);
    case 4: return sbn_broadcast(m->parallel, exchange_counts, TENSORS, 1, tensors);
    case 5: return sbn_average_gradients(m->parallel, exchange_counts, TENSORS, tensors);
    case 6: return sbn_forward(layer, &at.huge[m->rank].shard, saved, 0, NULL);
    default: return disagree(m); /* LAST_CALL */
    }
}

static void *run(void *argument)
{
    member *m = argument;
    expect_leaks(); /* of a timeout; those of the rest are counted */
    m->status = act(m);
    snprintf(m->sentence, sizeof m->sentence, "%s", sbn_last_error());
    return NULL;
}

static void prepare(int number)
{
    for (int rank = 0; rank < RANKS; ++rank) {
        members[rank].number = number;
        if (number > 3)
            tensors_fill(&members[rank].tensors, (size_t)rank);
    }
}

/* An error of another rank's call is that it waited too long, or names the faulty one and its error. */
static void judge_others(void)
{
    const member *faulty = &members[FAULTY];
    for (int rank = 0; rank < RANKS; ++rank) {
        const member *m = &members[rank];
        if (m->status == SBN_REMOTE_ERROR &&
            (!strstr(m->sentence, "rank 1") ||
             (faulty->status == SBN_OUT_OF_MEMORY && !strstr(m->sentence, "SBN_OUT_OF_MEMORY"))))
            tap_ok(0, "rank %d: %s", rank, m->sentence);
        if (!m->status && faulty->status == SBN_OUT_OF_MEMORY && (m->number < 2 || m->number == 3))
            tap_ok(0, "rank %d has not been told of %s", rank, faulty->sentence);
    }
}

/* A refusal, else the faulty rank's error, else another's. */
static const member *worst(void)
{
    const member *found = &members[FAULTY];
    for (int rank = 0; rank < RANKS; ++rank) {
        const member *m = &members[rank];
        timed_out = timed_out || m->status == SBN_TIMEOUT;
        if (m->status == SBN_GROUP_FAILED || (!found->status && m->status))
            found = m;
    }
    return found;
}

static int step(int number)
{
    wraps_pause();
    prepare(trying->variant && number ? LAST_CALL : number);
    for (int rank = 0; rank < RANKS; ++rank)
        if (rank != FAULTY)
            must(pthread_create(&members[rank].thread, NULL, run, &members[rank]),
                 "pthread_create");
    wraps_resume();
    run(&members[FAULTY]);
    for (int rank = 0; rank < RANKS; ++rank)
        if (rank != FAULTY)
            pthread_join(members[rank].thread, NULL);
    judge_others();
    const member *m = worst();
    return sbn_set_last_error(m->status, m->sentence);
}

static uint64_t statistics(void)
{
    uint64_t digest = SBN_DIGEST_START;
    for (int rank = 0; rank < RANKS; ++rank)
        digest = stand_running(digest, at.layers[rank]);
    return digest;
}

static uint64_t result(void)
{
    uint64_t digest = stand_outputs(statistics(), at.slices, RANKS);
    for (int rank = 0; rank < RANKS; ++rank) {
        const uint64_t tensors = tensors_digest(&members[rank].tensors, NULL);
        digest = sbn__digest(digest, &tensors, sizeof tensors);
    }
    return digest;
}

/* If all groups still work, no rank's pass has succeeded. Splits are left out: they have their own pass. */
static uint64_t kept(int number)
{
    int usable = (number < 2 || number > 5) && !timed_out;
    for (int rank = 0; rank < RANKS; ++rank)
        usable = usable && stand_usable(at.groups[rank]);
    return usable ? stand_outputs(statistics(), at.slices, RANKS) : 0;
}

static int may_leak(void)
{
    return timed_out;
}

static const int survived[] = {WRAP_EVENT_INFO, WRAP_WAIT, WRAP_FINISH, SURVIVED_RELEASES, -1};

/* A sentence may be shorter for lack of memory: then nothing has failed. */
static const int survived_sentence[] = {WRAP_ALLOCATE, WRAP_EVENT_INFO,   WRAP_WAIT,
                                        WRAP_FINISH,   SURVIVED_RELEASES, -1};

const scenario rank_scenarios[] = {
    SCENARIO("three ranks", .begin = begin, .step = step, .steps = 7, .kept = kept,
             .result = result, .end = end, .survived = survived, .may_leak = may_leak, .waits = 1),
    SCENARIO("three ranks that disagree", .variant = "disagree", .begin = begin, .step = step,
             .steps = 2, .kept = kept, .result = result, .end = end, .survived = survived_sentence,
             .may_leak = may_leak, .waits = 1),
    {.name = NULL},
};
const int scenarios_reach_all = 0;
const scenario *const scenario_lists[] = {rank_scenarios, NULL};
