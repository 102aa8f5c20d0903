#include "pass.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "combine.h"
#include "handles.h"
#include "reduce.h"
#include "share.h"

void sbn_hand_over(const sbn_share *share, cl_event event)
{
    if (!share->event) {
        sbn_release_event(&event);
        return;
    }
    *share->event = event;
    if (event)
        sbn_handle_closed();
}

static int is_joined(const sbn_group *group, const sbn_pass_kind *kind)
{
    return !kind->local && sbn_group_is_joined(group);
}

int sbn_pass_is_joined(const sbn_pass *pass)
{
    return is_joined(pass->group, pass->kind);
}

void sbn_pass_free(sbn_pass *pass)
{
    const size_t replicas = pass->work ? pass->group->replica_count : 0;
    if (replicas > 0)
        sbn_reduce_wait(pass);
    for (size_t r = 0; r < replicas; ++r) {
        sbn_work *work = &pass->work[r];
        sbn_release_event(&work->ready);
        sbn_release_event(&work->read);
        sbn_release_buffer(&work->partial);
        sbn_release_buffer(&work->words);
        sbn_staging_release(&work->host);
    }
    sbn_table_destroy(&pass->gradients);
    sbn_free(pass->work);
    sbn_free(pass->shares);
    sbn_free(pass->geometries);
    sbn_free(pass->header);
    sbn_free(pass->sums);
    sbn_free(pass->explanation);
    sbn_free(pass->repeat);
    for (int i = 0; i < SBN_COLUMNS; ++i)
        sbn_free(pass->columns[i]);
    pass->tag = 0;
    sbn_free(pass);
}

/* An idle pass of the group, or a new one. */
static int acquire(sbn_group *group, sbn_pass **found)
{
    const size_t header_size = sizeof(int64_t) * SBN_HEADER_WORDS;
    sbn_pass *pass = group->idle;
    if (pass && (pass->header || (pass->header = sbn_allocate(header_size)))) {
        group->idle = pass->next_idle;
        *found = pass;
        return SBN_SUCCESS;
    }
    pass = sbn_allocate(sizeof *pass);
    if (!pass)
        return sbn_fail_memory("a pass");
    pass->tag = SBN_TAG_PASS;
    pass->group = group;
    pass->shares = sbn_allocate(sizeof *pass->shares * group->replica_count);
    pass->geometries = sbn_allocate(sizeof *pass->geometries * group->replica_count);
    pass->work = sbn_allocate(sizeof *pass->work * group->replica_count);
    pass->header = sbn_allocate(header_size);
    if (!pass->shares || !pass->geometries || !pass->work || !pass->header) {
        sbn_pass_free(pass);
        return sbn_fail_memory("a pass");
    }
    *found = pass;
    return SBN_SUCCESS;
}

/* Takes the pass out of those under way and keeps its memory. */
static void release(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    size_t i = 0;
    while (i < group->under_way_count && group->under_way[i] != pass)
        ++i;
    if (i < group->under_way_count) {
        --group->under_way_count;
        memmove(group->under_way + i, group->under_way + i + 1,
                sizeof(sbn_pass *) * (group->under_way_count - i));
    }
    if (pass->saved) {
        --pass->saved->used;
        if (pass->kind->fills)
            pass->saved->filling = 0;
    }
    pass->saved = NULL;
    pass->layer = NULL;
    pass->next_idle = group->idle;
    group->idle = pass;
}

static int check_group(const sbn_group *group, const sbn_pass_kind *kind)
{
    if (group->under_way_count == SBN_MAX_PASSES)
        return sbn_fail(SBN_INVALID_ARGUMENT, "at most %d passes of a group may be under way",
                        SBN_MAX_PASSES);
    if (group->failed && !kind->local)
        return sbn_fail(SBN_GROUP_FAILED, "rank %d: the group failed earlier: %s",
                        sbn_group_rank(group), group->reason);
    return SBN_SUCCESS;
}

/* Checks everything, then copies the shares; nothing but markers is enqueued. */
static int prepare(sbn_pass *pass, const sbn_share *shares, unsigned needs)
{
    const sbn_group *group = pass->group;
    int status = sbn_reduce_prepare(pass);
    if (!status)
        status = sbn_check_shares(pass->layer, shares, needs, pass->kind->operation,
                                  pass->geometries);
    if (!status && !pass->kind->fills)
        status = sbn_check_same_shapes(pass->saved, pass->geometries, pass->kind->operation);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const sbn_share *share = &shares[r];
        pass->shares[r] = *share;
        pass->call.count += pass->geometries[r].values;
        if (share->num_wait > 0)
            status = sbn_marker(&group->replicas[r], share->num_wait, share->wait_list,
                                &pass->work[r].ready);
    }
    return status;
}

/* Names the call in headers and sentences. */
static void describe_call(sbn_pass *pass, const sbn_saved *read)
{
    sbn_group *group = pass->group;
    const unsigned agreed = pass->flags & ~(unsigned)SBN_ACCUMULATE_GRADIENTS;
    pass->call = (sbn_call){
        .operation = pass->kind->operation,
        .name = pass->layer->name,
        .number = pass->kind->local ? 0 : group->sequence++,
        .code = pass->kind->code,
        .settings = sbn_digest(pass->layer->settings, &agreed, sizeof agreed),
        .channels = (uint32_t)pass->layer->channels,
        .saved = !pass->kind->fills && read && read->filled ? read->pass : 0,
    };
}

static void wait_until_settled(sbn_pass *pass);

