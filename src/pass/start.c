#include "pass/start.h"

#include <stdio.h>

#include "launch/combine.h"
#include "launch/tracking.h"
#include "pass/steps.h"

void sbn__pass_conclude(sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        lp->steps->commit(lp);
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

typedef int step(sbn_layer_pass *lp, sbn_replica *replica, int format);

/* Takes a step of all pending layer passes, on all replicas. */
static void take(sbn_pass *pass, step *enqueue, int format)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp && !pass->error; lp = lp->next)
        for (size_t r = 0; r < pass->group->replica_count && lp->pending && !pass->error; ++r)
            sbn__pass_error(pass, lp, enqueue(lp, &pass->group->replicas[r], format));
}

/* `counts`: it is the first launch that tracks. */
static int track(sbn_layer_pass *lp, sbn_replica *replica, int format, int counts,
                 sbn__enqueue *enqueue)
{
    sbn_running *running = lp->layer->running;
    const int64_t before = running->batches;
    if (!counts)
        return enqueue(lp, replica, format, 1);
    int status = sbn__running_send(running, lp->group, lp->layer->name);
    sbn__running_count(running);
    if (!status)
        status = enqueue(lp, replica, format, 1);
    if (status)
        running->batches = before;
    return status;
}

static int reduce(sbn_layer_pass *lp, sbn_replica *replica, int format)
{
    sbn__enqueue *enqueue = lp->steps->reduce[format];
    if (!enqueue)
        return SBN_SUCCESS;
    return lp->early && sbn__tracking_concerns(lp, replica->index)
               ? track(lp, replica, format, 1, enqueue)
               : enqueue(lp, replica, format, 0);
}

/* The running statistics are updated in the wide format, or completed. */
static int tracks(const sbn_layer_pass *lp, const sbn_replica *replica, int format)
{
    return format == SBN_WIDE && sbn__tracking_concerns(lp, replica->index);
}

static int combine(sbn_layer_pass *lp, sbn_replica *replica, int format)
{
    sbn__enqueue *enqueue = lp->steps->combine[format];
    return enqueue && sbn__device_combine_concerns(lp, replica->index) &&
                   !tracks(lp, replica, format)
               ? enqueue(lp, replica, format, 0)
               : SBN_SUCCESS;
}

static int combine_last(sbn_layer_pass *lp, sbn_replica *replica, int format)
{
    return tracks(lp, replica, format)
               ? track(lp, replica, format, replica->index == 0 && !lp->early,
                       lp->steps->combine[format])
               : SBN_SUCCESS;
}

/* What comes next waits for what has been enqueued. */
static void order(const sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        sbn__work_step(lp->work, pass->group->replica_count);
}

/* Passes that use the memory later find by this what has failed. */
static void note(sbn_layer_pass *lp)
{
    lp->enqueued = lp->kind->operation;
    snprintf(lp->enqueued_of, sizeof lp->enqueued_of, "%s", lp->layer->name);
}

static int flush(const sbn_group *group)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = sbn__flush(&group->replicas[r]);
    return status;
}

/* 1 if the host has seen that no channel needs the wide format. */
static int ends_early(sbn_pass *pass)
{
    sbn_layer_pass *lp = pass->layer_passes;
    if (pass->error || !lp->early)
        return 0;
    int status = flush(pass->group);
    if (!status) {
        sbn__work_wait(lp->work, 1);
        status = sbn__layer_pass_check_enqueued(lp, 1);
    }
    sbn__pass_error(pass, lp, status);
    int repeats = 0;
    for (size_t c = 0; c < lp->layer->channels && !status; ++c)
        repeats |= lp->repeat[c];
    return !status && !repeats;
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
    for (int format = SBN_NARROW; format <= SBN_WIDE; ++format) {
        take(pass, reduce, format);
        order(pass);
        take(pass, combine, format);
        take(pass, combine_last, format);
        order(pass);
        if (format == SBN_NARROW && ends_early(pass))
            break;
    }
    /* The end of a pass that is made at once comes now, and flushes for both. */
    if (!pass->at_once)
        sbn__pass_error(pass, pass->layer_passes, flush(pass->group));
    if (pass->error)
        return;
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next) {
        lp->result.wide = lp->pending ? -1 : 0;
        lp->pending = 0;
    }
    sbn__pass_conclude(pass);
}

void sbn__start_on_host(sbn_pass *pass)
{
    const sbn_sums sums = sbn__pass_sums(pass);
    const size_t words = sbn__sums_lay_out(&sums, &pass->sent);
    if (words > 1)
        sbn__pass_error(pass, pass->layer_passes,
                        sbn__request_reserve(&pass->sums, words, "the words of a pass"));
    take(pass, reduce, pass->format);
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
