/*
 * Running statistics in the caller's buffers: in every kind of group, on every replica that has them
 * and in both kinds of memory, the bits of a layer with its own; the layer's own stay as they are,
 * and count. What evaluation reads, and what is refused.
 */
#include <string.h>

#include "base/memory.h"
#include "group/group.h"
#include "support/programs_kept.h"
#include "support/ranks.h"

enum { REPLICAS = 3, CHANNELS = RANK_CHANNELS, PLANE = RANK_PLANE, BATCHES = 3, ROWS = 2 };

static fixture device;
static cl_command_queue queues[2]; /* in order, and not */

typedef struct kind {
    const char *name;
    size_t replicas;
    int out_of_order, host_combines;
    sbn_kernel_form form;
} kind;

static const kind kinds[] = {
    {"one launch", 1, 0, 0, SBN_FORM_CPU},
    {"devices combine", REPLICAS, 0, 0, SBN_FORM_CPU},
    {"devices combine, out of order", REPLICAS, 1, 0, SBN_FORM_CPU},
    {"the host combines", REPLICAS, 0, 1, SBN_FORM_CPU},
    {"the GPU form", REPLICAS, 0, 0, SBN_FORM_GPU},
};

/* A replica's running statistics: a buffer with offsets, or memory. */
typedef struct given {
    float values[1 + ROWS * (CHANNELS + 1)];
    cl_mem mem;
} given;

static given givens[REPLICAS];

static const float *row(const given *g, int which)
{
    return g->values + 1 + which * (CHANNELS + 1);
}

static void give(sbn_shard *shard, given *g, sbn_memory memory)
{
    cl_int code = CL_SUCCESS;
    const float start[] = {7, 0, 0, 0, 7, 1, 1, 1, 7};
    memcpy(g->values, start, sizeof g->values);
    g->mem = memory ? (cl_mem)g->values
                    : clCreateBuffer(device.context, CL_MEM_COPY_HOST_PTR, sizeof g->values,
                                     g->values, &code);
    must(code, "clCreateBuffer");
    shard->running_mean = (sbn_buffer){g->mem, 1};
    shard->running_var = (sbn_buffer){g->mem, 1 + CHANNELS + 1};
}

static void fetch(given *g, cl_command_queue queue, sbn_memory memory)
{
    if (!memory)
        must(clEnqueueReadBuffer(queue, g->mem, CL_TRUE, 0, sizeof g->values, g->values, 0, NULL,
                                 NULL),
             "clEnqueueReadBuffer");
}

static void take_away(given *g, sbn_memory memory)
{
    if (!memory)
        must(clReleaseMemObject(g->mem), "clReleaseMemObject");
}

static sbn_batchnorm *layer_of(sbn_group *group, sbn_average average)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *made;
    config.name = "first";
    config.channels = CHANNELS;
    config.average = average;
    config.momentum = 0.25;
    must(sbn_batchnorm_create(group, &config, &made), "sbn_batchnorm_create");
    return made;
}

/* Both rows and the count of a layer's own. */
typedef struct own {
    float mean[CHANNELS], var[CHANNELS];
    int64_t batches;
} own;

static own own_of(const sbn_batchnorm *layer)
{
    own o;
    memset(&o, 0, sizeof o);
    must(sbn_batchnorm_running_stats(layer, o.mean, o.var, &o.batches), "get");
    return o;
}

static int is_own(const given *g, const own *o)
{
    return memcmp(row(g, 0), o->mean, sizeof o->mean) == 0 &&
           memcmp(row(g, 1), o->var, sizeof o->var) == 0 && g->values[0] == 7 &&
           g->values[CHANNELS + 1] == 7 && g->values[2 * CHANNELS + 2] == 7;
}

/* A slice's tensors in memory of the host, as the given statistics must be. */
typedef struct copies {
    float x[4 * CHANNELS * PLANE], y[4 * CHANNELS * PLANE], weight[CHANNELS], bias[CHANNELS];
} copies;

static copies on_host[REPLICAS];

static void move_to_host(sbn_shard *shard, const slice *s, copies *to)
{
    buffer_read(s, &shard->x, s->elements, to->x);
    buffer_read(s, &shard->weight, CHANNELS, to->weight);
    buffer_read(s, &shard->bias, CHANNELS, to->bias);
    shard->memory = SBN_MEMORY_HOST;
    shard->x = (sbn_buffer)SBN_HOST_BUFFER(to->x);
    shard->y = (sbn_buffer)SBN_HOST_BUFFER(to->y);
    shard->weight = (sbn_buffer)SBN_HOST_BUFFER(to->weight);
    shard->bias = (sbn_buffer)SBN_HOST_BUFFER(to->bias);
}

