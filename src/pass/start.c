#include "pass/start.h"

#include <stdio.h>

#include "collective/agreement.h"
#include "launch/combining.h"
#include "launch/tracking.h"
#include "pass/steps.h"

void sbn__pass_conclude(sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        sbn__steps_commit(lp);
    sbn__pass_settle(pass, SBN_SUCCESS);
}

void sbn__pass_start_alone(sbn_pass *pass)
{
    if (!sbn__pass_accept_counts(pass))
        return;
    if (sbn__pass_has_pending(pass))
        pass->stage = SBN_STAGE_LOCAL;
    else
        sbn__pass_conclude(pass);
}

typedef int step(sbn_layer_pass *lp, sbn_replica *replica);

/* Takes a step of all pending layer passes, on all replicas. */
static void take(sbn_pass *pass, step *enqueue)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp && !pass->error; lp = lp->next)
        for (size_t r = 0; r < pass->group->replica_count && lp->pending && !pass->error; ++r)
            sbn__pass_error(pass, lp, enqueue(lp, &pass->group->replicas[r]));
}

static int reduce(sbn_layer_pass *lp, sbn_replica *replica)
{
    return lp->steps->reduce ? lp->steps->reduce(lp, replica) : SBN_SUCCESS;
}

/* Devices that update running statistics combine last. */
static int combine(sbn_layer_pass *lp, sbn_replica *replica)
{
    const size_t r = replica->index;
    /* The replica has values, or needs results. */
    const int concerns = lp->kind->fills || lp->shapes[r].values > 0 || sbn__backward_stores(lp, r);
    return concerns && !sbn__tracking_concerns(lp, r) ? lp->steps->combine(lp, replica)
                                                      : SBN_SUCCESS;
}

static int combine_last(sbn_layer_pass *lp, sbn_replica *replica)
{
    sbn_running *running = lp->layer->running;
    if (!sbn__tracking_concerns(lp, replica->index))
        return SBN_SUCCESS;
    if (replica->index > 0)
        return lp->steps->combine(lp, replica);
    const int64_t before = running->batches;
    int status = sbn__running_send(running, replica);
    sbn__running_count(running);
    if (!status)
        status = lp->steps->combine(lp, replica);
    /* The command may have been enqueued nevertheless. */
    if (status) {
        running->batches = before;
        sbn__running_doubt(running);
    }
    return status;
}

/* What comes next waits for what has been enqueued: each replica's `next` becomes its `last`. */
static void order(const sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        for (size_t r = 0; r < pass->group->replica_count; ++r)
            if (lp->work[r].next)
                sbn__move_event(&lp->work[r].last, &lp->work[r].next);
}

/* Passes that use the memory later find by this what has failed. */
static void note(sbn_layer_pass *lp)
{
    lp->enqueued = lp->kind->operation;
    lp->may_fail = sbn__layer_pass_may_fail(lp);
    snprintf(lp->enqueued_of, sizeof lp->enqueued_of, "%s", lp->layer->name);
}

static int flush(const sbn_group *group)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = sbn__flush(&group->replicas[r]);
    return status;
}

/*
 * The running statistics are the last that changes, when all else of all layer passes is enqueued:
 * an error before leaves them as they were.
 */
void sbn__start_on_devices(sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        if (lp->pending)
            note(lp);
    take(pass, reduce);
    order(pass);
    take(pass, combine);
    take(pass, combine_last);
    order(pass);
    /* The end of a pass that is made at once comes now, and flushes for both, unless there is none. */
    if (!pass->at_once || pass->error)
        sbn__pass_error(pass, pass->layer_passes, flush(pass->group));
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next) {
        lp->result.wide = lp->pending ? -1 : 0;
        /* Devices may have overwritten it. */
        if (pass->error && lp->kind->fills)
            lp->saved->filled = 0;
    }
    if (!pass->error)
        sbn__pass_conclude(pass);
}

void sbn__start_lay_out(sbn_pass *pass)
{
    const size_t words = sbn__sums_lay_out(pass->layer_passes, pass->wide, &pass->sent);
    sbn__pass_error(pass, pass->layer_passes,
                    sbn__request_reserve(&pass->sums, SBN_HEADER_WORDS + words,
                                         "the words of a pass"));
}

void sbn__start_on_host(sbn_pass *pass)
{
    sbn__start_lay_out(pass);
    take(pass, pass->wide ? sbn__sums_read_wide : reduce);
    sbn__pass_error(pass, pass->layer_passes, flush(pass->group));
}

int sbn__start_arrived(sbn_pass *pass)
{
    int done = 1;
    for (sbn_layer_pass *lp = pass->layer_passes; lp && done && !pass->error; lp = lp->next)
        if (lp->pending)
            sbn__pass_error(pass, lp, sbn__sums_arrived(lp, &done));
    return done || pass->error;
}

void sbn__start_wait(const sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        sbn__work_wait(lp->work, pass->group->replica_count);
}
