/*
 * Three ranks, threads over a hub: calls of the second one fail. The others learn of it or wait
 * until their timeout. Calls of a rank that has failed are refused, and then those of all.
 */
#include <pthread.h>
#include <string.h>

#include "faults/scenario.h"
#include "faults/stand.h"
#include "support/exchanges.h"
#include "support/wraps.h"

enum { RANKS = REPLICAS, FAULTY = 1, LAST_CALL = 7 };

/* Groups, layers and saved statistics are the stand's, tensors and handles those of support/exchanges.h. */
static sbn_hub *hub;
static test_rank members[RANKS];
static int now, timed_out; /* the step; in this run */
/* Of groups, in seconds: more in a process's first run, which has no failure and may compile kernels. */
static double timeout = 60;

static void open_member(test_rank *m)
{
    const size_t i = (size_t)m->rank;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    must(sbn_hub_transport(hub, m->rank, &transport), "sbn_hub_transport");
    must(STAND_GROUP(i, .queues = &at.queues[i], .transport = &transport, .timeout = timeout),
         "sbn_group_create");
    must(stand_both(i, at.groups[i]), "sbn_saved_create");
    m->group = at.groups[i];
    m->layer = at.layers[i];
    m->saved = at.saved[i];
    m->shards[0] = at.slices[i].shard;
    exchange_joined[i] = NULL;
    tensors_open(&exchange_of[i], m);
    tensors_fill(&exchange_of[i], i);
}

static void begin(void)
{
    timed_out = 0;
    slices_reset(at.slices, RANKS);
    must(sbn_hub_create(RANKS, &hub), "sbn_hub_create");
    for (int rank = 0; rank < RANKS; ++rank) {
        members[rank] = (test_rank){.rank = rank, .replicas = 1, .queue = at.queues[rank]};
        open_member(&members[rank]);
    }
}

static void end(void)
{
    for (int rank = 0; rank < RANKS; ++rank) {
        sbn_data_parallel_destroy(exchange_joined[rank]);
        wraps_pause();
        tensors_close(&exchange_of[rank]);
        wraps_resume();
    }
    stand_end();
    sbn_hub_destroy(hub);
    timeout = 1;
}

/* The ranks 0 and 1, and 2 alone; a pass of each part. */
static int split(const test_rank *m)
{
    const int colour = m->rank == 2;
    sbn_group *part;
    sbn_batchnorm *layer = NULL;
    sbn_saved *saved = NULL;
    int status = sbn_group_split(m->group, &colour, &part);
    if (status)
        return status;
    must(2 - colour - sbn_group_world_size(part), "the number of a part's ranks");
    status = MAKE_LAYER(&layer, part, .channels = CHANNELS);
    if (!status)
        status = sbn_saved_create(layer, &saved);
    if (!status)
        status = sbn_forward(layer, m->shards, saved, 0, NULL);
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(part);
    return status;
}

static int connect(const test_rank *m)
{
    const sbn_data_parallel_config config = {sizeof config, 8192};
    sbn_data_parallel_destroy(exchange_joined[m->rank]);
    return sbn_data_parallel_create(m->group, &config, &exchange_joined[m->rank]);
}

/* The last rank calls another pass: that all say so is a success here. */
static int disagree(const test_rank *m)
{
    const int status = fixture_pass(m->rank == RANKS - 1 ? BACKWARD : FORWARD, m->layer, m->shards,
                                    m->saved, 0, NULL);
    return status == SBN_DISAGREEMENT ? SBN_SUCCESS : status ? status : SBN_INVALID_ARGUMENT;
}

static int act(const test_rank *m)
{
    const sbn_tensors *tensors = exchange_of[m->rank].of;
    sbn_data_parallel *parallel = exchange_joined[m->rank];
    switch (now) {
    case 0: return sbn_forward(m->layer, m->shards, m->saved, 0, NULL);
    case 1: return sbn_backward(m->layer, m->shards, m->saved, SBN_GLOBAL_GRADIENTS, NULL);
    case 2: return split(m);
    case 3: return connect(m);
    case 4: return sbn_broadcast(parallel, exchange_counts, TENSORS, 1, tensors);
    case 5: return sbn_average_gradients(parallel, exchange_counts, TENSORS, tensors);
    case 6: return sbn_forward(m->layer, &at.huge[m->rank].shard, m->saved, 0, NULL);
    default: return disagree(m); /* LAST_CALL */
    }
}

static void *run(void *argument)
{
    expect_leaks(); /* of a timeout; those of the rest are counted */
    rank_says(argument, act(argument));
    return NULL;
}

/* An error of another rank's call is that it waited too long, or names the faulty one and its error. */
static void judge_others(void)
{
    const test_rank *faulty = &members[FAULTY];
    for (int rank = 0; rank < RANKS; ++rank) {
        const test_rank *m = &members[rank];
        if (m->status == SBN_REMOTE_ERROR &&
            (!strstr(m->sentence, "rank 1") ||
             (faulty->status == SBN_OUT_OF_MEMORY && !strstr(m->sentence, "SBN_OUT_OF_MEMORY"))))
            tap_ok(0, "rank %d: %s", rank, m->sentence);
        if (!m->status && faulty->status == SBN_OUT_OF_MEMORY && (now < 2 || now == 3))
            tap_ok(0, "rank %d has not been told of %s", rank, faulty->sentence);
    }
}

/* A refusal, else the faulty rank's error, else another's. */
static const test_rank *worst(void)
{
    const test_rank *found = &members[FAULTY];
    for (int rank = 0; rank < RANKS; ++rank) {
        const test_rank *m = &members[rank];
        timed_out = timed_out || m->status == SBN_TIMEOUT;
        if (m->status == SBN_GROUP_FAILED || (!found->status && m->status))
            found = m;
    }
    return found;
}

static int step(int number)
{
    pthread_t threads[RANKS];
    wraps_pause();
    now = trying->variant && number ? LAST_CALL : number;
    for (size_t rank = 0; rank < RANKS && now > 3; ++rank)
        tensors_fill(&exchange_of[rank], rank);
    for (int rank = 0; rank < RANKS; ++rank)
        if (rank != FAULTY)
            must(pthread_create(&threads[rank], NULL, run, &members[rank]), "pthread_create");
    wraps_resume();
    run(&members[FAULTY]);
    for (int rank = 0; rank < RANKS; ++rank)
        if (rank != FAULTY)
            pthread_join(threads[rank], NULL);
    judge_others();
    const test_rank *m = worst();
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
        const uint64_t tensors = tensors_digest(&exchange_of[rank], NULL);
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
const scenario *const scenario_lists[] = {rank_scenarios, NULL};
