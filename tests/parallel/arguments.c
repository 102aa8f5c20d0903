/* Bad input to the calls of <syncbn/data_parallel.h>: a clear sentence, and nothing changes. */
#include "base/memory.h"
#include "support/main.h"
#include "support/refused.h"

enum { REPLICAS = 2, TENSORS = 2, FLOATS = 6000, MANY = 3000 };

static fixture other;
static sbn_group *group;
static sbn_data_parallel *parallel;
static cl_mem mem[REPLICAS]; /* 8 MANY floats each */

static uint64_t state(void)
{
    const slice s = {.queue = queue};
    uint64_t digest = SBN_DIGEST_START;
    const long handles = sbn__handles_open();
    must(clFinish(queue), "clFinish");
    for (int r = 0; r < REPLICAS; ++r)
        digest = digest_buffer(digest, &s, &(sbn_buffer){mem[r], 0}, 8 * MANY);
    return sbn__digest(digest, &handles, sizeof handles);
}

static void check_create(void)
{
    sbn_data_parallel_config size = SBN_DATA_PARALLEL_CONFIG_INIT, large = size;
    sbn_data_parallel *made = parallel;
    size.size = 3;
    large.bucket_bytes = SIZE_MAX;
    REFUSED(sbn_data_parallel_create(group, NULL, NULL), "parallel|NULL");
    REFUSED(sbn_data_parallel_create(NULL, NULL, &made), "group|NULL");
    tap_ok(!made, "and no handle");
    REFUSED(sbn_data_parallel_create((sbn_group *)parallel, NULL, &made),
            "group: expected a handle of this kind");
    REFUSED(sbn_data_parallel_create(group, &size, &made), "config: size|got 3");
    REFUSED(sbn_data_parallel_create(group, &large, &made),
            "bucket_bytes: expected 4096 to 1073741824");
    large.bucket_bytes = (size_t)1 << 30;
    RIGHT(sbn_data_parallel_create(group, &large, &made));
    sbn_data_parallel_destroy(made);
    REFUSED(sbn_data_parallel_destroy((sbn_data_parallel *)group),
            "parallel: expected a handle of this kind");
    tap_ok(sbn_data_parallel_replicas(NULL) == 0 && sbn_data_parallel_first(NULL) == 0 &&
               sbn_data_parallel_replicas((sbn_data_parallel *)group) == 0,
           "no handle has no replicas");
    tap_ok(sbn_data_parallel_replicas(parallel) == 2 && sbn_data_parallel_first(parallel) == 0,
           "two replicas, of which this process has the first");
}

typedef struct arguments {
    size_t counts[TENSORS], tensors, root;
    sbn_buffer buffers[REPLICAS][TENSORS];
    int no_counts, no_tensors, no_buffers, broadcast, waits;
} arguments;

static int exchange(const void *of)
{
    const arguments *a = of;
    const size_t *const counts = a->no_counts ? NULL : a->counts;
    cl_event event = (cl_event)&event;
    sbn_tensors tensors[REPLICAS];
    for (size_t r = 0; r < REPLICAS; ++r)
        tensors[r] = (sbn_tensors){.size = sizeof *tensors, .buffers = a->buffers[r]};
    tensors[0].event = &event;
    tensors[1].num_wait = (unsigned)a->waits;
    if (a->no_buffers)
        tensors[1].buffers = NULL;
    const sbn_tensors *const given = a->no_tensors ? NULL : tensors;
    const int status = a->broadcast ? sbn_broadcast(parallel, counts, a->tensors, a->root, given)
                                    : sbn_average_gradients(parallel, counts, a->tensors, given);
    if (!status)
        must(clReleaseEvent(event), "clReleaseEvent");
    return status && given && event ? SBN_SUCCESS : status; /* an error without NULL */
}

static void check_exchanges(void)
{
    cl_mem foreign = fixture_buffer(&other, sizeof(float) * FLOATS, NULL);
    arguments good = {.counts = {1, 5000}, .tensors = TENSORS};
    for (size_t r = 0; r < REPLICAS; ++r)
        for (size_t t = 0; t < TENSORS; ++t)
            good.buffers[r][t] = (sbn_buffer){mem[r], 100 * t};
    const refusal rows[] = {
        ROW(tensors, 1, NULL),
        ROW(no_counts, 1, "sbn_average_gradients: counts: expected 1 sizes, got NULL"),
        ROW(no_tensors, 1, "replicas: expected tensors of 2 replicas, got NULL"),
        ROW(root, 2, NULL),
        ROW(broadcast, 1, "sbn_broadcast: root: expected a replica below 2|got 2"),
        ROW(tensors, 1, NULL),
        ROW(no_buffers, 1, "replica 1: expected 1 buffers, got NULL"),
        ROW(buffers[1][1].mem, NULL, "replica 1: tensor 1: expected a buffer, got NULL"),
        ROW(buffers[1][1].offset, 19001,
            "replica 1: tensor 1: expected 5000 floats from offset 19001|got a buffer of 24000"),
        ROW(buffers[1][1].offset, 19000, ""),
        ROW(buffers[1][0].mem, foreign, "replica 1: tensor 0|context"),
        ROW(counts[1], SIZE_MAX / 2, "tensor 1|got a buffer of 24000"),
        ROW(waits, 1, "replica 1: wait_list: expected 1 events, got NULL"),
    };
    REFUSE("exchange", exchange, good, state, rows);
    clReleaseMemObject(foreign);
}

