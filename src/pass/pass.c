#include "pass/pass.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "pass/combine.h"
#include "pass/overlap.h"
#include "pass/chunks.h"
#include "pass/reduce.h"

int sbn__pass_is_local(const sbn_pass *pass)
{
    int local = 1;
    for (const sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next)
        local = local && layer_pass->kind->local;
    return local;
}

int sbn__pass_is_joined(const sbn_pass *pass)
{
    return sbn__group_is_joined(pass->group) && !sbn__pass_is_local(pass);
}

void sbn__pass_error(sbn_pass *pass, const sbn_layer_pass *layer_pass, int status)
{
    if (!status || pass->error)
        return;
    pass->error = status;
    pass->culprit = layer_pass;
    snprintf(pass->sentence, sizeof pass->sentence, "%s", sbn_last_error());
}

/* In a call of several layers a sentence says which. */
static int of_branch(int status, size_t i, size_t count)
{
    return status && count > 1 ? sbn__fail(status, "branches[%zu]: %s", i, sbn_last_error())
                               : status;
}

static int check_results(const sbn_result *results, size_t count)
{
    for (size_t i = 0; results && i < count; ++i)
        if (results[i].size != sizeof *results)
            return of_branch(sbn__fail(SBN_INVALID_ARGUMENT,
                                       "result: size %zu was expected, %zu came", sizeof *results,
                                       results[i].size),
                             i, count);
    return SBN_SUCCESS;
}

static int check_failed(const sbn_pass *pass)
{
    const sbn_group *group = pass->group;
    if (!group->failed || sbn__pass_is_local(pass))
        return SBN_SUCCESS;
    return sbn__fail(SBN_GROUP_FAILED, "rank %d: the group failed earlier: %s",
                     sbn_group_rank(group), group->reason);
}

/* All that needs no device. */
static void open_parts(sbn_pass *pass, sbn__choose *choose, const sbn_branch *branches,
                       size_t count, const sbn_result *results)
{
    sbn_layer_pass *layer_pass = pass->layer_passes;
    for (size_t i = 0; i < count; ++i, layer_pass = layer_pass->next) {
        const int status = sbn__layer_pass_open(layer_pass, choose, &branches[i]);
        sbn__pass_error(pass, layer_pass, of_branch(status, i, count));
    }
    sbn__pass_error(pass, pass->layer_passes, check_results(results, count));
    sbn__pass_error(pass, pass->layer_passes, check_failed(pass));
}

static void prepare_parts(sbn_pass *pass, const sbn_branch *branches, size_t count)
{
    sbn_layer_pass *layer_pass = pass->layer_passes;
    for (size_t i = 0; i < count && !pass->error; ++i, layer_pass = layer_pass->next) {
        const int status = sbn__layer_pass_prepare(layer_pass, branches[i].shards);
        sbn__pass_error(pass, layer_pass, of_branch(status, i, count));
    }
}

/* Of all layers and replicas: what one writes no other touches. */
static void check_apart(sbn_pass *pass, size_t count)
{
    sbn_claims claims;
    size_t branch = 0;
    const sbn_layer_pass *layer_pass = pass->layer_passes;
    if (pass->error || count * pass->group->replica_count < 2)
        return;
    int status = sbn__claims_start(&claims, pass->group, count);
    for (size_t i = 0; i < count && !status; ++i, layer_pass = layer_pass->next)
        sbn__claims_add(&claims, layer_pass->layer, i, layer_pass->shards, layer_pass->geometries,
                        layer_pass->kind->needs, layer_pass->flags, layer_pass->kind->operation);
    if (!status)
        status = sbn__claims_check(&claims, &branch);
    layer_pass = pass->layer_passes;
    for (size_t i = 0; i < branch; ++i)
        layer_pass = layer_pass->next;
    sbn__pass_error(pass, layer_pass, of_branch(status, branch, count));
}

/* The others count a call once, however many layers it has. */
static void number_parts(sbn_pass *pass)
{
    if (sbn__pass_is_local(pass))
        return;
    uint32_t place = 0;
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        layer_pass->call.number = pass->group->sequence;
        layer_pass->place = layer_pass->kind->local ? 0 : place++;
    }
    ++pass->group->sequence;
}

static void wait_until_settled(sbn_pass *pass);

/* Enqueues step 1 and starts step 2, or, joined, tells the others why not. */
static int launch(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    group->under_way[group->under_way_count++] = pass;
    if (!sbn__pass_is_joined(pass)) {
        sbn__combine_start(pass);
        if (pass->stage == SBN_STAGE_LOCAL)
            sbn__reduce_enqueue(pass);
        return pass->error || pass->stage != SBN_STAGE_SETTLED ? pass->error : pass->status;
    }
    if (!pass->error)
        sbn__reduce_enqueue(pass);
    sbn__combine_start(pass);
    if (pass->error)
        wait_until_settled(pass);
    return pass->error;
}

static int check_begin(const sbn_branch *branches, size_t count, sbn_pass **begun)
{
    if (!begun)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "pass: a place for the handle was expected, NULL came");
    *begun = NULL;
    if (!branches || count == 0)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s was expected, %s came",
                         branches ? "count: at least 1 layer" : "branches: an array of layers",
                         branches ? "0" : "NULL");
    if (count > SBN_MAX_BRANCHES)
        return sbn__fail(SBN_INVALID_ARGUMENT, "count: expected at most %d layers, got %zu",
                         SBN_MAX_BRANCHES, count);
    const int status = sbn__check_handle(branches->layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return of_branch(status, 0, count);
    const sbn_group *group = branches->layer->group;
    for (size_t i = 0; i < count; ++i)
        if (!sbn__check_handle(branches[i].layer, SBN_HANDLE_BATCHNORM, "layer"))
            sbn__forget_events(branches[i].layer->group, branches[i].shards);
    if (group->under_way_count == SBN_MAX_PASSES)
        return sbn__fail(SBN_INVALID_ARGUMENT, "at most %d passes of a group may be under way",
                         SBN_MAX_PASSES);
    sbn__error_clear();
    return SBN_SUCCESS;
}

