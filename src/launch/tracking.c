#include "launch/tracking.h"

/* 1 if any shard of the pass has running statistics of the caller. */
static int is_given(const sbn_layer_pass *lp)
{
    int given = 0;
    for (size_t r = 0; r < lp->group->replica_count; ++r)
        given |= lp->shards[r].running_mean.mem != NULL;
    return given;
}

int sbn__tracking_concerns(const sbn_layer_pass *lp, size_t replica)
{
    return sbn__layer_pass_tracks(lp) &&
           (replica == 0 || lp->shards[replica].running_mean.mem != NULL);
}

static double unbiased_of(const sbn_layer_pass *lp)
{
    return (double)lp->count / (double)(lp->count - 1);
}

sbn_tracking_arguments sbn__tracking_of(const sbn_layer_pass *lp, size_t replica, cl_mem any)
{
    const sbn_batchnorm *layer = lp->layer;
    const sbn_shard *shard = &lp->shards[replica];
    sbn_tracking_arguments t = {.means = any, .vars = any, .layers = any};
    if (!sbn__tracking_concerns(lp, replica))
        return t;
    t.weight = sbn__batchnorm_weight(layer);
    t.unbiased = unbiased_of(lp);
    t.counts = replica == 0;
    t.batches = layer->running->batches;
    if (t.counts)
        t.layers = layer->running->device.mem;
    if (shard->running_mean.mem) {
        t.tracks = 1;
        t.means = shard->running_mean.mem;
        t.means_offset = shard->running_mean.offset;
        t.vars = shard->running_var.mem;
        t.vars_offset = shard->running_var.offset;
    } else if (!is_given(lp)) {
        t.tracks = 1;
        t.means = t.vars = t.layers;
        t.vars_offset = layer->channels;
    }
    return t;
}

/* --- where the host combines --------------------------------------------------------- */

void sbn__tracking_commit(sbn_layer_pass *lp)
{
    const sbn_saved_moments *moments = lp->saved->moments;
    const size_t channels = lp->layer->channels;
    sbn_running *running = lp->layer->running;
    if (!sbn__layer_pass_tracks(lp))
        return;
    lp->weight = sbn__batchnorm_count(lp->layer);
    if (is_given(lp))
        return;
    sbn__running_average(running->mean, moments->mean, 1.0, lp->weight, channels);
    sbn__running_average(running->var, moments->var, unbiased_of(lp), lp->weight, channels);
}

#define WHAT "running statistics"

/* One of both: in memory of the host that no copy is kept of as it is, else in `values`. */
static int update(sbn_layer_pass *lp, sbn_replica *replica, const sbn_buffer *buffer,
                  const double *moments, double unbiased, float *values)
{
    const size_t channels = lp->layer->channels;
    const size_t begin = sizeof *values * buffer->offset, size = sizeof *values * channels;
    float *const direct = replica->host_memory == SBN_HOST_MEMORY_USED
                              ? sbn__host_floats(&lp->work[replica->index].host, buffer)
                              : NULL;
    float *const at = direct ? direct : values;
    const int status = direct ? SBN_SUCCESS
                              : sbn__read_now(replica, replica->queue, buffer->mem, begin, size, at,
                                              WHAT);
    if (status)
        return status;
    sbn__running_average(at, moments, unbiased, lp->weight, channels);
    return direct ? SBN_SUCCESS
                  : sbn__write_now(replica, replica->queue, buffer->mem, begin, size, at, WHAT);
}

int sbn__tracking_on_host(sbn_layer_pass *lp, sbn_replica *replica)
{
    const sbn_shard *shard = &lp->shards[replica->index];
    const sbn_saved_moments *moments = lp->saved->moments;
    const cl_event ready = lp->work[replica->index].ready;
    if (!sbn__layer_pass_tracks(lp) || !shard->running_mean.mem)
        return SBN_SUCCESS;
    /* The columns have served. */
    float *const values = (float *)lp->columns[0];
    int status = ready ? sbn__event_wait(replica, ready) : SBN_SUCCESS;
    /* Of others the sums have come, behind what a queue in order had to do before. */
    if (!status && replica->in_order && lp->shapes[replica->index].elements == 0)
        status = sbn__finish(replica);
    if (!status)
        status = update(lp, replica, &shard->running_mean, moments->mean, 1.0, values);
    return status ? status
                  : update(lp, replica, &shard->running_var, moments->var, unbiased_of(lp), values);
}
