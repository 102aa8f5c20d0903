/*
 * Folds batch norm into the preceding layer, with the forward kernel and the running statistics: the bias is
 * normalised like an activation of one sample, and the weights, of shape (outer, channels, inner), are only scaled.
 */
#include <syncbn/fold.h>

#include <stdio.h>

#include "base/memory.h"
#include "launch/forward.h"
#include "launch/running_table.h"
#include "program/kernel_constants.h"
#include "tensor/overlap.h"

/* A replica's two launches. */
typedef struct launches {
    sbn_shard weight, bias;
    sbn_shape of_weight, of_bias;
} launches;

/* An element of a checked array. */
static sbn_folding folding_at(const sbn_folding *foldings, size_t r)
{
    sbn_folding folding;
    sbn__struct_get(&folding, sizeof folding, foldings, r);
    return folding;
}

/* Lists the buffers of one replica's folding. */
static size_t list_uses(sbn_use uses[SBN_MAX_USES], const sbn_batchnorm *layer,
                        const sbn_folding *f, const launches *p)
{
    const size_t elements = p->of_weight.elements, channels = layer->channels;
    size_t count = 0;
    uses[count++] = sbn__use_floats("weight", &f->weight, elements, 0, 0);
    uses[count++] = sbn__use_floats("bias", &f->bias, channels, 0, 1);
    uses[count++] = sbn__use_floats("folded_weight", &f->folded_weight, elements, 1, 0);
    uses[count++] = sbn__use_floats("folded_bias", &f->folded_bias, channels, 1, 0);
    if (layer->affine) {
        uses[count++] = sbn__use_floats("norm_weight", &f->norm_weight, channels, 0, 0);
        uses[count++] = sbn__use_floats("norm_bias", &f->norm_bias, channels, 0, 0);
    }
    return count;
}

/* Checks one replica's folding and describes its launches; nothing is enqueued. */
static int prepare(const sbn_batchnorm *layer, const sbn_folding *f, const sbn_replica *replica,
                   launches *p)
{
    char who[128];
    const size_t channels = layer->channels;
    /* Running means are floats, so their lower part is 0. */
    const sbn_buffer zeros = {layer->table.copies[replica->index].buffer.mem,
                              SBN_ROW_MEAN_LOW * channels};
    snprintf(who, sizeof who, "folding of layer \"%.48s\", rank %d, replica %zu", layer->name,
             sbn_group_rank(layer->group), replica->index);
    if (f->outer < 1 || f->inner < 1)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: %s: expected at least 1, got 0", who,
                         f->outer ? "inner" : "outer");
    p->weight = (sbn_shard){
        .size = sizeof p->weight,
        .dims = 3,
        .shape = {f->outer, channels, f->inner},
        .x = f->weight,
        .y = f->folded_weight,
        .weight = f->norm_weight,
    };
    p->bias = (sbn_shard){
        .size = sizeof p->bias,
        .dims = 2,
        .shape = {1, channels},
        .x = f->bias.mem ? f->bias : zeros,
        .y = f->folded_bias,
        .weight = f->norm_weight,
        .bias = f->norm_bias,
    };
    int status = sbn__shape_of(&p->of_weight, &p->weight, channels, SBN_LAYOUT_NCHW, SBN_F32, who);
    if (!status)
        status = sbn__shape_of(&p->of_bias, &p->bias, channels, SBN_LAYOUT_NCHW, SBN_F32, who);
    if (!status && f->num_wait > 0 && !f->wait_list)
        status = sbn__fail(SBN_INVALID_ARGUMENT, "%s: wait_list: expected %u events, got NULL", who,
                           f->num_wait);
    sbn_use uses[SBN_MAX_USES];
    const size_t count = list_uses(uses, layer, f, p);
    return status ? status : sbn__check_uses(uses, count, &p->weight, replica, who);
}

/* Checks that no replica writes what another one touches. */
static int check_apart(const sbn_batchnorm *layer, const sbn_folding *foldings, const launches *all)
{
    sbn_group *group = layer->group;
    size_t branch;
    if (group->replica_count < 2)
        return SBN_SUCCESS;
    const int status = sbn__claims_start(&group->claims, group->replica_count * SBN_MAX_USES);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const sbn_folding folding = folding_at(foldings, r);
        const sbn_claim whose = {.operation = "folding", .layer = layer->name, .replica = r};
        sbn_use uses[SBN_MAX_USES];
        sbn__claims_add(&group->claims, &whose, uses, list_uses(uses, layer, &folding, &all[r]));
    }
    return status ? status : sbn__claims_check(group, &branch);
}

static int launch(sbn_batchnorm *layer, const sbn_folding *f, sbn_replica *replica,
                  const launches *p)
{
    cl_event ready = NULL, weight = NULL, bias = NULL, done = NULL;
    int status = sbn__wait_list_marker(replica, f->num_wait, f->wait_list, &ready);
    const sbn_wait wait = {{ready}, ready != NULL};
    if (!status)
        status = sbn__running_write(layer, replica);
    if (!status)
        status = sbn__forward_launch(replica, layer, &p->weight, &p->of_weight, &layer->table,
                                     SBN_SCALE_ONLY, NULL, wait, &weight);
    if (!status)
        status = sbn__forward_launch(replica, layer, &p->bias, &p->of_bias, &layer->table,
                                     SBN_NORMALISE_ALONE, NULL, wait, &bias);
    if (!status) {
        const cl_event both[] = {weight, bias};
        status = sbn__marker(replica, 2, both, &done);
    }
    if (!status)
        sbn__give_event(f->event, &done);
    sbn__release_event(&done);
    sbn__release_event(&ready);
    sbn__release_event(&weight);
    sbn__release_event(&bias);
    return status ? status : sbn__flush(replica);
}

static int check(const sbn_batchnorm *layer, const sbn_folding *foldings)
{
    const int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return status;
    sbn__forget_events(foldings, layer->group->replica_count, SBN_EVENTS(sbn_folding));
    if (!layer->tracks)
        return sbn__fail(SBN_INVALID_ARGUMENT, "layer \"%s\" keeps no running statistics to fold",
                         layer->name);
    if (layer->config.residual)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "layer \"%s\" adds a residual, which the layer before it cannot: it is "
                         "not folded",
                         layer->name);
    if (!foldings && layer->group->replica_count > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "folding of layer \"%s\": foldings: expected %zu, got NULL", layer->name,
                         layer->group->replica_count);
    char who[96];
    snprintf(who, sizeof who, "folding of layer \"%.48s\": foldings", layer->name);
    return sbn__struct_check(foldings, layer->group->replica_count, SBN_STRUCT(sbn_folding), who);
}

int sbn_batchnorm_fold(sbn_batchnorm *layer, const sbn_folding *foldings)
{
    int status = check(layer, foldings);
    if (status)
        return status;
    sbn_group *group = layer->group;
    launches *all = sbn__allocate(sizeof *all * group->replica_count);
    status = all ? SBN_SUCCESS : sbn__fail_memory("a folding");
    if (!status)
        status = sbn__running_table(layer);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const sbn_folding folding = folding_at(foldings, r);
        status = prepare(layer, &folding, &group->replicas[r], &all[r]);
    }
    if (!status)
        status = check_apart(layer, foldings, all);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const sbn_folding folding = folding_at(foldings, r);
        status = launch(layer, &folding, &group->replicas[r], &all[r]);
        layer->table.copies[r].fresh = !status;
    }
    sbn__free(all);
    if (status)
        sbn__withdraw_events(foldings, group->replica_count, SBN_EVENTS(sbn_folding));
    return status;
}
