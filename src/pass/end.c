#include "pass/end.h"

#include "pass/fallback.h"
#include "pass/pool.h"
#include "pass/progress.h"
#include "pass/start.h"
#include "pass/steps.h"
#include "tensor/shard.h"

/*
 * Waits for devices in the driver, and for other ranks by polling and yielding, because transports
 * progress only when called.
 */
void sbn__pass_wait(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    const sbn_communicator *c = &group->communicator;
    /* Before it asks them: a driver may have to do something to answer. */
    if (pass->stage == SBN_STAGE_LOCAL)
        sbn__start_wait(pass);
    sbn_deadline deadline = sbn__deadline_start(c);
    for (;;) {
        sbn__progress(group);
        if (pass->stage == SBN_STAGE_SETTLED)
            return;
        sbn_pass *oldest = sbn__pass_unsettled(group);
        if (oldest->stage == SBN_STAGE_LOCAL) {
            sbn__start_wait(oldest);
            deadline = sbn__deadline_start(c);
        } else if (sbn__deadline_passed(c, &deadline, sbn__pass_request(oldest))) {
            sbn__passes_time_out(group, oldest);
        }
    }
}

static int check_under_way(const sbn_pass *pass)
{
    const int status = sbn__enter(pass, SBN_HANDLE_PASS, "pass");
    if (!status && !pass->layer_passes)
        return sbn__fail(SBN_INVALID_ARGUMENT, "pass: expected a pass under way, got an ended one");
    return status;
}

int sbn_pass_progress(sbn_pass *pass, int *ready)
{
    const int status = check_under_way(pass);
    if (status)
        return status;
    sbn__progress(pass->group);
    if (ready)
        *ready = pass->stage == SBN_STAGE_SETTLED;
    sbn__error_clear();
    return SBN_SUCCESS;
}

/* Of all replicas before step 3 of any: it blocks, and a queue in order would have that done first. */
static int track(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    int status = SBN_SUCCESS;
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        for (size_t r = 0; r < group->replica_count && lp->steps->track && !status; ++r)
            status = lp->steps->track(lp, &group->replicas[r]);
    return status;
}

static int finish_replica(sbn_pass *pass, sbn_replica *replica)
{
    const size_t r = replica->index;
    int status = SBN_SUCCESS;
    for (sbn_layer_pass *lp = pass->layer_passes; lp && !status; lp = lp->next) {
        status = lp->steps->apply ? lp->steps->apply(lp, replica) : SBN_SUCCESS;
        if (!status)
            status = sbn__make_last(replica, &lp->shards[r], &lp->work[r].applied);
        if (!status && !lp->work[r].host.open)
            sbn__give_event(lp->shards[r].event, &lp->work[r].applied);
    }
    return status ? status : sbn__flush(replica);
}

/* Waits for what is in memory of the host, once all replicas have it enqueued. */
static int complete_replica(sbn_pass *pass, sbn_replica *replica)
{
    const size_t r = replica->index;
    int status = SBN_SUCCESS;
    for (sbn_layer_pass *lp = pass->layer_passes; lp && !status; lp = lp->next) {
        if (!lp->work[r].host.open)
            continue;
        status = sbn__host_close(&lp->work[r].host, replica, lp->work[r].applied);
        if (!status && lp->enqueued)
            status = sbn__layer_pass_check_enqueued(lp);
        if (!status)
            sbn__give_event(lp->shards[r].event, &lp->work[r].applied);
    }
    return status;
}

/* Enqueues step 3 on every replica. From here on, an error of a pass that the host combines fails the group. */
static int finish(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    int status = track(pass);
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = finish_replica(pass, &group->replicas[r]);
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = complete_replica(pass, &group->replicas[r]);
    if (!status)
        return SBN_SUCCESS;
    /* What is on a queue may wait for what is on others. */
    for (size_t r = 0; r < group->replica_count; ++r)
        clFlush(group->replicas[r].queue);
    /* Coefficients may be missing on a device. */
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next) {
        if (lp->kind->fills)
            lp->saved->filled = 0;
        sbn__withdraw_events(lp->shards, group->replica_count, SBN_EVENTS(sbn_shard));
    }
    const int stays = sbn__pass_is_local(pass) || (group->combines && !sbn__pass_is_joined(pass));
    return stays ? status : sbn__communicator_fail(&group->communicator, status);
}

int sbn__pass_check_results(const sbn_result *results, size_t count)
{
    return results ? sbn__struct_check_room(results, count, SBN_STRUCT(sbn_result),
                                            count > 1 ? "results" : "result")
                   : SBN_SUCCESS;
}

/* The statistics are already updated: an invalid result struct cannot stop the pass. */
static int give_results(const sbn_pass *pass, sbn_result *results)
{
    size_t count = 0;
    for (const sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        ++count;
    const int status = sbn__pass_check_results(results, count);
    for (sbn_layer_pass *lp = pass->layer_passes; lp && status; lp = lp->next)
        sbn__withdraw_events(lp->shards, pass->group->replica_count, SBN_EVENTS(sbn_shard));
    size_t i = 0;
    for (sbn_layer_pass *lp = pass->layer_passes; lp && results && !status; lp = lp->next) {
        lp->result.count = lp->count;
        sbn__struct_put(results, i++, &lp->result, sizeof lp->result);
    }
    return status;
}

int sbn_pass_end(sbn_pass *pass, sbn_result *results)
{
    int status = check_under_way(pass);
    if (status)
        return status;
    sbn__pass_wait(pass);
    sbn__error_clear();
    status = pass->status ? sbn__fail(pass->status, "%s", pass->sentence) : finish(pass);
    if (!status)
        status = give_results(pass, results);
    sbn__pass_release(pass);
    return status;
}
