#include "launch/combining.h"

#include "launch/tracking.h"

int sbn__backward_stores(const sbn_layer_pass *lp, size_t replica)
{
    const sbn_shard *shard = &lp->shards[replica];
    return lp->layer->affine && (shard->weight_grad.mem || shard->bias_grad.mem);
}

sbn_store_arguments sbn__store_arguments(const sbn_layer_pass *lp, size_t replica)
{
    const sbn_shard *shard = &lp->shards[replica];
    const cl_mem table = lp->gradients.copies[replica].buffer.mem;
    const int has_weight = lp->layer->affine && shard->weight_grad.mem;
    const int has_bias = lp->layer->affine && shard->bias_grad.mem;
    return (sbn_store_arguments){
        .weight_grad = has_weight ? shard->weight_grad.mem : table,
        .weight_grad_offset = shard->weight_grad.offset,
        .has_weight_grad = (cl_uint)has_weight,
        .bias_grad = has_bias ? shard->bias_grad.mem : table,
        .bias_grad_offset = shard->bias_grad.offset,
        .has_bias_grad = (cl_uint)has_bias,
        .accumulate = (lp->flags & SBN_ACCUMULATE_GRADIENTS) != 0,
    };
}

static int begin_forward(sbn_combining *combining, sbn_layer_pass *lp, sbn_replica *replica,
                         sbn_wait *wait)
{
    const size_t r = replica->index;
    sbn_saved *saved = lp->saved;
    int status = sbn__saved_moments_reserve(saved->moments, replica);
    if (!status)
        status = sbn__channel_table_wait_to_write(&saved->table, replica, wait);
    combining->statistics = (sbn_forward_combine_arguments){
        .coefficients = saved->table.copies[r].buffer.mem,
        .moments = saved->moments->device[r].mem,
    };
    combining->tracking = sbn__tracking_of(lp, r, combining->statistics.moments);
    if (combining->tracking.counts)
        sbn__wait_behind(wait, replica, replica, lp->layer->running->last);
    return status;
}

static int begin_backward(sbn_combining *combining, sbn_layer_pass *lp, sbn_replica *replica,
                          sbn_wait *wait)
{
    const size_t r = replica->index;
    int status = sbn__channel_table_wait_to_write(&lp->gradients, replica, wait);
    if (!status)
        status = sbn__channel_table_wait(&lp->saved->table, replica, wait);
    combining->gradients = (sbn_backward_combine_arguments){
        .moments = lp->saved->moments->device[r].mem,
        .gradients = lp->gradients.copies[r].buffer.mem,
    };
    combining->store = sbn__store_arguments(lp, r);
    if (!lp->at_once)
        combining->store.has_weight_grad = combining->store.has_bias_grad = 0;
    return status;
}

/* Makes room in the tables, and adds to `wait` what uses them. */
static int begin(sbn_combining *combining, sbn_layer_pass *lp, sbn_replica *replica, sbn_wait *wait)
{
    *combining = (sbn_combining){
        .tail = {SBN_TAIL_COMBINES},
        .sums.count = lp->count,
        .sums.eps = lp->layer->eps.eps,
        .sums.clamps = (cl_uint)lp->layer->eps.clamp,
    };
    return lp->kind->fills ? begin_forward(combining, lp, replica, wait)
                           : begin_backward(combining, lp, replica, wait);
}

/* The kernel is enqueued. */
static int end(const sbn_combining *combining, sbn_layer_pass *lp, sbn_replica *replica,
               cl_event event)
{
    sbn_channel_table *statistics = &lp->saved->table;
    int status = sbn__channel_table_wrote(lp->kind->fills ? statistics : &lp->gradients, replica,
                                          event);
    if (!status && !lp->kind->fills)
        status = sbn__channel_table_touched(statistics, replica, event);
    if (!status && combining->tracking.counts)
        status = sbn__running_updated(lp->layer->running, lp->group, event,
                                      sbn__layer_pass_may_fail(lp));
    /* Step 3 may have nothing to do; what it enqueues waits for this, and takes its place. */
    if (!status)
        status = sbn__keep_event(replica, &lp->work[replica->index].applied, event);
    return status;
}

int sbn__combine_by(sbn_combine_launch *launch, sbn_layer_pass *lp, sbn_replica *replica,
                    sbn_wait *wait)
{
    sbn_combining combining;
    cl_event enqueued = NULL;
    int status = begin(&combining, lp, replica, wait);
    if (!status)
        status = launch(lp, replica, &combining, wait, &enqueued);
    if (!status)
        status = end(&combining, lp, replica, enqueued);
    if (enqueued)
        sbn__move_event(&lp->work[replica->index].next, &enqueued);
    return status;
}

sbn_combining sbn__combining_none(cl_mem any, int tail)
{
    return (sbn_combining){
        .tail = {(cl_uint)tail},
        .statistics = {any, any},
        .tracking = {.means = any, .vars = any, .layers = any},
        .gradients = {any, any},
        .store = {.weight_grad = any, .bias_grad = any},
    };
}

void sbn__add_tail_of(sbn_arguments *arguments, const sbn_combining *combining, int fills,
                      const sbn_replica *replica)
{
    if (replica->form == SBN_FORM_CPU)
        return;
    sbn__add_tail(arguments, &combining->tail);
    sbn__add_combining(arguments, combining, fills);
}

void sbn__add_combining(sbn_arguments *arguments, const sbn_combining *combining, int fills)
{
    sbn__add_combine(arguments, &combining->sums);
    if (fills) {
        sbn__add_forward_combine(arguments, &combining->statistics);
        sbn__add_tracking(arguments, &combining->tracking);
    } else {
        sbn__add_backward_combine(arguments, &combining->gradients);
        sbn__add_store(arguments, &combining->store);
    }
}
