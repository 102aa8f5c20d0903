#include "norm.h"

#include <stdlib.h>

#include "check.h"
#include "ranks.h"

static void list_replicas(struct norm *norm, struct device *devices, size_t count)
{
    size_t m = 0;

    for (size_t d = 0; d < count; ++d)
        norm->replicas += norm->kind == NORM_EVALUATION ? 1 : devices[d].replicas;
    norm->replica = must_alloc(norm->replicas, sizeof *norm->replica);
    for (size_t d = 0; d < count; ++d) {
        struct device *device = &devices[d];
        const size_t each = device->shard_images / device->replicas;

        if (norm->kind == NORM_EVALUATION)
            norm->replica[m++] = (struct norm_replica){device, device->queue, 0, 0, 0};
        else
            for (size_t r = 0; r < device->replicas; ++r)
                norm->replica[m++] = (struct norm_replica){device, device->replica_queue[r], r,
                                                           r * each, each};
    }
}

static void make_layers(struct norm *norm, struct norm_group *group)
{
    for (int b = 0; b < NORMS; ++b) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;

        config.name = norm->network->block[b].name;
        config.channels = norm->network->block[b].out;
        config.layout = SBN_LAYOUT_NHWC;
        config.type = norm->replica[0].device->type;
        config.activation = SBN_RELU;
        /* Small batches make noisy averages: weigh many of them, in both trainings. */
        config.momentum = 0.02;
        must_sbn(sbn_batchnorm_create(group->group, &config, &group->layer[b]), "making a layer");
        must_sbn(sbn_saved_create(group->layer[b], &group->saved[b]),
                 "making room for a layer's statistics");
    }
}

void norm_open(struct norm *norm, enum norm_kind kind, const struct network *network,
               struct device *devices, size_t count, size_t ranks)
{
    cl_command_queue *queues;
    size_t each;

    *norm = (struct norm){.network = network, .kind = kind, .ranks = ranks};
    list_replicas(norm, devices, count);
    norm->groups = kind == NORM_PER_REPLICA ? norm->replicas : 1;
    each = norm->replicas / norm->groups;
    queues = must_alloc(norm->replicas, sizeof *queues);
    for (size_t m = 0; m < norm->replicas; ++m)
        queues[m] = norm->replica[m].queue;
    norm->group = must_alloc(norm->groups, sizeof *norm->group);
    for (size_t g = 0; g < norm->groups; ++g) {
        sbn_group_config config = SBN_GROUP_CONFIG_INIT;

        config.queues = queues + g * each;
        config.replicas = each;
        if (kind == NORM_SYNCHRONISED && ranks > 1)
            config.transport = ranks_transport(ranks);
        must_sbn(sbn_group_create(&config, &norm->group[g].group), "making a group");
        make_layers(norm, &norm->group[g]);
    }
    free(queues);
    norm->shards = must_alloc(norm->replicas, sizeof *norm->shards);
    norm->ready = must_alloc(norm->replicas, sizeof *norm->ready);
    norm->done = must_alloc(norm->replicas, sizeof *norm->done);
    norm->pass = must_alloc(norm->groups, sizeof *norm->pass);
}

void norm_close(struct norm *norm)
{
    for (size_t g = 0; g < norm->groups; ++g) {
        for (int b = 0; b < NORMS; ++b) {
            sbn_saved_destroy(norm->group[g].saved[b]);
            sbn_batchnorm_destroy(norm->group[g].layer[b]);
        }
        sbn_group_destroy(norm->group[g].group);
    }
    free(norm->replica);
    free(norm->group);
    free(norm->shards);
    free(norm->ready);
    free(norm->done);
    free(norm->pass);
}

/* A replica's shard of block b's tensors: its images follow those of the replicas before it. */
static void fill_shard(const struct norm *norm, size_t m, int b)
{
    const struct block *block = &norm->network->block[b];
    const struct norm_replica *replica = &norm->replica[m];
    struct device *device = replica->device;
    const struct tensors *t = &device->block[b];
    const size_t at = replica->first * block_values(block);
    const size_t row = replica->row * (norm->network->parameters - norm->network->norms);
    sbn_shard *shard = &norm->shards[m];

    *shard = (sbn_shard){.size = sizeof(sbn_shard),
                         .dims = block->convolution ? 4 : 2,
                         .shape = {norm->kind == NORM_EVALUATION ? device->images : replica->images,
                                   block->out, block->height, block->width},
                         .x = {t->linear, at},
                         .y = {t->normed, at},
                         .dy = {t->d_normed, at},
                         .dx = {t->d_linear, at},
                         .weight = {device->parameters, block->gamma},
                         .bias = {device->parameters, block->beta}};
    shard->weight_grad = (sbn_buffer){device->norm_gradients,
                                      row + block->gamma - norm->network->norms};
    shard->bias_grad = (sbn_buffer){device->norm_gradients,
                                    row + block->beta - norm->network->norms};
}

