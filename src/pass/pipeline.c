#include "pass/pipeline.h"

#include "launch/reduce.h"
#include "launch/whole.h"

void sbn__pipeline_plan(sbn_pass *pass, int at_once)
{
    sbn_layer_pass *first = pass->layer_passes;
    for (sbn_layer_pass *lp = first; lp; lp = lp->next)
        lp->whole = 0;
    /* Layers of a call may add up gradients in one buffer: their order must not change. */
    if (at_once && !first->next)
        first->whole = sbn__whole_strip(first);
}

/*
 * Enqueues step 1. The accumulators stay on the devices if those combine them
 * (src/pass/on_device.h); else it enqueues their transfer to the host (src/pass/sums.h).
 */
static void enqueue(sbn_pass *pass, sbn_layer_pass *lp)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < pass->group->replica_count && !status; ++r) {
        sbn_replica *replica = &pass->group->replicas[r];
        if (lp->on_device) {
            status = lp->whole ? sbn__whole(lp, replica, SBN_NARROW, 0)
                               : sbn__reduce_on_device(lp, replica, pass->format);
            continue;
        }
        status = sbn__reduce(lp, replica, pass->format);
        if (!status)
            status = sbn__sums_read(lp, replica, pass->format);
    }
    if (lp->on_device)
        sbn__work_step(lp->work, pass->group->replica_count);
    sbn__pass_error(pass, lp, status);
}

void sbn__pipeline_start(sbn_pass *pass)
{
    const sbn_sums sums = sbn__pass_sums(pass);
    const size_t words = pass->on_device ? 1 : sbn__sums_lay_out(&sums, &pass->sent);
    if (words > 1)
        sbn__pass_error(pass, pass->layer_passes,
                        sbn__request_reserve(&pass->sums, words, "the words of a pass"));
    for (sbn_layer_pass *lp = pass->layer_passes; lp && !pass->error; lp = lp->next)
        if (lp->pending)
            enqueue(pass, lp);
}

int sbn__pipeline_arrived(sbn_pass *pass)
{
    int done = 1;
    for (sbn_layer_pass *lp = pass->layer_passes; lp && done && !pass->error; lp = lp->next)
        if (lp->pending)
            sbn__pass_error(pass, lp, sbn__sums_arrived(lp, &done));
    return done || pass->error;
}

void sbn__pipeline_wait(const sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        sbn__work_wait(lp->work, pass->group->replica_count);
}