/* Each replica has some, but, with `sparse`, the first one; the second one's shard is empty. */
static void check_training(const kind *k, sbn_average average, sbn_memory memory, int sparse)
{
    sbn_group *group = fixture_group(queues[k->out_of_order], k->replicas, k->form);
    group->combines = group->combines && !k->host_combines;
    sbn_batchnorm *twin = layer_of(group, average), *layer = layer_of(group, average);
    sbn_saved *of_twin = fixture_saved(twin), *saved = fixture_saved(layer);
    slice slices[REPLICAS];
    sbn_shard shards[REPLICAS];
    const own at_first = own_of(layer);
    const size_t first = sparse && k->replicas > 1;
    for (size_t r = first; r < k->replicas; ++r)
        give(&slices[r].shard, &givens[r], memory);
    for (int b = 0; b < BATCHES; ++b) {
        cl_event events[REPLICAS] = {NULL};
        for (size_t r = 0; r < k->replicas; ++r) {
            const sbn_shard kept = slices[r].shard;
            slice_open(&slices[r], &device, queues[k->out_of_order], 4 * r, r == 1 ? 0 : 4,
                       CHANNELS, PLANE, 60u + (unsigned)b);
            shards[r] = slices[r].shard;
            if (memory)
                move_to_host(&shards[r], &slices[r], &on_host[r]);
            if (r >= first) {
                slices[r].shard.running_mean = kept.running_mean;
                slices[r].shard.running_var = kept.running_var;
                shards[r].running_mean = kept.running_mean;
                shards[r].running_var = kept.running_var;
            }
            shards[r].event = &events[r];
        }
        must(sbn_forward(layer, shards, saved, 0, NULL), "sbn_forward");
        must(sbn_forward(layer, shards, saved, SBN_KEEP_RUNNING_STATS, NULL), "sbn_forward");
        must(clFinish(queues[k->out_of_order]), "clFinish");
        for (size_t r = 0; r < k->replicas; ++r) {
            must(clReleaseEvent(events[r]), "clReleaseEvent");
            shards[r].event = NULL;
            shards[r].running_mean.mem = shards[r].running_var.mem = NULL;
        }
        must(sbn_forward(twin, shards, of_twin, 0, NULL), "sbn_forward");
        must(clFinish(queues[k->out_of_order]), "clFinish");
        for (size_t r = 0; r < k->replicas; ++r) {
            const sbn_shard kept = slices[r].shard;
            slice_close(&slices[r]);
            slices[r].shard = kept;
        }
    }
    const own expected = own_of(twin), left = own_of(layer);
    int right = left.batches == BATCHES && left.batches == expected.batches &&
                memcmp(left.mean, at_first.mean, sizeof left.mean) == 0 &&
                memcmp(left.var, at_first.var, sizeof left.var) == 0;
    for (size_t r = first; r < k->replicas; ++r) {
        fetch(&givens[r], queues[0], memory);
        right = right && is_own(&givens[r], &expected);
        take_away(&givens[r], memory);
    }
    tap_ok(right, "%s, %s, %s memory%s: the bits of a layer with its own, which stay", k->name,
           average ? "cumulative" : "momentum", memory ? "the host's" : "the device's",
           sparse ? ", not on the first replica" : "");
    fixture_end(layer, saved);
    fixture_end(twin, of_twin);
    sbn_group_destroy(group);
}

/* --- evaluation -------------------------------------------------------------------------- */

static const float set_mean[CHANNELS] = {0.5f, -1.0f, 2.0f}, set_var[CHANNELS] = {4.0f, 0.25f, 1};

