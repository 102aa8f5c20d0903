/* Data-parallel training in one process: a broadcast, and averages at once and side by side. */
#include <stdio.h>

#include "faults/scenario.h"
#include "faults/stand.h"
#include "parallel/parallel.h"
#include "support/exchanges.h"
#include "support/wraps.h"

static sbn_data_parallel *parallel;
static exchange_tensors first, second;

static void begin(void)
{
    const test_rank rank = {.replicas = REPLICAS, .queue = at.queues[0]};
    stand_begin(0, REPLICAS);
    tensors_open(&first, &rank);
    tensors_open(&second, &rank);
    tensors_fill(&first, 0);
    tensors_fill(&second, 0);
}

static void end(void)
{
    sbn_data_parallel_destroy(parallel);
    parallel = NULL;
    wraps_pause();
    tensors_close(&first);
    tensors_close(&second);
    wraps_resume();
    stand_end();
}

/*
 * The copies of replicas whose queues are others are ordered by those. If a marker behind earlier copies and then the
 * wait for these failed, they may still be under way.
 */
static void fill(void)
{
    wraps_pause();
    stand_finish();
    for (size_t r = 0; r < REPLICAS; ++r)
        must(clFinish(parallel->replicas[r].transfer_queue), "clFinish");
    tensors_fill(&first, 0);
    tensors_fill(&second, 0);
    wraps_resume();
}

/* An exchange that fails gives no event. */
static void check_events(const exchange_tensors *t, int status)
{
    for (size_t r = 0; r < REPLICAS; ++r)
        if (status && t->events[r])
            tap_ok(0, "an event, and %s", sbn_strerror(status));
}

/* The second time memory of this size is there. */
static int average_twice(void)
{
    const sbn_tensors *of = first.of;
    int status = sbn_average_gradients(parallel, exchange_counts, TENSORS, of);
    check_events(&first, status);
    if (status)
        return status;
    fill();
    const long before = wraps_calls[WRAP_ALLOCATE] + wraps_calls[WRAP_CREATE_BUFFER];
    status = sbn_average_gradients(parallel, exchange_counts, TENSORS, of);
    if (!status && wraps_calls[WRAP_ALLOCATE] + wraps_calls[WRAP_CREATE_BUFFER] != before)
        tap_ok(0, "an exchange of a known size allocates");
    return status;
}

static int side_by_side(void)
{
    sbn_exchange *small, *large;
    char sentence[512];
    const long before = wraps_calls[WRAP_READ];
    int status = sbn_average_gradients_begin(parallel, exchange_counts, 1, first.of, &small);
    if (status)
        return status;
    if (wraps_calls[WRAP_READ] == before && wraps_failed != WRAP_EVENT_INFO)
        tap_ok(0, "the copies have not begun");
    status = sbn_average_gradients_begin(parallel, exchange_counts, TENSORS, second.of, &large);
    if (!status)
        status = sbn_exchange_end(large);
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    check_events(&second, status);
    const int other = sbn_exchange_end(small);
    check_events(&first, other);
    return other ? other : status ? sbn_set_last_error(status, sentence) : SBN_SUCCESS;
}

static int step(int number)
{
    const sbn_data_parallel_config config = {sizeof config, 8192};
    if (number == 0)
        return sbn_data_parallel_create(at.groups[0], &config, &parallel);
    fill();
    switch (number) {
    case 1: return sbn_broadcast(parallel, exchange_counts, TENSORS, 1, first.of);
    case 2: return side_by_side();
    default: return average_twice();
    }
}

static uint64_t result(void)
{
    stand_finish();
    const uint64_t digests[] = {tensors_digest(&first, NULL), tensors_digest(&second, NULL)};
    return sbn__digest(SBN_DIGEST_START, digests, sizeof digests);
}

static uint64_t kept(int number)
{
    return number == 0 ? 1 + (parallel != NULL) : 0;
}

/* Whether an earlier copy has been written may be asked when all has been said. */
static const int survived[] = {WRAP_EVENT_INFO, WRAP_WAIT, WRAP_FINISH, SURVIVED_RELEASES, -1};

const scenario parallel_scenarios[] = {
    SCENARIO("data-parallel training", .begin = begin, .step = step, .steps = 4, .kept = kept,
             .result = result, .end = end, .survived = survived),
    {.name = NULL},
};
