/*
 * Batch norm folded into the layer before it. Both parts are forward's formula
 * and use its kernel: of the bias with the running statistics, and of the
 * weights, (outer, channels, inner) as if outer were samples, with mean 0 and
 * bias 0.
 */
#include <syncbn/fold.h>

#include <stdio.h>

#include "pass/forward.h"
#include "base/memory.h"
#include "pass/shard.h"

/* A replica's two applications of the formula. */
typedef struct parts {
    sbn_shard weight, bias;
    sbn_geometry of_weight, of_bias;
} parts;

/* The weights' table: means 0, means_low 0, invstds. Its zeros serve as missing biases too. */
static int fill(sbn_batchnorm *layer)
{
    const size_t channels = layer->channels;
    float *host;
    int status = SBN_SUCCESS;
    if (layer->group->replica_count == 0)
        return status;
    if (!layer->scale.device) {
        status = sbn__channel_table_create(&layer->scale, layer->group, 3, channels, 1);
        if (status)
            sbn__channel_table_destroy(&layer->scale);
    }
    if (!status)
        status = sbn__channel_table_host(&layer->scale, 0, &host);
    if (status)
        return status;
    for (size_t c = 0; c < channels; ++c) {
        host[c] = host[channels + c] = 0.0f;
        host[2 * channels + c] = (float)sbn__invstd(layer->running_var[c], layer->eps);
    }
    return SBN_SUCCESS;
}

/* Checks one replica's folding and says what is to be launched; nothing is enqueued. */
static int prepare(const sbn_batchnorm *layer, const sbn_folding *f, const sbn_replica *replica,
                   parts *p)
{
    char who[128];
    const size_t channels = layer->channels;
    const sbn_buffer zeros = {layer->scale.device[replica->index].mem, 0};
    snprintf(who, sizeof who, "folding of layer \"%.48s\", rank %d, replica %zu", layer->name,
             sbn_group_rank(layer->group), replica->index);
    if (f->outer < 1 || f->inner < 1)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: %s: 1 at least was expected, 0 came", who,
                         f->outer ? "inner" : "outer");
    p->weight = (sbn_shard){
        .dims = 3,
        .shape = {f->outer, channels, f->inner},
        .x = f->weight,
        .y = f->folded_weight,
        .weight = f->norm_weight,
        .bias = zeros,
    };
    p->bias = (sbn_shard){
        .dims = 2,
        .shape = {1, channels},
        .x = f->bias.mem ? f->bias : zeros,
        .y = f->folded_bias,
        .weight = f->norm_weight,
        .bias = f->norm_bias,
    };
    int status = sbn__geometry_of(&p->of_weight, &p->weight, channels, SBN_LAYOUT_NCHW, who);
    if (!status)
        status = sbn__geometry_of(&p->of_bias, &p->bias, channels, SBN_LAYOUT_NCHW, who);
    const sbn_use uses[] = {
        {"weight", &f->weight, p->of_weight.elements, 0, 0},
        {"bias", &f->bias, channels, 0, 1},
        {"folded_weight", &f->folded_weight, p->of_weight.elements, 1, 0},
        {"folded_bias", &f->folded_bias, channels, 1, 0},
        {"norm_weight", &f->norm_weight, channels, 0, 0},
        {"norm_bias", &f->norm_bias, channels, 0, 0},
    };
    if (!status && f->num_wait > 0 && !f->wait_list)
        status = sbn__fail(SBN_INVALID_ARGUMENT,
                           "%s: wait_list: %u events were expected, NULL came", who, f->num_wait);
    return status ? status : sbn__check_uses(uses, layer->affine ? 6 : 4, &p->weight, replica, who);
}

static int launch(sbn_batchnorm *layer, const sbn_folding *f, sbn_replica *replica, const parts *p)
{
    cl_event ready = NULL, weight = NULL, bias = NULL, done = NULL;
    int status = SBN_SUCCESS;
    if (f->num_wait > 0)
        status = sbn__marker(replica, f->num_wait, f->wait_list, &ready);
    if (!status)
        status = sbn__channel_table_write(&layer->scale, replica, 0, layer->channels);
    if (!status)
        status = sbn__running_write(layer, replica);
    if (!status)
        status = sbn__forward_launch(replica, layer, &p->weight, &p->of_weight, &layer->scale,
                                     ready, &weight);
    /* After the weights, for it may read zeros of their table. */
    if (!status)
        status = sbn__forward_launch(replica, layer, &p->bias, &p->of_bias, &layer->running, weight,
                                     &bias);
    if (!status)
        status = sbn__channel_table_touched(&layer->scale, replica, bias);
    if (!status) {
        const cl_event both[] = {weight, bias};
        status = sbn__marker(replica, 2, both, &done);
    }
    if (!status && f->event) {
        *f->event = done;
        done = NULL;
        sbn__handle_closed();
    }
    sbn__release_event(&done);
    sbn__release_event(&ready);
    sbn__release_event(&weight);
    sbn__release_event(&bias);
    return status ? status : sbn__flush(replica);
}

static int check(const sbn_batchnorm *layer, const sbn_folding *foldings)
{
    const int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return status;
    if (!layer->tracks)
        return sbn__fail(SBN_INVALID_ARGUMENT, "layer \"%s\" keeps no running statistics to fold",
                         layer->name);
    if (!foldings && layer->group->replica_count > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "folding of layer \"%s\": foldings: %zu were expected, NULL came",
                         layer->name, layer->group->replica_count);
    return SBN_SUCCESS;
}

int sbn_batchnorm_fold(sbn_batchnorm *layer, const sbn_folding *foldings)
{
    sbn__error_clear();
    int status = check(layer, foldings);
    if (status)
        return status;
    sbn_group *group = layer->group;
    for (size_t r = 0; r < group->replica_count; ++r)
        if (foldings[r].event)
            *foldings[r].event = NULL;
    parts *all = sbn__allocate(sizeof *all * group->replica_count);
    status = all ? fill(layer) : sbn__fail_memory("a folding");
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = prepare(layer, &foldings[r], &group->replicas[r], &all[r]);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        status = launch(layer, &foldings[r], &group->replicas[r], &all[r]);
        layer->running_fresh[r] = !status;
    }
    sbn__free(all);
    for (size_t r = 0; status && r < group->replica_count; ++r)
        if (foldings[r].event && *foldings[r].event) {
            clReleaseEvent(*foldings[r].event);
            *foldings[r].event = NULL;
        }
    return status;
}
