#include "launch/combine.h"

#include "launch/backward.h"
#include "launch/reduce.h"
#include "launch/tracking.h"

int sbn__device_combine_concerns(const sbn_layer_pass *lp, size_t replica)
{
    return lp->kind->fills || lp->shapes[replica].values > 0 || sbn__backward_stores(lp, replica);
}

/* Sources that are not there have no slices, but buffers. */
static sbn_source_arguments collect(const sbn_work *work, size_t replicas)
{
    const sbn_work *of[SBN_MAX_COMBINED] = {NULL};
    cl_uint slices[SBN_MAX_COMBINED] = {0};
    size_t count = 0;
    for (size_t r = 0; r < replicas; ++r)
        if (work[r].reduced.slices > 0) {
            of[count] = &work[r];
            slices[count++] = work[r].reduced.slices;
        }
    for (size_t i = count; i < SBN_MAX_COMBINED; ++i)
        of[i] = of[0];
    return (sbn_source_arguments){
        .from0 = of[0]->reduced.mem,
        .slices0 = slices[0],
        .wide0 = of[0]->wide.mem,
        .from1 = of[1]->reduced.mem,
        .slices1 = slices[1],
        .wide1 = of[1]->wide.mem,
        .from2 = of[2]->reduced.mem,
        .slices2 = slices[2],
        .wide2 = of[2]->wide.mem,
        .from3 = of[3]->reduced.mem,
        .slices3 = slices[3],
        .wide3 = of[3]->wide.mem,
    };
}

sbn_combine_arguments sbn__combine_arguments(const sbn_layer_pass *lp)
{
    return (sbn_combine_arguments){
        .channels = (cl_uint)lp->layer->channels,
        .count = lp->count,
        .eps = lp->layer->eps.eps,
        .clamps = (cl_uint)lp->layer->eps.clamp,
    };
}

sbn_forward_combine_arguments sbn__forward_combine_arguments(const sbn_layer_pass *lp,
                                                             size_t replica)
{
    return (sbn_forward_combine_arguments){
        .coefficients = lp->saved->table.device[replica].mem,
        .moments = lp->saved->moments->device[replica].mem,
    };
}

sbn_backward_combine_arguments sbn__backward_combine_arguments(const sbn_layer_pass *lp,
                                                               size_t replica)
{
    return (sbn_backward_combine_arguments){
        .moments = lp->saved->moments->device[replica].mem,
        .gradients = lp->gradients.device[replica].mem,
    };
}

static void add_common(sbn_arguments *arguments, const sbn_source_arguments *sources,
                       const sbn_own_wide_arguments *wide, const sbn_combine_arguments *sums)
{
    sbn__add_source(arguments, sources);
    sbn__add_own_wide(arguments, wide);
    sbn__add_combine(arguments, sums);
}

static sbn_own_wide_arguments own_wide(const sbn_layer_pass *lp, const sbn_replica *replica)
{
    return (sbn_own_wide_arguments){
        .own_wide = lp->work[replica->index].wide.mem,
        .owns = lp->group->replica_count == 1,
    };
}

static int launch(const sbn_layer_pass *lp, sbn_replica *replica, sbn_kernel *kernel,
                  const sbn_arguments *arguments, const sbn_wait *wait, cl_event *event)
{
    const sbn_form_sizes *sizes = sbn__form_sizes(replica->form);
    const size_t span = (size_t)sizes->combine_items * (size_t)sizes->combine_span;
    const size_t work_groups = (lp->layer->channels + span - 1) / span;
    return sbn__launch(replica, kernel, arguments->list, arguments->count, 1, &work_groups, wait,
                       event);
}

static int launch_forward(sbn_layer_pass *lp, sbn_replica *replica, int tracks,
                          const sbn_source_arguments *sources, sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    sbn_channel_table *table = &lp->saved->table;
    const sbn_own_wide_arguments wide = own_wide(lp, replica);
    const sbn_combine_arguments sums = sbn__combine_arguments(lp);
    const sbn_forward_combine_arguments tables = sbn__forward_combine_arguments(lp, r);
    const sbn_tracking_arguments tracking = sbn__tracking_of(lp, r, tracks, tables.moments);
    sbn_arguments arguments = {.count = 0};
    add_common(&arguments, sources, &wide, &sums);
    sbn__add_forward_combine(&arguments, &tables);
    sbn__add_tracking(&arguments, &tracking);
    int status = sbn__channel_table_wait_to_write(table, replica, wait);
    /* The device overwrites what was saved. */
    lp->saved->filled = 0;
    sbn__tracking_wait(lp, &tracking, r, wait);
    if (!status)
        status = launch(lp, replica, &replica->sum_kernels.forward_combine, &arguments, wait,
                        event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return status ? status : sbn__tracking_enqueued(lp, &tracking, replica, *event);
}

static int launch_backward(sbn_layer_pass *lp, sbn_replica *replica,
                           const sbn_source_arguments *sources, sbn_wait *wait, cl_event *event)
{
    sbn_channel_table *table = &lp->gradients, *statistics = &lp->saved->table;
    const sbn_reduced *reduced = &lp->work[replica->index].reduced;
    const sbn_own_wide_arguments wide = own_wide(lp, replica);
    const sbn_combine_arguments sums = sbn__combine_arguments(lp);
    const sbn_backward_combine_arguments tables = sbn__backward_combine_arguments(lp,
                                                                                  replica->index);
    const sbn_own_arguments own = {
        .own = reduced->slices > 0 ? reduced->mem : sources->from0,
        .own_slices = reduced->slices,
        .is_own = !(lp->flags & SBN_GLOBAL_GRADIENTS) && sbn__layer_pass_has_peers(lp),
    };
    sbn_arguments arguments = {.count = 0};
    add_common(&arguments, sources, &wide, &sums);
    sbn__add_backward_combine(&arguments, &tables);
    sbn__add_own(&arguments, &own);
    int status = sbn__channel_table_wait_to_write(table, replica, wait);
    if (!status)
        status = sbn__channel_table_wait(statistics, replica, wait);
    if (!status)
        status = launch(lp, replica, &replica->sum_kernels.backward_combine, &arguments, wait,
                        event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return status ? status : sbn__channel_table_touched(statistics, replica, *event);
}

int sbn__device_combine(sbn_layer_pass *lp, sbn_replica *replica, int tracks)
{
    const size_t replicas = lp->group->replica_count;
    sbn_work *work = &lp->work[replica->index];
    const sbn_source_arguments sources = collect(lp->work, replicas);
    cl_event combined = NULL;
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < replicas; ++r)
        sbn__wait_behind(&wait, replica, &lp->group->replicas[r], lp->work[r].last);
    if (lp->kind->fills)
        status = sbn__saved_moments_reserve(lp->saved->moments, replica);
    if (!status)
        status = lp->kind->fills ? launch_forward(lp, replica, tracks, &sources, &wait, &combined)
                                 : launch_backward(lp, replica, &sources, &wait, &combined);
    if (combined)
        sbn__move_event(&work->next, &combined);
    if (!status && replicas == 1)
        work->wide_is_clear = 1;
    return status;
}
