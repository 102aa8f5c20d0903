#include <math.h>

#include "group/group.h"
#include "pass/on_device_training.h"

fixture training_device;
const char *training_options = "";
sbn_kernel_form training_form = SBN_FORM_AUTO;

/* Every third channel's x and dy times the problem's scale. */
static void scale(const training *t, const slice *s, const sbn_buffer *buffer)
{
    static float data[200000];
    if (t->p->scale == 0.0f || s->elements == 0)
        return;
    buffer_read(s, buffer, s->elements, data);
    for (size_t i = 0; i < s->elements; ++i) {
        const size_t c = t->settings.layout == SBN_LAYOUT_NHWC ? i % s->channels
                                                               : i / s->plane % s->channels;
        if (c % 3 == 1)
            data[i] *= t->p->scale;
    }
    must(clEnqueueWriteBuffer(s->queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                              sizeof(float) * s->elements, data, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
}

void training_open(training *t, const task *p, cl_command_queue queue, int on_host)
{
    size_t first = 0, plane = 1;
    char error[256] = "";
    problem of;
    sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
    sbn_group_config of_group = SBN_GROUP_CONFIG_INIT;
    must(problem_parse(p->line, &of, error, sizeof error), error);
    *t = (training){.p = p,
                    .settings = of,
                    .apart = !queue,
                    .replicas = of.has_split ? of.replicas : 1};
    for (int i = 0; i < of.space_dims; ++i)
        plane *= of.space[i];
    for (size_t r = 0; r < t->replicas; ++r)
        t->queues[r] = t->apart ? fixture_queue(&training_device, 0) : queue;
    of_group.queues = t->queues;
    of_group.replicas = t->replicas;
    of_group.build_options = training_options;
    of_group.form = training_form;
    must(sbn_group_create(&of_group, &t->group), "sbn_group_create");
    must(t->group->combines ? 0 : 1, "a group whose devices combine");
    if (on_host)
        t->group->combines = 0;
    of_layer.channels = of.channels;
    of_layer.layout = of.layout;
    of_layer.eps_mode = of.eps_mode;
    of_layer.average = of.average;
    t->layer = fixture_layer_of(t->group, &of_layer);
    t->saved = fixture_saved(t->layer);
    for (size_t r = 0; r < t->replicas; ++r) {
        slice *s = &t->slices[r];
        const size_t samples = of.has_split ? of.split[r] : of.samples;
        slice_open(s, &training_device, t->queues[r], first, samples, of.channels, plane, 17);
        first += samples;
        scale(t, s, &s->shard.x);
        scale(t, s, &s->shard.dy);
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
    fixture_end(t->layer, t->saved);
    must(sbn_group_destroy(t->group), "sbn_group_destroy");
}

void training_reset(training *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        slice_reset(&t->slices[r]);
        scale(t, &t->slices[r], &t->slices[r].shard.x);
        scale(t, &t->slices[r], &t->slices[r].shard.dy);
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
        digest = digest_values(digest, values[i], t->settings.channels);
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
    must(sbn_backward(t->layer, t->shards, t->saved, t->settings.backward_flags | more,
                      &results[1]),
         "sbn_backward");
}
