#include <math.h>

#include "group/group.h"
#include "pass/on_device_training.h"

fixture training_device;
sbn_kernel_form training_form = SBN_FORM_AUTO;

static size_t replicas_of(const problem *p)
{
    size_t count = MOST_REPLICAS;
    while (count > 1 && p->samples[count - 1] == 0)
        --count;
    return count;
}

/* Every third channel's x and dy times the problem's scale. */
static void scale(const slice *s, const sbn_buffer *buffer, const problem *p)
{
    static float data[200000];
    if (p->scale == 0.0f || s->elements == 0)
        return;
    buffer_read(s, buffer, s->elements, data);
    for (size_t i = 0; i < s->elements; ++i)
        if (i / s->plane % s->channels % 3 == 1)
            data[i] *= p->scale;
    must(clEnqueueWriteBuffer(s->queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                              sizeof(float) * s->elements, data, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
}

void training_open(training *t, const problem *p, cl_command_queue queue, int on_host)
{
    size_t first = 0;
    sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
    sbn_group_config of_group = SBN_GROUP_CONFIG_INIT;
    *t = (training){.p = p, .apart = !queue, .replicas = replicas_of(p)};
    for (size_t r = 0; r < t->replicas; ++r)
        t->queues[r] = t->apart ? fixture_queue(&training_device, 0) : queue;
    of_group.queues = t->queues;
    of_group.replicas = t->replicas;
    of_group.form = training_form;
    must(sbn_group_create(&of_group, &t->group), "sbn_group_create");
    must(t->group->combines ? 0 : 1, "a group whose devices combine");
    if (on_host)
        t->group->combines = 0;
    of_layer.channels = p->channels;
    must(sbn_batchnorm_create(t->group, &of_layer, &t->layer), "sbn_batchnorm_create");
    must(sbn_saved_create(t->layer, &t->saved), "sbn_saved_create");
    for (size_t r = 0; r < t->replicas; ++r) {
        slice *s = &t->slices[r];
        slice_open(s, &training_device, t->queues[r], first, p->samples[r], p->channels, p->plane,
                   17);
        first += p->samples[r];
        scale(s, &s->shard.x, p);
        scale(s, &s->shard.dy, p);
        t->shards[r] = s->shard;
    }
}

void training_close(training *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        must(clFinish(t->queues[r]), "clFinish");
        slice_close(&t->slices[r]);
        if (t->apart)
            clReleaseCommandQueue(t->queues[r]);
    }
    must(sbn_saved_destroy(t->saved), "sbn_saved_destroy");
    must(sbn_batchnorm_destroy(t->layer), "sbn_batchnorm_destroy");
    must(sbn_group_destroy(t->group), "sbn_group_destroy");
}

void training_reset(training *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        slice_reset(&t->slices[r]);
        scale(&t->slices[r], &t->slices[r].shard.x, t->p);
        scale(&t->slices[r], &t->slices[r].shard.dy, t->p);
    }
}

/* NaN count as one: which a device makes is its own choice. */
static uint64_t digest_values(uint64_t digest, float *values, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (isnan(values[i]))
            values[i] = (float)NAN;
    return digest_of(digest, values, sizeof *values * count);
}

static uint64_t digest_output(uint64_t digest, const slice *s, const sbn_buffer *b, size_t count)
{
    static float data[200000];
    buffer_read(s, b, count, data);
    return digest_values(digest, data, count);
}

uint64_t digest_statistics(uint64_t digest, const training *t)
{
    float values[4][MOST_CHANNELS];
    int64_t batches;
    uint64_t count;
    must(sbn_batchnorm_running_stats(t->layer, values[0], values[1], &batches), "running stats");
    must(sbn_saved_stats(t->saved, values[2], values[3], &count), "sbn_saved_stats");
    for (int i = 0; i < 4; ++i)
        digest = digest_values(digest, values[i], t->p->channels);
    return digest_of(digest_of(digest, &batches, sizeof batches), &count, sizeof count);
}

uint64_t digest_outputs(uint64_t digest, const training *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        const slice *s = &t->slices[r];
        must(clFinish(s->queue), "clFinish");
        digest = digest_output(digest, s, &s->shard.y, s->elements);
        digest = digest_output(digest, s, &s->shard.dx, s->elements);
        digest = digest_output(digest, s, &s->shard.weight_grad, s->channels);
        digest = digest_output(digest, s, &s->shard.bias_grad, s->channels);
    }
    return digest;
}

void train(training *t, unsigned more, sbn_result results[2])
{
    must(sbn_forward(t->layer, t->shards, t->saved, 0, &results[0]), "sbn_forward");
    must(sbn_backward(t->layer, t->shards, t->saved, t->p->flags | more, &results[1]),
         "sbn_backward");
}