/* Enqueues step 1 and starts step 2, or, joined, tells the others why not. */
static int launch(sbn_pass *pass, int status)
{
    sbn_group *group = pass->group;
    group->under_way[group->under_way_count++] = pass;
    if (sbn_pass_is_joined(pass)) {
        char sentence[SBN_SENTENCE_SIZE];
        if (!status)
            status = sbn_reduce_enqueue(pass, SBN_NARROW);
        pass->call.error = status;
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
        sbn_combine_start(pass);
        return sbn_fail(status, "%s", sentence);
    }
    if (!status)
        sbn_combine_start(pass);
    if (!status && pass->stage == SBN_STAGE_LOCAL)
        status = sbn_reduce_enqueue(pass, SBN_NARROW);
    return status || pass->stage != SBN_STAGE_SETTLED ? status : pass->status;
}

int sbn_pass_begin(const sbn_pass_kind *kind, sbn_batchnorm *layer, const sbn_share *shares,
                   unsigned needs, sbn_saved *saved, unsigned flags, int status, sbn_pass **begun)
{
    sbn_group *group = layer->group;
    sbn_forget_events(group, shares);
    if (!status)
        status = check_group(group, kind);
    if (status &&
        (!is_joined(group, kind) || group->unreachable || group->under_way_count == SBN_MAX_PASSES))
        return status;
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    sbn_pass *pass = NULL;
    const int acquired = acquire(group, &pass);
    if (acquired)
        return acquired;
    pass->kind = kind;
    pass->layer = layer;
    pass->flags = flags;
    pass->stage = SBN_STAGE_HEADER;
    pass->window = SBN_NARROW;
    pass->local_error = SBN_SUCCESS;
    pass->request = NULL;
    pass->count = 0;
    pass->result = (sbn_result){sizeof pass->result, 0, !group->alone, 0};
    describe_call(pass, status ? NULL : saved);
    if (!status) {
        pass->saved = saved;
        ++saved->used;
        saved->filling |= kind->fills;
        status = prepare(pass, shares, needs);
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    }
    const int prepared = status;
    status = launch(pass, status);
    if (!status) {
        *begun = pass;
        return SBN_SUCCESS;
    }
    if (!prepared)
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    if (sbn_pass_is_joined(pass))
        wait_until_settled(pass);
    release(pass);
    return sbn_fail(status, "%s", sentence);
}

static sbn_pass *oldest_unsettled(const sbn_group *group)
{
    for (size_t i = 0; i < group->under_way_count; ++i)
        if (group->under_way[i]->stage != SBN_STAGE_SETTLED)
            return group->under_way[i];
    return NULL;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/*
 * Waits for devices by sleeping in the driver, for other members by testing
 * and yielding: transports progress only when called. The timeout counts from
 * the last sign of life, a pass that moved on.
 */
static void wait_until_settled(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    const sbn_pass *watched = NULL;
    sbn_stage stage = SBN_STAGE_HEADER;
    double since = 0.0;
    for (;;) {
        sbn_combine_progress(group);
        if (pass->stage == SBN_STAGE_SETTLED)
            return;
        sbn_pass *oldest = oldest_unsettled(group);
        if (oldest->stage == SBN_STAGE_LOCAL) {
            sbn_reduce_wait(oldest);
            watched = NULL;
            continue;
        }
        if (oldest != watched || oldest->stage != stage) {
            watched = oldest;
            stage = oldest->stage;
            since = seconds();
        } else if (seconds() - since > group->timeout) {
            sbn_combine_timeout(group);
        }
        sched_yield();
    }
}

static int check_under_way(const sbn_pass *pass)
{
    const int status = sbn_check_handle(pass, SBN_TAG_PASS, "pass");
    if (!status && !pass->layer)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "pass: a pass under way was expected, an ended one came");
    return status;
}

int sbn_check_result(const sbn_result *result)
{
    if (result && result->size != sizeof *result)
        return sbn_fail(SBN_INVALID_ARGUMENT, "result: size %zu was expected, %zu came",
                        sizeof *result, result->size);
    return SBN_SUCCESS;
}

int sbn_pass_progress(sbn_pass *pass, int *ready)
{
    sbn_error_clear();
    const int status = check_under_way(pass);
    if (status)
        return status;
    sbn_combine_progress(pass->group);
    if (ready)
        *ready = pass->stage == SBN_STAGE_SETTLED;
    sbn_error_clear();
    return SBN_SUCCESS;
}

/* Step 3 on every replica. From here on a failure is the group's, where it takes part. */
static int finish(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    int status = pass->kind->fill(pass);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        status = pass->kind->finish(pass, &group->replicas[r]);
        if (!status)
            status = sbn_flush(&group->replicas[r]);
    }
    if (!status)
        return SBN_SUCCESS;
    /* Some device may lack what the host has. */
    if (pass->kind->fills)
        pass->saved->filled = 0;
    sbn_withdraw_events(group, pass->shares);
    return pass->kind->local ? status : sbn_group_fail(group, status);
}

int sbn_pass_end(sbn_pass *pass, sbn_result *result)
{
    sbn_error_clear();
    int status = check_under_way(pass);
    if (status)
        return status;
    wait_until_settled(pass);
    sbn_error_clear();
    status = pass->status ? sbn_fail(pass->status, "%s", pass->sentence) : finish(pass);
    /* The statistics have moved on: a wrong result cannot stop the outputs. */
    if (!status)
        status = sbn_check_result(result);
    if (result && !status) {
        *result = pass->result;
        result->count = pass->count;
    }
    release(pass);
    return status;
}
