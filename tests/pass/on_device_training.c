#include "group/group.h"
#include "pass/on_device_training.h"

sbn_kernel_form training_form = SBN_FORM_AUTO;

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
    buffer_write(s, buffer, s->elements, data);
}

void training_open(training *t, const problem *p, cl_command_queue on, int on_host)
{
    size_t first = 0;
    *t = (training){.p = p, .apart = !on, .replicas = p->samples[1] ? 2 : 1};
    for (size_t r = 0; r < t->replicas; ++r)
        t->queues[r] = t->apart ? fixture_queue(&device, 0) : on;
    t->group = GROUP_WITH(t->queues, .replicas = t->replicas, .form = training_form);
    must(t->group->combines ? 0 : 1, "a group whose devices combine");
    t->group->combines = !on_host;
    t->given = fixture_gate(&device);
    must(clSetUserEventStatus(t->given, CL_COMPLETE), "clSetUserEventStatus");
    t->layer = fixture_layer(t->group, p->channels);
    t->saved = fixture_saved(t->layer);
    for (size_t r = 0; r < t->replicas; ++r) {
        slice *s = &t->slices[r];
        slice_open(s, &device, t->queues[r], first, p->samples[r], p->channels, p->plane, 17);
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
    must(clReleaseEvent(t->given), "clReleaseEvent");
    fixture_end(t->layer, t->saved);
    must(sbn_group_destroy(t->group), "sbn_group_destroy");
}

void with_training(const problem *p, cl_command_queue on, int on_host, training_check *check)
{
    training t;
    training_open(&t, p, on, on_host);
    check(&t);
    training_close(&t);
}

void training_reset(const training *t)
{
    slices_reset(t->slices, t->replicas);
    must(sbn_batchnorm_reset_running_stats(t->layer), "reset");
}

uint64_t training_digest(uint64_t digest, const training *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        must(clFinish(t->queues[r]), "clFinish");
        digest = digest_slice(digest, &t->slices[r]);
    }
    return digest_layer(digest, t->layer, t->saved);
}

void training_wait(training *t, const cl_event *event, cl_uint count)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        t->shards[r].num_wait = count;
        t->shards[r].wait_list = event;
    }
}

void train(training *t, unsigned more)
{
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    must(sbn_forward(t->layer, t->shards, t->saved, 0, &results[0]), "sbn_forward");
    must(sbn_backward(t->layer, t->shards, t->saved, more, &results[1]), "sbn_backward");
}
