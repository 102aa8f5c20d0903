#include "pass/on_device.h"

#include "launch/combine.h"
#include "launch/reduce.h"
#include "launch/whole.h"
#include "pass/pool.h"

/* The host's turn in a pass comes later than what would be enqueued now. */
static int host_is_busy(const sbn_group *group)
{
    const sbn_pass_pool *pool = group->passes;
    for (size_t i = 0; i < pool->count; ++i)
        if (pool->under_way[i]->stage != SBN_STAGE_SETTLED)
            return 1;
    return 0;
}

void sbn__on_device_choose(sbn_pass *pass)
{
    int can = !pass->error && pass->group->combines && !sbn__pass_is_joined(pass) &&
              !host_is_busy(pass->group),
        some = 0;
    for (const sbn_layer_pass *lp = pass->layer_passes; lp && can; lp = lp->next) {
        some |= lp->kind->reduce != NULL;
        /* A backward pass reads what the forward pass has left there. */
        can = !lp->kind->reduce || lp->kind->fills || lp->saved->moments->on_device;
    }
    pass->on_device = can && some;
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        lp->on_device = pass->on_device && lp->kind->reduce;
}

typedef int step(const sbn_pass *pass, sbn_layer_pass *lp, sbn_replica *replica);

/* The same on all replicas of the layer passes. */
static void enqueue_all(sbn_pass *pass, step *enqueue)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp && !pass->error; lp = lp->next)
        for (size_t r = 0; r < pass->group->replica_count && lp->pending && !pass->error; ++r)
            if (sbn__device_combine_concerns(lp, r))
                sbn__pass_error(pass, lp, enqueue(pass, lp, &pass->group->replicas[r]));
}

/* What comes next waits for it. */
static void step_all(sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        sbn__work_step(lp->work, pass->group->replica_count);
}

static int combine_narrow(const sbn_pass *pass, sbn_layer_pass *lp, sbn_replica *replica)
{
    (void)pass;
    if (lp->whole)
        return SBN_SUCCESS;
    /* What was saved is overwritten. */
    if (lp->kind->fills)
        lp->saved->filled = 0;
    return sbn__device_combine(lp, replica, SBN_NARROW, 0);
}

static int reduce_wide(const sbn_pass *pass, sbn_layer_pass *lp, sbn_replica *replica)
{
    (void)pass;
    return lp->whole ? SBN_SUCCESS : sbn__reduce_on_device(lp, replica, SBN_WIDE);
}

static int tracks(const sbn_layer_pass *lp, const sbn_replica *replica)
{
    return replica->index == 0 && lp->kind->tracks && lp->layer->tracks &&
           !(lp->flags & SBN_KEEP_RUNNING_STATS);
}

static int enqueue_wide(sbn_layer_pass *lp, sbn_replica *replica, int tracking)
{
    return lp->whole ? sbn__whole(lp, replica, SBN_WIDE, tracking)
                     : sbn__device_combine(lp, replica, SBN_WIDE, tracking);
}

/* But for the one that updates running statistics. */
static int combine_wide(const sbn_pass *pass, sbn_layer_pass *lp, sbn_replica *replica)
{
    (void)pass;
    return tracks(lp, replica) ? SBN_SUCCESS : enqueue_wide(lp, replica, 0);
}

static int combine_and_track(const sbn_pass *pass, sbn_layer_pass *lp, sbn_replica *replica)
{
    sbn_running *running = lp->layer->running;
    if (!tracks(lp, replica))
        return SBN_SUCCESS;
    const int64_t before = running->batches;
    int status = sbn__running_send(running, pass->group, lp->layer->name);
    sbn__running_count(running);
    if (!status)
        status = enqueue_wide(lp, replica, 1);
    if (status)
        running->batches = before;
    return status;
}

static int flush(const sbn_group *group)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = sbn__flush(&group->replicas[r]);
    return status;
}

void sbn__on_device_combine(sbn_pass *pass)
{
    enqueue_all(pass, combine_narrow);
    step_all(pass);
    enqueue_all(pass, reduce_wide);
    step_all(pass);
    enqueue_all(pass, combine_wide);
    enqueue_all(pass, combine_and_track);
    step_all(pass);
    sbn__pass_error(pass, pass->layer_passes, flush(pass->group));
    if (pass->error)
        return;
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next) {
        lp->result.wide = lp->pending ? -1 : 0;
        lp->pending = 0;
    }
    sbn__pass_conclude(pass);
}
