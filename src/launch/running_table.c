#include "launch/running_table.h"

#include "layer/moments.h"
#include "layer/running.h"
#include "tensor/shard.h"

int sbn__running_given(sbn_batchnorm *layer, const sbn_shard *shards)
{
    const size_t channels = layer->channels;
    for (size_t r = 0; layer->tracks && r < layer->group->replica_count; ++r) {
        const sbn_shard shard = sbn__shard_at(shards, r);
        sbn_replica *replica = &layer->group->replicas[r];
        float *const given = layer->running->given;
        if (!shard.running_mean.mem)
            continue;
        int status = sbn__shard_read(replica, &shard, &shard.running_mean, channels, given);
        if (!status)
            status = sbn__shard_read(replica, &shard, &shard.running_var, channels,
                                     given + channels);
        return status ? status : sbn__running_take(layer);
    }
    return SBN_SUCCESS;
}

int sbn__running_table(sbn_batchnorm *layer)
{
    if (layer->table.copies)
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
    int status = sbn__running_read(layer->running, layer->group, layer->name);
    if (status || layer->table_version == running->version)
        return status;
    status = sbn__running_table(layer);
    if (!status)
        status = sbn__channel_table_await(&layer->table);
    if (status)
        return status;
    sbn__coefficients_write_running(&layer->table, running->mean, running->var, layer->eps);
    layer->table_version = running->version;
    for (size_t r = 0; r < layer->table.replicas; ++r)
        layer->table.copies[r].fresh = 0;
    return SBN_SUCCESS;
}

int sbn__running_write(sbn_batchnorm *layer, sbn_replica *replica)
{
    const int status = write_running_coefficients(layer);
    return status || layer->table.copies[replica->index].fresh
               ? status
               : sbn__channel_table_write(&layer->table, replica);
}
