/* Passes without communication: step 3 alone, from known statistics. */
#include <string.h>

#include "layer/running.h"
#include "pass/forward.h"
#include "pass/overlap.h"

#define APPLY_NEEDS \
    (SBN_NEEDS_X | SBN_NEEDS_Y | SBN_MAY_REPLACE_X | SBN_NEEDS_WEIGHT | SBN_NEEDS_BIAS)

static int apply_replica(sbn_batchnorm *layer, const sbn_shard shard,
                         sbn_channel_table *coefficients, sbn_replica *replica)
{
    const sbn_shape *shape = &layer->shapes[replica->index];
    cl_event ready = NULL, applied = NULL;
    int status = SBN_SUCCESS;
    if (shard.num_wait > 0)
        status = sbn__marker(replica, shard.num_wait, shard.wait_list, &ready);
    if (!status && shape->elements > 0)
        status = sbn__forward_launch(replica, layer, &shard, shape, coefficients, SBN_NORMALISE,
                                     NULL, ready, &applied);
    if (!status)
        status = sbn__hand_over(replica, &shard, &applied);
    sbn__release_event(&ready);
    sbn__release_event(&applied);
    return status ? status : sbn__flush(replica);
}

int sbn__running_table(sbn_batchnorm *layer)
{
    if (layer->table.device || layer->group->replica_count == 0)
        return SBN_SUCCESS;
    const int status = sbn__coefficients_create(&layer->table, layer->group, layer->channels);
    if (status)
        sbn__channel_table_destroy(&layer->table);
    return status;
}

/* Writes the host copy of the running statistics' coefficients, unless it is up to date. */
static int write_running_coefficients(sbn_batchnorm *layer)
{
    const sbn_running *running = layer->running;
    float *host;
    int status = sbn__running_read(layer->running, layer->group, layer->name);
    if (status || layer->table_version == running->version || layer->group->replica_count == 0)
        return status;
    status = sbn__running_table(layer);
    if (!status)
        status = sbn__channel_table_host(&layer->table, 0, &host);
    if (status)
        return status;
    sbn__coefficients_write_running(&layer->table, running->mean, running->var, layer->eps);
    layer->table_version = running->version;
    memset(layer->table_fresh, 0, layer->group->replica_count);
    return SBN_SUCCESS;
}

int sbn__running_write(sbn_batchnorm *layer, sbn_replica *replica)
{
    const int status = write_running_coefficients(layer);
    return status || layer->table_fresh[replica->index]
               ? status
               : sbn__channel_table_write(&layer->table, replica, 0, layer->channels);
}

int sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards)
{
    sbn__error_clear();
    int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return status;
    if (!layer->tracks)
        return sbn__forward_evaluation(layer, shards);
    sbn_group *group = layer->group;
    sbn__forget_events(group, shards);
    status = sbn__check_shards(layer, shards, APPLY_NEEDS, "evaluation", layer->shapes);
    if (!status)
        status = sbn__check_apart(layer, shards, layer->shapes, APPLY_NEEDS, "evaluation");
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        sbn_replica *replica = &group->replicas[r];
        status = sbn__running_write(layer, replica);
        if (!status)
            status = apply_replica(layer, sbn__shard_at(shards, r), &layer->table, replica);
        layer->table_fresh[r] = !status;
    }
    if (status)
        sbn__withdraw_events(group, shards);
    return status;
}

int sbn_recompute(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved)
{
    sbn__error_clear();
    int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (!status)
        status = sbn__check_filled(saved, layer);
    if (status)
        return status;
    sbn_group *group = layer->group;
    sbn__forget_events(group, shards);
    status = sbn__check_shards(layer, shards, APPLY_NEEDS, "recomputation", layer->shapes);
    if (!status)
        status = sbn__check_same_shapes(saved, layer->shapes, "recomputation");
    if (!status)
        status = sbn__check_apart(layer, shards, layer->shapes, APPLY_NEEDS, "recomputation");
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = apply_replica(layer, sbn__shard_at(shards, r), &saved->table, &group->replicas[r]);
    if (status)
        sbn__withdraw_events(group, shards);
    return status;
}
