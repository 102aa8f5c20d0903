/*
 * Running statistics in the caller's buffers: what is refused, and that all replicas of one rank and of two
 * come to the same bits. The bits of a layer with its own: tests/pass/same.
 */
#include <string.h>

#include "base/memory.h"
#include "support/ranks.h"

enum { CHANNELS = RANK_CHANNELS, PLANE = RANK_PLANE, BATCHES = 3 };

static fixture device;
static cl_command_queue queue;

/* A replica's running statistics in a buffer, and what is around them. */
typedef struct given {
    float values[1 + 2 * (CHANNELS + 1)];
    cl_mem mem;
} given;

static void give(sbn_shard *shard, given *g)
{
    cl_int code;
    const float start[] = {7, 0, 0, 0, 7, 1, 1, 1, 7};
    memcpy(g->values, start, sizeof g->values);
    g->mem = clCreateBuffer(device.context, CL_MEM_COPY_HOST_PTR, sizeof g->values, g->values,
                            &code);
    must(code, "clCreateBuffer");
    shard->running_mean = (sbn_buffer){g->mem, 1};
    shard->running_var = (sbn_buffer){g->mem, 1 + CHANNELS + 1};
}

static void fetch(given *g, cl_command_queue of)
{
    must(clEnqueueReadBuffer(of, g->mem, CL_TRUE, 0, sizeof g->values, g->values, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    must(clReleaseMemObject(g->mem), "clReleaseMemObject");
}

/* --- what is refused ------------------------------------------------------------------- */

static void check_refused(void)
{
    sbn_group *group = fixture_group(queue, 2, SBN_FORM_CPU);
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    config.name = "first";
    config.channels = CHANNELS;
    must(sbn_batchnorm_create(group, &config, &layer), "sbn_batchnorm_create");
    sbn_saved *saved = fixture_saved(layer);
    slice slices[2];
    given givens[2];
    sbn_shard shards[2];
    for (size_t r = 0; r < 2; ++r) {
        slice_open(&slices[r], &device, queue, 4 * r, 4, CHANNELS, PLANE, 80);
        shards[r] = slices[r].shard;
        give(&shards[r], &givens[r]);
    }
    const sbn_shard good = shards[1];
#define REFUSED(words, what) \
    expect(sbn_forward(layer, shards, saved, 0, NULL), SBN_INVALID_ARGUMENT, words, what); \
    shards[1] = good
    shards[1].running_var.mem = NULL;
    REFUSED("forward of layer \"first\", rank 0, replica 1: running_var: expected a buffer beside "
            "running_mean, got NULL",
            "no variance");
    shards[1].running_mean.mem = NULL;
    REFUSED("running_mean: expected a buffer beside running_var, got NULL", "no mean");
    shards[1].running_var.offset = 8;
    REFUSED("running_var: expected 3 floats from offset 8", "not enough room");
    shards[1].running_var.offset = 3;
    REFUSED("replica 1: running_mean is written and must not overlap running_var", "overlaps");
    shards[1].running_mean = shards[0].running_mean;
    REFUSED("replica 1: running_mean must not overlap running_mean of replica 0", "shared");
    must(sbn_batchnorm_set_frozen(layer, 1), "sbn_batchnorm_set_frozen");
    shards[1].running_mean = shards[0].running_mean;
    expect(sbn_forward(layer, shards, saved, 0, NULL), SBN_SUCCESS, "", "shared, and only read");
    for (size_t r = 0; r < 2; ++r) {
        fetch(&givens[r], queue);
        slice_close(&slices[r]);
    }
    fixture_end(layer, saved);
    sbn_group_destroy(group);
}

/* --- ranks ------------------------------------------------------------------------------- */

static int train(test_rank *m)
{
    given own_givens[RANK_REPLICAS];
    m->digest = DIGEST_START;
    for (size_t r = 0; r < m->replicas; ++r)
        give(&m->shards[r], &own_givens[r]);
    for (int b = 0; b < BATCHES && !rank_forward(m); ++b)
        ;
    for (size_t r = 0; r < m->replicas; ++r) {
        fetch(&own_givens[r], m->queue);
        if (r > 0 && memcmp(own_givens[r].values, own_givens->values, sizeof own_givens->values))
            m->status = -1;
        m->shards[r].running_mean.mem = m->shards[r].running_var.mem = NULL;
    }
    m->digest = digest_of(m->digest, own_givens->values, sizeof own_givens->values);
    return m->status;
}

static void check_ranks(void)
{
    const size_t three[] = {3}, apart[] = {1, 2}, samples[] = {1, 3, 2};
    test_ranks all;
    uint64_t digests[3];
    for (int i = 0; i < 2; ++i) {
        ranks_open(&all, &device, 1 + i, i ? apart : three, samples, NULL);
        ranks_do(&all, train);
        for (int rank = 0; rank <= i; ++rank) {
            rank_expect(&all.of[rank], SBN_SUCCESS, "", "training with given statistics");
            digests[i + rank] = all.of[rank].digest;
        }
        ranks_close(&all);
    }
    tap_ok(digests[0] == digests[1] && digests[0] == digests[2],
           "the same bits on all replicas of one rank and of two");
}

static void checks(void)
{
    const long before = sbn__handles_open();
    check_refused();
    check_ranks();
    tap_ok(sbn__handles_open() == before, "%ld handles left", sbn__handles_open() - before);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
