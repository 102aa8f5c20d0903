#include "pass/steps.h"

#include <string.h>

#include "launch/at_once.h"
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

static void commit_on_host(sbn_layer_pass *lp)
{
    save(lp, 1);
    if (lp->kind->commit)
        lp->kind->commit(lp);
    lp->kind->write_coefficients(lp);
}

static void commit_on_devices(sbn_layer_pass *lp)
{
    save(lp, 0);
}

static int apply(sbn_layer_pass *lp, sbn_replica *replica)
{
    const int status = lp->kind->apply(lp, replica);
    return status || !lp->kind->store ? status : lp->kind->store(lp, replica);
}

static int apply_from_host(sbn_layer_pass *lp, sbn_replica *replica)
{
    sbn_channel_table *table = lp->kind->table(lp, replica->index);
    int status = table ? sbn__channel_table_write(table, replica) : SBN_SUCCESS;
    if (!status)
        status = apply(lp, replica);
    return status ? status : sbn__tracking_on_host(lp, replica);
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
    int status = sbn__layer_pass_check_enqueued(lp, 1);
    sbn__work_clear(lp->work, replicas);
    lp->enqueued = NULL;
    if (!status)
        status = sbn__channel_table_await(&lp->gradients);
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

/*
 * What a pass has left that the host combined, and that has told its errors: a command that failed is not
 * waited for. Behind a pass that devices combined, sbn__layer_pass_check_enqueued has asked.
 */
static int prepare_devices(sbn_layer_pass *lp)
{
    const sbn_group *group = lp->group;
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count && !lp->enqueued && !status; ++r) {
        sbn_work *work = &lp->work[r];
        cl_int state = CL_COMPLETE;
        if (work->last)
            status = sbn__event_state(&group->replicas[r], work->last, &state);
        if (state < 0) {
            sbn__release_event(&work->last);
            work->wide_is_clear = 0;
        }
    }
    return status;
}

static int reduce_to_host(sbn_layer_pass *lp, sbn_replica *replica)
{
    const int status = sbn__reduce(lp, replica);
    return status ? status : sbn__sums_read(lp, replica);
}

static int has_applied(sbn_layer_pass *lp, sbn_replica *replica)
{
    (void)lp;
    (void)replica;
    return SBN_SUCCESS;
}

static const sbn_steps nothing_to_combine = {
    .prepare = prepare_host,
    .commit = commit_on_host,
    .apply = apply_from_host,
};

static const sbn_steps host_combines = {
    .prepare = prepare_host,
    .reduce = reduce_to_host,
    .commit = commit_on_host,
    .apply = apply_from_host,
};

static const sbn_steps devices_combine = {
    .prepare = prepare_devices,
    .reduce = sbn__reduce_on_device,
    .combine = sbn__device_combine,
    .commit = commit_on_devices,
    .apply = apply_behind_devices,
};

static const sbn_steps reduction_combines = {
    .prepare = prepare_devices,
    .combine = sbn__reduce_and_combine,
    .commit = commit_on_devices,
    .apply = apply_behind_devices,
};

static const sbn_steps one_launch = {
    .prepare = prepare_devices,
    .combine = sbn__whole,
    .commit = commit_on_devices,
    .apply = has_applied,
};

const sbn_steps *sbn__steps_of(sbn_layer_pass *lp, int devices, int at_once)
{
    if (!lp->kind->reduce)
        return &nothing_to_combine;
    /* Without values there is nothing to enqueue, and zeros come from the host. */
    if (!devices || lp->own == 0)
        return &host_combines;
    lp->at_once = at_once;
    lp->strip = at_once ? sbn__whole_strip(lp) : 0;
    if (lp->strip > 0)
        return &one_launch;
    return at_once && sbn__reduction_combines(lp) ? &reduction_combines : &devices_combine;
}