/* The replicas' queues are to wait for what the device's queue has been given so far. */
static void hand_over(struct norm *norm, int b)
{
    for (size_t m = 0; m < norm->replicas; ++m) {
        struct device *device = norm->replica[m].device;
        sbn_shard *shard = &norm->shards[m];

        fill_shard(norm, m, b);
        if (m > 0 && norm->replica[m - 1].device == device) {
            norm->ready[m] = norm->ready[m - 1];
            must_cl(clRetainEvent(norm->ready[m]), "sharing an event");
        } else {
            must_cl(clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &norm->ready[m]),
                    "marking a queue");
            must_cl(clFlush(device->queue), "flushing a queue");
        }
        shard->num_wait = 1;
        shard->wait_list = &norm->ready[m];
        shard->event = &norm->done[m];
    }
}

/* And the device's queue for its replicas' queues. */
static void take_back(struct norm *norm)
{
    for (size_t m = 0; m < norm->replicas;) {
        struct device *device = norm->replica[m].device;
        const size_t first = m;

        while (m < norm->replicas && norm->replica[m].device == device)
            ++m;
        must_cl(clEnqueueBarrierWithWaitList(device->queue, (cl_uint)(m - first),
                                             &norm->done[first], NULL),
                "waiting for the replicas' queues");
        for (size_t i = first; i < m; ++i) {
            must_cl(clReleaseEvent(norm->done[i]), "releasing an event");
            must_cl(clReleaseEvent(norm->ready[i]), "releasing an event");
        }
    }
}

static const sbn_shard *shares_of(const struct norm *norm, size_t g)
{
    return norm->shards + g * (norm->replicas / norm->groups);
}

void norm_forward(struct norm *norm, int b)
{
    hand_over(norm, b);
    if (norm->kind == NORM_EVALUATION) {
        must_sbn(sbn_evaluate(norm->group[0].layer[b], norm->shards), "evaluating");
    } else {
        /* All groups begin before any ends: their reductions run side by side. */
        for (size_t g = 0; g < norm->groups; ++g)
            must_sbn(sbn_forward_begin(norm->group[g].layer[b], shares_of(norm, g),
                                       norm->group[g].saved[b], 0, &norm->pass[g]),
                     "beginning a forward pass");
        for (size_t g = 0; g < norm->groups; ++g)
            must_sbn(sbn_pass_end(norm->pass[g], NULL), "ending a forward pass");
    }
    take_back(norm);
}

void norm_backward(struct norm *norm, int b)
{
    hand_over(norm, b);
    for (size_t g = 0; g < norm->groups; ++g)
        must_sbn(sbn_backward_begin(norm->group[g].layer[b], shares_of(norm, g),
                                    norm->group[g].saved[b], 0, &norm->pass[g]),
                 "beginning a backward pass");
    for (size_t g = 0; g < norm->groups; ++g)
        must_sbn(sbn_pass_end(norm->pass[g], NULL), "ending a backward pass");
    take_back(norm);
}

void norm_take_running_stats(struct norm *evaluation, const struct norm *trained)
{
    enum { MOST_CHANNELS = 64 };
    double groups = (double)trained->groups;

    /* A synchronised group's statistics are the same on all ranks. */
    if (trained->kind == NORM_PER_REPLICA && trained->ranks > 1)
        ranks_add(&groups, 1);
    for (int b = 0; b < NORMS; ++b) {
        const size_t channels = trained->network->block[b].out;
        float mean[MOST_CHANNELS] = {0}, var[MOST_CHANNELS] = {0};

        if (channels > MOST_CHANNELS)
            fail("%s has %zu channels; at most %d were thought of", trained->network->block[b].name,
                 channels, MOST_CHANNELS);
        for (size_t g = 0; g < trained->groups; ++g) {
            float one_mean[MOST_CHANNELS], one_var[MOST_CHANNELS];

            must_sbn(sbn_batchnorm_running_stats(trained->group[g].layer[b], one_mean, one_var,
                                                 NULL),
                     "reading running statistics");
            for (size_t c = 0; c < channels; ++c) {
                mean[c] += one_mean[c] / (float)groups;
                var[c] += one_var[c] / (float)groups;
            }
        }
        if (trained->kind == NORM_PER_REPLICA && trained->ranks > 1) {
            ranks_add_floats(mean, channels);
            ranks_add_floats(var, channels);
        }
        must_sbn(sbn_batchnorm_set_running_stats(evaluation->group[0].layer[b], mean, var, NULL),
                 "setting running statistics");
    }
}
