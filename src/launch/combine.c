#include "launch/combine.h"

#include "launch/backward.h"
#include "launch/reduce.h"

/* A kernel takes so many sources. */
enum { SOURCES = SBN_MAX_COMBINED };

typedef struct source {
    cl_mem mem;
    cl_uint slices;
    cl_mem wide;
} source;

int sbn__device_combine_concerns(const sbn_layer_pass *lp, size_t replica)
{
    return lp->kind->fills || lp->shapes[replica].values > 0 || sbn__backward_stores(lp, replica);
}

/* Sources that are not there have no slices, but buffers. */
static void collect(const sbn_work *work, size_t replicas, source *sources)
{
    size_t count = 0;
    for (size_t r = 0; r < replicas; ++r)
        if (work[r].reduced.slices > 0)
            sources[count++] = (source){work[r].reduced.mem, work[r].reduced.slices,
                                        work[r].wide.mem};
    for (; count < SOURCES; ++count)
        sources[count] = (source){sources[0].mem, 0, sources[0].wide};
}

static int launch(sbn_replica *replica, sbn_kernel *kernel, const sbn_argument *arguments,
                  size_t count, size_t channels, const sbn_wait *wait, cl_event *event)
{
    const sbn_form_sizes *sizes = sbn__form_sizes(replica->form);
    const size_t span = (size_t)sizes->combine_items * (size_t)sizes->combine_span;
    const size_t work_groups = (channels + span - 1) / span;
    return sbn__launch(replica, kernel, arguments, count, 1, &work_groups, wait, event);
}

#define SOURCE_ARGUMENTS(s) SBN_ARG((s).mem), SBN_ARG((s).slices), SBN_ARG((s).wide)

#define COMMON_ARGUMENTS \
    SOURCE_ARGUMENTS(sources[0]), SOURCE_ARGUMENTS(sources[1]), SOURCE_ARGUMENTS(sources[2]), \
        SOURCE_ARGUMENTS(sources[3]), SBN_ARG(lp->work[r].wide.mem), SBN_ARG(owns), \
        SBN_ARG(channels), SBN_ARG(count), SBN_ARG(eps->eps), SBN_ARG(clamps)

static int launch_forward(sbn_layer_pass *lp, sbn_replica *replica, int tracking,
                          const source *sources, sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    sbn_batchnorm *layer = lp->layer;
    sbn_running *running = layer->running;
    sbn_channel_table *table = &lp->saved->table;
    const sbn_eps *eps = &layer->eps;
    const cl_uint channels = (cl_uint)layer->channels, clamps = (cl_uint)eps->clamp;
    const cl_uint tracks = (cl_uint)tracking;
    const cl_ulong count = lp->count;
    const cl_uint owns = lp->group->replica_count == 1;
    const cl_mem moments = lp->saved->moments->device[r].mem;
    /* The kernel does not access this buffer where it tracks nothing; any will do. */
    const cl_mem updated = tracking ? running->device.mem : moments;
    const cl_double weight = tracking ? sbn__batchnorm_weight(layer) : 0.0;
    const cl_double unbiased = tracking ? (double)lp->count / (double)(lp->count - 1) : 0.0;
    const cl_long batches = tracking ? running->batches : 0;
    const sbn_argument arguments[] = {
        COMMON_ARGUMENTS,  SBN_ARG(table->device[r].mem),
        SBN_ARG(moments),  SBN_ARG(updated),
        SBN_ARG(tracks),   SBN_ARG(weight),
        SBN_ARG(unbiased), SBN_ARG(batches),
    };
    int status = sbn__channel_table_wait_to_write(table, replica, wait);
    /* The device overwrites what was saved. */
    lp->saved->filled = 0;
    if (tracking)
        sbn__wait_add(wait, running->last);
    if (!status)
        status = launch(replica, &replica->sum_kernels.forward_combine, arguments,
                        sizeof arguments / sizeof *arguments, channels, wait, event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return !status && tracking ? sbn__running_updated(running, lp->group, *event) : status;
}

static int launch_backward(sbn_layer_pass *lp, sbn_replica *replica, const source *sources,
                           sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    sbn_channel_table *table = &lp->gradients, *statistics = &lp->saved->table;
    const sbn_eps *eps = &lp->layer->eps;
    const cl_uint channels = (cl_uint)lp->layer->channels, clamps = (cl_uint)eps->clamp;
    const cl_uint is_own = !(lp->flags & SBN_GLOBAL_GRADIENTS) && sbn__layer_pass_has_peers(lp);
    const cl_ulong count = lp->count;
    const cl_uint owns = lp->group->replica_count == 1;
    const cl_mem moments = lp->saved->moments->device[r].mem;
    const sbn_reduced *reduced = &lp->work[r].reduced;
    const sbn_reduced own = reduced->slices > 0 ? *reduced : (sbn_reduced){sources[0].mem, 0};
    const sbn_argument arguments[] = {
        COMMON_ARGUMENTS, SBN_ARG(moments),    SBN_ARG(table->device[r].mem),
        SBN_ARG(own.mem), SBN_ARG(own.slices), SBN_ARG(is_own),
    };
    int status = sbn__channel_table_wait_to_write(table, replica, wait);
    if (!status)
        status = sbn__channel_table_wait(statistics, replica, wait);
    if (!status)
        status = launch(replica, &replica->sum_kernels.backward_combine, arguments,
                        sizeof arguments / sizeof *arguments, channels, wait, event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return status ? status : sbn__channel_table_touched(statistics, replica, *event);
}

int sbn__device_combine(sbn_layer_pass *lp, sbn_replica *replica, int tracks)
{
    const size_t replicas = lp->group->replica_count;
    sbn_work *work = &lp->work[replica->index];
    source sources[SOURCES];
    cl_event combined = NULL;
    sbn_wait wait = {{NULL}, 0};
    int status = SBN_SUCCESS;
    collect(lp->work, replicas, sources);
    for (size_t r = 0; r < replicas; ++r)
        sbn__wait_add(&wait, lp->work[r].last);
    if (lp->kind->fills)
        status = sbn__saved_moments_reserve(lp->saved->moments, replica);
    if (!status)
        status = lp->kind->fills ? launch_forward(lp, replica, tracks, sources, &wait, &combined)
                                 : launch_backward(lp, replica, sources, &wait, &combined);
    if (combined)
        sbn__move_event(&work->next, &combined);
    if (!status && replicas == 1)
        work->wide_is_clear = 1;
    return status;
}
