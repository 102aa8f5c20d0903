#include "launch/layer_pass.h"

#include "base/memory.h"

int sbn__layer_pass_is_joined(const sbn_layer_pass *lp)
{
    return !lp->kind->local && sbn__communicator_is_joined(&lp->group->communicator);
}

int sbn__layer_pass_has_peers(const sbn_layer_pass *lp)
{
    return sbn__layer_pass_is_joined(lp) || lp->group->replica_count > 1;
}

void sbn__layer_pass_destroy(sbn_layer_pass *lp)
{
    /* None where its creation has failed. */
    const size_t replicas = lp->work ? lp->group->replica_count : 0;
    sbn__work_clear(lp->work, replicas);
    for (size_t r = 0; r < replicas; ++r) {
        sbn__release_buffer(&lp->work[r].partial);
        sbn__release_buffer(&lp->work[r].wide);
        sbn__staging_release(&lp->work[r].on_host);
        sbn__staging_release(&lp->work[r].wide_on_host);
    }
    sbn__channel_table_destroy(&lp->gradients);
    sbn__free(lp->shards);
    sbn__free(lp->shapes);
    sbn__free(lp->work);
    sbn__free(lp->columns[0]);
    sbn__free(lp);
}

sbn_layer_pass *sbn__layer_pass_create(sbn_group *group)
{
    sbn_layer_pass *lp = sbn__allocate(sizeof *lp);
    if (!lp)
        return NULL;
    const size_t replicas = group->replica_count;
    lp->group = group;
    lp->shards = sbn__allocate(sizeof *lp->shards * replicas);
    lp->shapes = sbn__allocate(sizeof *lp->shapes * replicas);
    lp->work = sbn__allocate(sizeof *lp->work * replicas);
    /* Its room comes with the layer. */
    const int status = sbn__channel_table_create(&lp->gradients, group->replicas, replicas,
                                                 SBN_GRADIENT_ROWS, 0, 0);
    if (lp->shards && lp->shapes && lp->work && !status)
        return lp;
    sbn__layer_pass_destroy(lp);
    return NULL;
}

void sbn__layer_pass_release(sbn_layer_pass *lp)
{
    sbn_saved *saved = lp->saved;
    for (size_t r = 0; r < lp->group->replica_count; ++r) {
        sbn__host_close(&lp->work[r].host, &lp->group->replicas[r], NULL);
        sbn__release_event(&lp->work[r].ready);
        sbn__release_event(&lp->work[r].applied);
    }
    if (saved) {
        --saved->used;
        saved->filling = 0;
    }
    if (lp->layer)
        --lp->layer->under_way;
    lp->saved = NULL;
}

sbn_wait sbn__layer_pass_wait(const sbn_layer_pass *lp, const sbn_replica *replica)
{
    const int all = lp->group->combines && !lp->kind->local &&
                    !sbn__communicator_is_joined(&lp->group->communicator);
    sbn_wait wait = {{NULL}, 0};
    for (size_t r = 0; r < lp->group->replica_count; ++r)
        if (all || r == replica->index)
            sbn__wait_add(&wait, lp->work[r].ready);
    return wait;
}

int sbn__layer_pass_may_fail(const sbn_layer_pass *lp)
{
    const sbn_replica *replicas = lp->group->replicas;
    for (size_t r = 0; r < lp->group->replica_count; ++r)
        if (!replicas[r].in_order || replicas[r].queue != replicas->queue || lp->work[r].ready)
            return 1;
    return 0;
}

int sbn__layer_pass_check_enqueued(sbn_layer_pass *lp)
{
    const sbn_group *group = lp->group;
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count; ++r) {
        cl_event *last = &lp->work[r].last;
        cl_int state = CL_COMPLETE;
        const int asked = *last ? sbn__event_state(&group->replicas[r], *last, &state)
                                : SBN_SUCCESS;
        if (!asked && state >= 0)
            continue;
        if (!status && (asked || lp->enqueued))
            status = asked ? asked
                           : sbn__fail(state,
                                       "%s of layer \"%s\", which had only been enqueued, has "
                                       "failed on the device of replica %zu: %s",
                                       lp->enqueued, lp->enqueued_of, r, sbn_strerror(state));
        if (!asked)
            sbn__release_event(last);
        lp->work[r].wide_is_clear = 0;
    }
    return status;
}

cl_uint sbn__layer_pass_is_thin(const sbn_layer_pass *lp)
{
    return lp->layer->eps.eps < lp->kind->format->thin_eps;
}

int sbn__layer_pass_tracks(const sbn_layer_pass *lp)
{
    return lp->kind->needs & SBN_MAY_TRACK && lp->layer->tracks && lp->count > 0 &&
           !(lp->flags & SBN_KEEP_RUNNING_STATS);
}
