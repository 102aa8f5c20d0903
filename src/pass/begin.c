#include "pass/begin.h"

#include "pass/end.h"
#include "pass/pool.h"
#include "pass/progress.h"
#include "pass/start.h"
#include "tensor/overlap.h"
#include "tensor/shard.h"

/* Adds the layer's index to the sentence in calls of several layers. */
static int of_branch(int status, size_t i, size_t count)
{
    return status && count > 1 ? sbn__fail(status, "branches[%zu]: %s", i, sbn_last_error())
                               : status;
}

static sbn_branch branch_at(const sbn_branch *branches, size_t i)
{
    sbn_branch branch;
    sbn__struct_get(&branch, sizeof branch, branches, i);
    return branch;
}

/* Opens the layer passes, which needs no device. */
static void open_layer_passes(sbn_pass *pass, sbn__choose *choose, const sbn_branch *branches,
                              size_t count, const sbn_result *results)
{
    sbn_layer_pass *lp = pass->layer_passes;
    for (size_t i = 0; i < count; ++i, lp = lp->next) {
        const int status = sbn__layer_pass_open(lp, choose, branch_at(branches, i));
        sbn__pass_error(pass, lp, of_branch(status, i, count));
    }
    sbn__pass_error(pass, pass->layer_passes, sbn__pass_check_results(results, count));
    if (!sbn__pass_is_local(pass))
        sbn__pass_error(pass, pass->layer_passes,
                        sbn__communicator_check(&pass->group->communicator, "the group"));
}

/*
 * 1 if the devices combine whatever is to be combined. In an unsettled pass, unless it is local, the host's turn
 * comes later than what would be enqueued now.
 */
static int devices_combine(const sbn_pass *pass)
{
    const sbn_group *group = pass->group;
    int can = !pass->error && group->combines && !sbn__pass_is_joined(pass);
    for (size_t i = 0; i < group->passes_under_way && can; ++i)
        can = group->passes[i]->stage == SBN_STAGE_SETTLED || sbn__pass_is_local(group->passes[i]);
    /* A backward pass reads what the forward pass has left there. */
    for (const sbn_layer_pass *lp = pass->layer_passes; lp && can; lp = lp->next)
        can = !lp->kind->reduce || lp->kind->fills || lp->saved->moments->on_device;
    return can;
}

/* Layers of a call may add up gradients in one buffer: only one alone is made at once. */
static void prepare_layer_passes(sbn_pass *pass, size_t count)
{
    const int devices = devices_combine(pass);
    sbn_layer_pass *lp = pass->layer_passes;
    pass->start = devices ? sbn__start_on_devices : sbn__start_on_host;
    for (size_t i = 0; i < count && !pass->error; ++i, lp = lp->next) {
        const int status = sbn__layer_pass_prepare(lp, devices, pass->at_once && count == 1);
        sbn__pass_error(pass, lp, of_branch(status, i, count));
    }
}

/* Checks that no layer or replica writes what another one touches. */
static void check_apart(sbn_pass *pass, size_t count)
{
    sbn_group *group = pass->group;
    size_t branch = 0;
    const sbn_layer_pass *lp = pass->layer_passes;
    if (pass->error || count * group->replica_count < 2)
        return;
    int status = sbn__claims_start(&group->claims, count * group->replica_count * SBN_MAX_USES);
    for (size_t i = 0; i < count && !status; ++i, lp = lp->next)
        sbn__claims_add_shards(lp->layer, i, lp->shards, lp->shapes, lp->kind->needs, lp->flags,
                               lp->kind->operation);
    if (!status)
        status = sbn__claims_check(group, &branch);
    lp = pass->layer_passes;
    for (size_t i = 0; i < branch; ++i)
        lp = lp->next;
    sbn__pass_error(pass, lp, of_branch(status, branch, count));
}

/* Makes buffers of OpenCL of what is in memory of the host, when all shards have been checked. */
static void open_host(sbn_pass *pass, size_t count)
{
    sbn_layer_pass *lp = pass->layer_passes;
    for (size_t i = 0; i < count; ++i, lp = lp->next)
        for (size_t r = 0; r < pass->group->replica_count && !pass->error; ++r) {
            const int status = sbn__host_open(&lp->work[r].host, lp->layer,
                                              &pass->group->replicas[r], &lp->shards[r],
                                              &lp->shapes[r], lp->kind->needs, lp->kind->operation);
            sbn__pass_error(pass, lp, of_branch(status, i, count));
        }
}

