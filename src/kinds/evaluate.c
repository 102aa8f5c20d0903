/* Passes without communication: step 3 alone, from known statistics. */
#include "kinds/forward.h"
#include "launch/forward.h"
#include "launch/running_table.h"
#include "layer/running.h"
#include "tensor/host.h"
#include "tensor/overlap.h"

#define APPLY_NEEDS \
    (SBN_NEEDS_X | SBN_NEEDS_Y | SBN_MAY_REPLACE_X | SBN_NEEDS_WEIGHT | SBN_NEEDS_BIAS)

static int apply_replica(sbn_batchnorm *layer, sbn_shard shard, sbn_channel_table *coefficients,
                         sbn_replica *replica, const char *operation)
{
    const sbn_shape *shape = &layer->shapes[replica->index];
    cl_event ready = NULL, applied = NULL;
    sbn_host_buffers host;
    int status = sbn__host_open(&host, layer, replica, &shard, shape, APPLY_NEEDS, operation);
    if (!status)
        status = sbn__wait_list_marker(replica, shard.num_wait, shard.wait_list, &ready);
    if (!status && shape->elements > 0)
        status = sbn__forward_launch(replica, layer, &shard, shape, coefficients, SBN_NORMALISE,
                                     NULL, (sbn_wait){{ready}, ready != NULL}, &applied);
    if (!status)
        status = sbn__make_last(replica, &shard, &applied);
    const int completed = sbn__host_close(&host, replica, applied);
    status = status ? status : completed;
    if (!status)
        sbn__give_event(shard.event, &applied);
    sbn__release_event(&ready);
    sbn__release_event(&applied);
    return status ? status : sbn__flush(replica);
}

/* Recomputation from what is saved; NULL: evaluation by running statistics. */
static int apply(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved)
{
    sbn_group *group = layer->group;
    const char *const operation = saved ? "recomputation" : "evaluation";
    const unsigned needs = saved ? APPLY_NEEDS : APPLY_NEEDS | SBN_READS_RUNNING;
    int status = sbn__check_shards(layer, shards, needs, operation, layer->shapes);
    if (!status && saved)
        status = sbn__check_same_shapes(saved, layer->shapes, operation);
    if (!status)
        status = sbn__check_apart(layer, shards, layer->shapes, needs, operation);
    if (!status && !saved)
        status = sbn__running_given(layer, shards);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        sbn_replica *replica = &group->replicas[r];
        if (!saved)
            status = sbn__running_write(layer, replica);
        if (!status)
            status = apply_replica(layer, sbn__shard_at(shards, r),
                                   saved ? &saved->table : &layer->table, replica, operation);
        if (!saved && layer->table.copies)
            layer->table.copies[r].fresh = !status;
    }
    if (status)
        sbn__withdraw_events(shards, group->replica_count, SBN_EVENTS(sbn_shard));
    return status;
}

int sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards)
{
    const int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return status;
    sbn__forget_events(shards, layer->group->replica_count, SBN_EVENTS(sbn_shard));
    return layer->tracks ? apply(layer, shards, NULL) : sbn__forward_evaluation(layer, shards);
}

int sbn_recompute(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved)
{
    int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return status;
    sbn__forget_events(shards, layer->group->replica_count, SBN_EVENTS(sbn_shard));
    status = sbn__check_filled(saved, layer);
    return status ? status : apply(layer, shards, saved);
}