/* `at_once`: the caller ends the pass before it does anything else. */
static int begin(sbn__choose *choose, const sbn_branch *branches, size_t count,
                 const sbn_result *results, int at_once, sbn_pass **begun)
{
    sbn__error_clear();
    int status = check_begin(branches, count, begun);
    if (status)
        return status;
    sbn_group *group = branches->layer->group;
    sbn_pass *pass = NULL;
    status = sbn__pass_acquire(group, count, &pass);
    if (status)
        return status;
    open_parts(pass, choose, branches, count, results);
    const int told = sbn__pass_is_joined(pass) && !group->unreachable;
    if (!pass->error || told)
        number_parts(pass);
    prepare_parts(pass, branches, count);
    check_apart(pass, count);
    const size_t channels = at_once && !pass->error ? sbn__chunks_channels(pass) : 0;
    if (channels > 0)
        status = sbn__chunks_run(pass, channels);
    else
        status = pass->error && !told ? pass->error : launch(pass);
    if (!status) {
        *begun = pass;
        return SBN_SUCCESS;
    }
    sbn__pass_release(pass);
    return sbn__fail(status, "%s", pass->sentence);
}

int sbn__pass_begin(sbn__choose *choose, const sbn_branch *branches, size_t count, sbn_pass **pass)
{
    return begin(choose, branches, count, NULL, 0, pass);
}

int sbn__pass_run(sbn__choose *choose, const sbn_branch *branches, size_t count,
                  sbn_result *results)
{
    sbn_pass *pass;
    const int status = begin(choose, branches, count, results, 1, &pass);
    return status ? status : sbn_pass_end(pass, results);
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
 * Waits for devices by sleeping in the driver, for other ranks by testing
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
        sbn__combine_progress(group);
        if (pass->stage == SBN_STAGE_SETTLED)
            return;
        sbn_pass *oldest = oldest_unsettled(group);
        if (oldest->stage == SBN_STAGE_LOCAL) {
            for (const sbn_layer_pass *layer_pass = oldest->layer_passes; layer_pass;
                 layer_pass = layer_pass->next)
                sbn__chunk_wait(layer_pass, &layer_pass->chunks[0]);
            watched = NULL;
            continue;
        }
        if (oldest != watched || oldest->stage != stage) {
            watched = oldest;
            stage = oldest->stage;
            since = seconds();
        } else if (seconds() - since > group->timeout) {
            sbn__combine_timeout(group);
        }
        sched_yield();
    }
}

static int check_under_way(const sbn_pass *pass)
{
    const int status = sbn__check_handle(pass, SBN_HANDLE_PASS, "pass");
    if (!status && !pass->layer_passes)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "pass: a pass under way was expected, an ended one came");
    return status;
}

int sbn_pass_progress(sbn_pass *pass, int *ready)
{
    sbn__error_clear();
    const int status = check_under_way(pass);
    if (status)
        return status;
    sbn__combine_progress(pass->group);
    if (ready)
        *ready = pass->stage == SBN_STAGE_SETTLED;
    sbn__error_clear();
    return SBN_SUCCESS;
}

static int finish_replica(sbn_pass *pass, sbn_replica *replica)
{
    int status = SBN_SUCCESS;
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass && !status;
         layer_pass = layer_pass->next) {
        if (!pass->applied)
            status = layer_pass->kind->apply(layer_pass, &layer_pass->chunks[0], replica);
        if (!status)
            status = sbn__layer_pass_finish(layer_pass, replica);
    }
    return status ? status : sbn__flush(replica);
}

/* Step 3 on every replica. From here on a failure is the group's, where it takes part. */
static int finish(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    int status = SBN_SUCCESS;
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass && !pass->applied;
         layer_pass = layer_pass->next)
        layer_pass->kind->fill(layer_pass, &layer_pass->chunks[0]);
    for (size_t r = 0; r < group->replica_count && !status; ++r)
        status = finish_replica(pass, &group->replicas[r]);
    if (!status)
        return SBN_SUCCESS;
    /* Some device may lack what the host has. */
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        if (layer_pass->kind->fills)
            layer_pass->saved->filled = 0;
        sbn__withdraw_events(group, layer_pass->shards);
    }
    return sbn__pass_is_local(pass) ? status : sbn__group_fail(group, status);
}

/* The statistics have moved on: a wrong result cannot stop the outputs. */
static int give_results(const sbn_pass *pass, sbn_result *results)
{
    size_t count = 0;
    for (const sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next)
        ++count;
    const int status = check_results(results, count);
    if (!results || status)
        return status;
    for (const sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        *results = layer_pass->result;
        results++->count = layer_pass->count;
    }
    return SBN_SUCCESS;
}

int sbn_pass_end(sbn_pass *pass, sbn_result *results)
{
    sbn__error_clear();
    int status = check_under_way(pass);
    if (status)
        return status;
    wait_until_settled(pass);
    sbn__error_clear();
    status = pass->status ? sbn__fail(pass->status, "%s", pass->sentence) : finish(pass);
    if (!status)
        status = give_results(pass, results);
    sbn__pass_release(pass);
    return status;
}