static void check_evaluation(sbn_memory memory)
{
    sbn_group *group = fixture_group(queues[0], 2, SBN_FORM_CPU);
    sbn_batchnorm *twin = layer_of(group, 0), *layer = layer_of(group, 0);
    sbn_saved *of_twin = fixture_saved(twin), *saved = fixture_saved(layer);
    slice slices[2];
    sbn_shard shards[2];
    const int64_t batches = 3;
    must(sbn_batchnorm_set_running_stats(twin, set_mean, set_var, &batches), "set");
    must(sbn_batchnorm_set_running_stats(layer, NULL, NULL, &batches), "set");
    for (int frozen = 0; frozen < 2; ++frozen) {
        uint64_t digests[2];
        must(sbn_batchnorm_set_frozen(twin, frozen), "sbn_batchnorm_set_frozen");
        must(sbn_batchnorm_set_frozen(layer, frozen), "sbn_batchnorm_set_frozen");
        must(sbn_batchnorm_set_running_stats(layer, row(&givens[0], 0), NULL, NULL), "set");
        for (int i = 0; i < 2; ++i) {
            for (size_t r = 0; r < 2; ++r) {
                slice_open(&slices[r], &device, queues[0], 4 * r, 4, CHANNELS, PLANE, 70);
                shards[r] = slices[r].shard;
                if (memory)
                    move_to_host(&shards[r], &slices[r], &on_host[r]);
            }
            if (i) {
                give(&shards[1], &givens[1], memory);
                float *values = givens[1].values;
                memcpy(values + 1, set_mean, sizeof set_mean);
                memcpy(values + 2 + CHANNELS, set_var, sizeof set_var);
                if (!memory)
                    must(clEnqueueWriteBuffer(queues[0], givens[1].mem, CL_TRUE, 0,
                                              sizeof givens[1].values, values, 0, NULL, NULL),
                         "clEnqueueWriteBuffer");
            }
            sbn_batchnorm *of = i ? layer : twin;
            must(frozen ? sbn_forward(of, shards, i ? saved : of_twin, 0, NULL)
                        : sbn_evaluate(of, shards),
                 "evaluation");
            must(clFinish(queues[0]), "clFinish");
            digests[i] = DIGEST_START;
            for (size_t r = 0; r < 2; ++r) {
                if (!memory)
                    buffer_read(&slices[r], &shards[r].y, slices[r].elements, on_host[r].y);
                digests[i] = digest_of(digests[i], on_host[r].y, sizeof on_host[r].y);
                slice_close(&slices[r]);
            }
        }
        fetch(&givens[1], queues[0], memory);
        const own of_twin_now = own_of(twin), now = own_of(layer);
        tap_ok(digests[0] == digests[1] && memcmp(&of_twin_now, &now, sizeof now) == 0 &&
                   is_own(&givens[1], &now),
               "%s, %s memory: by those of the second shard, which the layer has then",
               frozen ? "a frozen forward pass" : "evaluation",
               memory ? "the host's" : "the device's");
        take_away(&givens[1], memory);
    }
    fixture_end(layer, saved);
    fixture_end(twin, of_twin);
    sbn_group_destroy(group);
}

/* --- what is refused ------------------------------------------------------------------- */

static void check_refused(void)
{
    sbn_group *group = fixture_group(queues[0], 2, SBN_FORM_CPU);
    sbn_batchnorm *layer = layer_of(group, 0);
    sbn_saved *saved = fixture_saved(layer);
    slice slices[2];
    sbn_shard shards[2];
    for (size_t r = 0; r < 2; ++r) {
        slice_open(&slices[r], &device, queues[0], 4 * r, 4, CHANNELS, PLANE, 80);
        shards[r] = slices[r].shard;
        give(&shards[r], &givens[r], 0);
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
        take_away(&givens[r], 0);
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
        give(&m->shards[r], &own_givens[r], 0);
    for (int b = 0; b < BATCHES && !rank_forward(m); ++b)
        ;
    for (size_t r = 0; r < m->replicas; ++r) {
        fetch(&own_givens[r], m->queue, 0);
        if (r > 0 && memcmp(own_givens[r].values, own_givens->values, sizeof own_givens->values))
            m->status = -1;
        take_away(&own_givens[r], 0);
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
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (int average = 0; average < 2; ++average)
            for (int memory = 0; memory < 2; ++memory)
                check_training(&kinds[k], (sbn_average)average, (sbn_memory)memory, 0);
    check_training(&kinds[1], SBN_AVERAGE_CUMULATIVE, SBN_MEMORY_DEVICE, 1);
    check_training(&kinds[3], SBN_AVERAGE_MOMENTUM, SBN_MEMORY_HOST, 1);
    check_evaluation(SBN_MEMORY_DEVICE);
    check_evaluation(SBN_MEMORY_HOST);
    check_refused();
    check_ranks();
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    queues[0] = fixture_queue(&device, 0);
    queues[1] = fixture_queue(&device, 1);
    const long before = sbn__handles_open();
    checks();
    programs_release();
    tap_ok(sbn__handles_open() == before, "%ld handles left", sbn__handles_open() - before);
    clReleaseCommandQueue(queues[0]);
    clReleaseCommandQueue(queues[1]);
    fixture_close(&device);
    return tap_done();
}