/* A call counts once, however many layers it has. */
static void number_layer_passes(sbn_pass *pass)
{
    if (sbn__pass_is_local(pass))
        return;
    uint32_t place = 0;
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next) {
        lp->call.number = pass->group->communicator.calls;
        lp->place = lp->kind->local ? 0 : place++;
    }
    ++pass->group->communicator.calls;
}

/* Enqueues step 1 and starts step 2 or, in a joined pass, tells the others of the error. */
static int launch(sbn_pass *pass)
{
    pass->group->passes[pass->group->passes_under_way++] = pass;
    if (!sbn__pass_is_joined(pass)) {
        sbn__pass_start_alone(pass);
        if (pass->stage == SBN_STAGE_LOCAL)
            pass->start(pass);
        return pass->error ? pass->error : pass->status;
    }
    if (!pass->error)
        pass->start(pass);
    sbn__progress_join(pass);
    if (pass->error)
        sbn__pass_wait(pass);
    return pass->error;
}

static int check_begin(const sbn_branch *branches, size_t count, sbn_pass **begun)
{
    if (!begun)
        return sbn__fail(SBN_INVALID_ARGUMENT, "pass: expected a place for the handle, got NULL");
    *begun = NULL;
    if (!branches || count == 0)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s",
                         branches ? "count: expected at least 1 layer, got 0"
                                  : "branches: expected an array of layers, got NULL");
    if (count > SBN_MAX_BRANCHES)
        return sbn__fail(SBN_INVALID_ARGUMENT, "count: expected at most %d layers, got %zu",
                         SBN_MAX_BRANCHES, count);
    int status = sbn__struct_check(branches, count, SBN_STRUCT(sbn_branch), "branches");
    if (status)
        return status;
    status = sbn__check_handle(branches->layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return of_branch(status, 0, count);
    for (size_t i = 0; i < count; ++i) {
        const sbn_branch branch = branch_at(branches, i);
        if (!sbn__check_handle(branch.layer, SBN_HANDLE_BATCHNORM, "layer"))
            sbn__forget_events(branch.shards, branch.layer->group->replica_count,
                               SBN_EVENTS(sbn_shard));
    }
    if (branches->layer->group->passes_under_way == SBN_MAX_PASSES)
        return sbn__fail(SBN_INVALID_ARGUMENT, "at most %d passes of a group may be under way",
                         SBN_MAX_PASSES);
    return SBN_SUCCESS;
}

/* 1 if no layer of the call combines with other ranks, as far as the call is valid. */
static int is_local_call(sbn__choose *choose, const sbn_branch *branches, size_t count)
{
    int local = 1;
    for (size_t i = 0; i < count; ++i) {
        sbn_branch branch = branch_at(branches, i);
        int status = sbn__check_handle(branch.layer, SBN_HANDLE_BATCHNORM, "layer");
        const sbn_layer_pass_kind *kind = choose(&branch, &status);
        local = local && !status && kind->local;
    }
    return local;
}

/* Without memory for a pass the other ranks cannot be told: the communicator is dead. */
static int acquire(sbn__choose *choose, const sbn_branch *branches, size_t count, sbn_pass **pass)
{
    sbn_communicator *c = &branches->layer->group->communicator;
    const int status = sbn__pass_acquire(branches->layer->group, count, pass);
    if (!status || !sbn__communicator_is_joined(c) || is_local_call(choose, branches, count))
        return status;
    return sbn__communicator_die_of_memory(c, "a pass");
}

/* `at_once`: the caller ends the pass before it does anything else. */
static int begin(sbn__choose *choose, const sbn_branch *branches, size_t count,
                 const sbn_result *results, int at_once, sbn_pass **begun)
{
    int status = check_begin(branches, count, begun);
    if (status)
        return status;
    sbn_pass *pass = NULL;
    status = acquire(choose, branches, count, &pass);
    if (status)
        return status;
    open_layer_passes(pass, choose, branches, count, results);
    const int told = sbn__pass_is_joined(pass) && !pass->group->communicator.dead;
    if (!pass->error || told)
        number_layer_passes(pass);
    pass->at_once = at_once;
    prepare_layer_passes(pass, count);
    check_apart(pass, count);
    open_host(pass, count);
    status = pass->error && !told ? pass->error : launch(pass);
    if (!status) {
        *begun = pass;
        /* What a settled pass keeps is told at its end. */
        sbn__error_clear();
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