static void check_under_way(void)
{
    const size_t count = 10;
    const sbn_buffer buffers[REPLICAS] = {{mem[0], 0}, {mem[1], 0}};
    const sbn_tensors tensors[REPLICAS] = {{.size = sizeof *tensors, .buffers = &buffers[0]},
                                           {.size = sizeof *tensors, .buffers = &buffers[1]}};
    const sbn_tensors uneven[REPLICAS] = {tensors[0], {.size = sizeof *tensors + 8}};
    sbn_exchange *many[SBN_MAX_PASSES + 1], *e = (sbn_exchange *)group;
    int ready = 0;
    RIGHT(sbn_average_gradients(parallel, NULL, 0, tensors));
    REFUSED(sbn_average_gradients(parallel, NULL, 0, uneven),
            "sbn_average_gradients: replicas[1]: size: expected |as in element 0, got ");
    REFUSED(sbn_average_gradients_begin((sbn_data_parallel *)group, &count, 1, tensors, &e),
            "parallel: expected a handle of this kind");
    tap_ok(!e, "and no handle");
    cl_event event = (cl_event)&event;
    sbn_tensors with_event[REPLICAS] = {tensors[0], tensors[1]};
    with_event[0].event = &event;
    REFUSED(sbn_average_gradients_begin(parallel, &count, 1, with_event, NULL), "exchange|NULL");
    tap_ok(!event, "and no event");
    for (int i = 0; i < SBN_MAX_PASSES; ++i)
        must(sbn_average_gradients_begin(parallel, &count, 1, tensors, &many[i]), "begin");
    REFUSED(sbn_average_gradients_begin(parallel, &count, 1, tensors, &many[SBN_MAX_PASSES]),
            "at most 64 exchanges");
    for (int i = SBN_MAX_PASSES - 1; i >= 0; --i)
        must(sbn_exchange_end(many[i]), "end");
    REFUSED(sbn_exchange_end(many[0]), "exchange: |an ended one");
    REFUSED(sbn_exchange_progress(many[0], &ready), "exchange: |an ended one");
    REFUSED(sbn_exchange_end(NULL), "exchange|NULL");
    REFUSED(sbn_exchange_progress((sbn_exchange *)group, NULL),
            "exchange: expected a handle of this kind");
}

/* Of 8 floats at every 8th: none overlaps another before one is moved. */
static void lay_out(sbn_buffer *buffers, size_t *counts, cl_mem of)
{
    for (size_t t = 0; t < MANY; ++t) {
        counts[t] = 8;
        buffers[t] = (sbn_buffer){of, 8 * (MANY - 1 - t)};
    }
}

static void check_overlaps(void)
{
    static sbn_buffer first[MANY], second[MANY];
    static size_t counts[MANY];
    const sbn_tensors tensors[] = {{.size = sizeof *tensors, .buffers = first},
                                   {.size = sizeof *tensors, .buffers = second}};
    lay_out(first, counts, mem[0]);
    lay_out(second, counts, mem[1]);
    RIGHT(sbn_average_gradients(parallel, counts, MANY, tensors));
    second[5] = second[4]; /* which are read alone */
    RIGHT(sbn_broadcast(parallel, counts, MANY, 1, tensors));
    lay_out(second, counts, mem[1]);
    const uint64_t before = state();
    counts[2000] = 1; /* the last element of another */
    first[2000].offset = first[7].offset + 7;
    REFUSED(sbn_average_gradients(parallel, counts, MANY, tensors),
            "sbn_average_gradients: replica 0: tensor 2000 must not overlap tensor 7 in the same "
            "call");
    REFUSED(sbn_broadcast(parallel, counts, MANY, 1, tensors),
            "sbn_broadcast: replica 0: tensor 2000 must not overlap tensor 7 in the same call");
    counts[9] = 8 * 5 + 1; /* of two such pairs this is the first in the call */
    REFUSED(sbn_average_gradients(parallel, counts, MANY, tensors),
            "replica 0: tensor 9 must not overlap tensor 4 in the same call");
    counts[9] = 8;
    tap_ok(state() == before, "nothing has changed");
    RIGHT(sbn_broadcast(parallel, counts, MANY, 0, tensors)); /* which only reads them */
    counts[2000] = 0;
    RIGHT(sbn_average_gradients(parallel, counts, MANY, tensors)); /* an empty one within another */
    lay_out(first, counts, mem[0]);
    second[5] = first[4];
    REFUSED(sbn_average_gradients(parallel, counts, MANY, tensors),
            "replica 1: tensor 5 must not overlap tensor 4 of replica 0 in the same call");
    for (size_t root = 0; root < 2; ++root)
        REFUSED(sbn_broadcast(parallel, counts, MANY, root, tensors),
                "sbn_broadcast: replica 1: tensor 5 must not overlap tensor 4 of replica 0");
    second[0] = first[0];
    REFUSED(sbn_average_gradients(parallel, counts, 1, tensors),
            "replica 1: tensor 0 must not overlap tensor 0 of replica 0");
}

void checks(void)
{
    must(fixture_open(&other), "another context");
    group = fixture_group(queue, REPLICAS, SBN_FORM_AUTO);
    must(sbn_data_parallel_create(group, NULL, &parallel), "sbn_data_parallel_create");
    for (int r = 0; r < REPLICAS; ++r) {
        mem[r] = fixture_buffer(&device, sizeof(float) * 8 * MANY, NULL);
        buffer_fill(&(slice){.queue = queue}, &(sbn_buffer){mem[r], 0}, 8 * MANY, (float)(1 + r));
    }
    check_create();
    check_exchanges();
    check_under_way();
    check_overlaps();
    clFinish(queue);
    for (int r = 0; r < REPLICAS; ++r)
        clReleaseMemObject(mem[r]);
    sbn_data_parallel_destroy(parallel);
    sbn_group_destroy(group);
    fixture_close(&other);
}
