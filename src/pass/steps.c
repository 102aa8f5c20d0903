#include "pass/steps.h"

#include <string.h>

#include "launch/at_once.h"
#include "launch/backward.h"
#include "launch/combine.h"
#include "launch/reduce.h"
#include "launch/tracking.h"
#include "pass/sums.h"

/* Marks the saved statistics as this pass's, with the moments where they have been computed. */
static void save(const sbn_layer_pass *lp, int by_host)
{
    sbn_saved *saved = lp->saved;
    if (!lp->kind->fills)
        return;
    saved->filled = 1;
    saved->frozen = lp->kind->local;
    /* Where a frozen layer occurs is each rank's affair. */
    saved->pass = lp->kind->local ? 0 : lp->call.number;
    saved->place = lp->place;
    saved->count = lp->count;
    memcpy(saved->shapes, lp->shapes, sizeof *saved->shapes * lp->group->replica_count);
    saved->moments->on_host = by_host;
    saved->moments->on_device = !by_host;
}

/* The table that step 3 of a replica reads and the host has written; NULL: there is none. */
static sbn_channel_table *table_of(sbn_layer_pass *lp, size_t r)
{
    if (lp->kind->fills)
        return lp->shapes[r].elements > 0 ? &lp->saved->table : NULL;
    /* Of constant statistics dx needs only what the forward pass has left on the device. */
    const int applies = !lp->saved->frozen && sbn__backward_applies(lp, r);
    return applies || sbn__backward_stores(lp, r) ? &lp->gradients : NULL;
}

/* With the store of gradients. */
static int apply(sbn_layer_pass *lp, sbn_replica *replica)
{
    const int status = lp->kind->apply(lp, replica);
    return status || lp->kind->fills ? status : sbn__backward_store(lp, replica);
}

static int apply_from_host(sbn_layer_pass *lp, sbn_replica *replica)
{
    sbn_channel_table *table = table_of(lp, replica->index);
    int status = table ? sbn__channel_table_write(table, replica) : SBN_SUCCESS;
    return status ? status : apply(lp, replica);
}

/* Devices have stored the gradients of a pass that is made at once. */
static int apply_behind_devices(sbn_layer_pass *lp, sbn_replica *replica)
{
    return lp->at_once ? lp->kind->apply(lp, replica) : apply(lp, replica);
}

/* The host is to write tables, and to read running statistics or update them. */
static int prepare_host(sbn_layer_pass *lp)
{
    const size_t replicas = lp->group->replica_count;
    const sbn_batchnorm *layer = lp->layer;
    sbn__work_wait(lp->work, replicas);
    /* A table that a device has failed to write is told with its pass, which may have been told already. */
    const int written = sbn__channel_table_await(&lp->gradients);
    int status = lp->enqueued ? sbn__layer_pass_check_enqueued(lp) : written;
    sbn__work_clear(lp->work, replicas);
    lp->enqueued = NULL;
    if (status)
        return status;
    if (!lp->kind->fills)
        return lp->kind->reduce ? sbn__saved_read(lp->saved) : SBN_SUCCESS;
    status = sbn__channel_table_await(&lp->saved->table);
    /* The pass that filled it has failed, which is told once. */
    if (status)
        lp->saved->filled = 0;
    else if (layer->tracks)
        status = sbn__running_read(layer->running, layer->group, layer->name);
    return status || !lp->kind->take ? status : lp->kind->take(lp);
}

/* A pass that the host combined has told its errors. Behind others the pass has asked. */
static int prepare_devices(sbn_layer_pass *lp)
{
    return lp->enqueued ? SBN_SUCCESS : sbn__layer_pass_check_enqueued(lp);
}

static int reduce_to_host(sbn_layer_pass *lp, sbn_replica *replica)
{
    const int status = sbn__reduce(lp, replica);
    return status ? status : sbn__sums_read(lp, replica);
}

static const sbn_steps host_combines = {
    .prepare = prepare_host,
    .reduce = reduce_to_host,
    .track = sbn__tracking_on_host,
    .apply = apply_from_host,
};

static const sbn_steps devices_combine = {
    .prepare = prepare_devices,
    .reduce = sbn__reduce_on_device,
    .combine = sbn__device_combine,
    .apply = apply_behind_devices,
};

static const sbn_steps reduction_combines = {
    .prepare = prepare_devices,
    .combine = sbn__reduce_and_combine,
    .apply = apply_behind_devices,
};

static const sbn_steps one_launch = {
    .prepare = prepare_devices,
    .combine = sbn__whole,
};

void sbn__steps_commit(sbn_layer_pass *lp)
{
    const int by_host = lp->steps == &host_combines;
    save(lp, by_host);
    if (by_host)
        lp->kind->commit(lp);
}

const sbn_steps *sbn__steps_of(sbn_layer_pass *lp, int devices, int at_once)
{
    /* Without values there is nothing to enqueue, and zeros come from the host. */
    const int by_devices = devices && lp->kind->reduce && lp->own > 0;
    lp->at_once = by_devices && at_once;
    lp->strip = lp->at_once ? sbn__whole_strip(lp) : 0;
    if (!by_devices)
        return &host_combines;
    if (lp->strip > 0)
        return &one_launch;
    return at_once && sbn__reduction_combines(lp) ? &reduction_combines : &devices_combine;
}
