#include "launch/reduce.h"

#include "launch/combining.h"
#include "plan/launch_plan.h"
#include "plan/sizes.h"

int sbn__reduce_prepare_wide(const sbn_layer_pass *lp, sbn_replica *replica, sbn_wait *wait,
                             cl_event *slot)
{
    sbn_work *work = &lp->work[replica->index];
    const size_t before = work->wide.size;
    /* Behind the accumulators there are counters, one for each strip: cl/gpu/tail.cl. */
    const size_t words = sbn__wide_limbs() + (size_t)replica->counts_slices;
    int status = sbn__reserve(replica, &work->wide, sizeof(int64_t) * words * lp->layer->channels);
    if (!status && work->wide_is_clear && work->wide.size == before)
        return SBN_SUCCESS;
    /* Not behind the caller's events: if one fails, later passes that need zeros run all the same. */
    const sbn_wait given = sbn__layer_pass_wait(lp, replica);
    sbn_wait own = {{NULL}, 0};
    cl_event cleared;
    for (cl_uint i = given.count; i < wait->count; ++i)
        sbn__wait_add(&own, wait->events[i]);
    if (!status)
        status = sbn__clear(replica, work->wide.mem, work->wide.size, &own, &cleared);
    work->wide_is_clear = !status;
    if (!status) {
        *wait = given;
        sbn__wait_behind(wait, replica, replica, cleared);
        sbn__move_event(slot, &cleared);
    }
    return status;
}

int sbn__reduce_kernels(const sbn_layer_pass *lp, sbn_replica *replica, int fusion,
                        sbn_kernels **kernels)
{
    const sbn_shape *g = &lp->shapes[replica->index];
    const sbn_group *group = lp->group;
    const sbn_type type = lp->layer->config.type;
    const int views = g->x_gap != 0 || g->dy_gap != 0;
    const int last = g->layout == SBN_LAYOUT_NHWC;
    const int part = replica->form == SBN_FORM_GPU
                         ? sbn__part_of_reductions(!lp->kind->fills, last, views)
                         : 0;
    const int status = sbn__replica_load(replica, type, fusion, part, &group->config);
    *kernels = replica->kernels[type][sbn__variant_of(fusion, part)];
    return status;
}

int sbn__reduce_launch(const sbn_layer_pass *lp, sbn_replica *replica, sbn_kernel *kernel,
                       sbn_arguments *arguments, const sbn_reduce_plan *plan, const sbn_wait *wait,
                       cl_event *event)
{
    const sbn_shape *g = &lp->shapes[replica->index];
    const sbn_work *work = &lp->work[replica->index];
    const sbn_slice_arguments of_both = {
        .channels = (cl_uint)g->channels,
        .plane = (cl_uint)g->plane,
        .blocks = g->blocks,
        .per_slice = plan->per_slice,
        .last_reciprocal = g->last_reciprocal,
        .partial = work->reduced.mem,
        .wide = work->wide.mem,
        .thin = sbn__layer_pass_is_thin(lp),
    };
    const sbn_cpu_slice_arguments of_cpu = {
        .samples = (cl_uint)g->samples,
        .strip = plan->strip,
    };
    const sbn_gpu_slice_arguments of_gpu = {
        .units = g->channel_blocks,
        .log2_strip = plan->log2_strip,
    };
    sbn__add_slice(arguments, &of_both);
    if (replica->form == SBN_FORM_CPU)
        sbn__add_cpu_slice(arguments, &of_cpu);
    else
        sbn__add_gpu_slice(arguments, &of_gpu);
    return sbn__launch(replica, kernel, arguments->list, arguments->count, 2, plan->work_groups,
                       wait, event);
}

/* Enqueues the adding of a replica's slices behind `before`, which it replaces. */
static int add_slices(const sbn_layer_pass *lp, sbn_replica *replica, cl_event *before)
{
    sbn_reduced *reduced = &lp->work[replica->index].reduced;
    const size_t per_channel = sbn__accumulator_length(lp->kind->format);
    const sbn_add_slices_arguments own = {
        .partial = reduced->mem,
        .slices = reduced->slices,
        .per_channel = (cl_uint)per_channel,
        .total = (cl_ulong)per_channel * lp->layer->channels,
    };
    const size_t each = (size_t)sbn__form_sizes(replica->form)->slice_words;
    const size_t groups = sbn__ceil_div(own.total, each);
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    cl_event added = NULL;
    sbn__wait_behind(&wait, replica, replica, *before);
    sbn_arguments arguments = {.count = 0};
    sbn__add_add_slices(&arguments, &own);
    const int status = sbn__launch(replica, &replica->kernels[SBN_F32][0]->of[SBN_ADD_SLICES][0],
                                   arguments.list, arguments.count, 1, &groups, &wait, &added);
    if (!status) {
        sbn__move_event(before, &added);
        reduced->slices = 1;
    }
    return status;
}

/*
 * Enqueues the reduction behind `wait`, of a shard with values, and the adding of its slices: of all
 * with `adds`, else of so many that the kernel that combines, which has a work-item for a channel, is slower.
 */
static int reduce(sbn_layer_pass *lp, sbn_replica *replica, int adds, const sbn_wait *wait,
                  cl_event *last)
{
    sbn_work *work = &lp->work[replica->index];
    const size_t length = sbn__accumulator_length(lp->kind->format);
    const sbn_reduce_plan plan = sbn__plan_reduce(&lp->shapes[replica->index], replica, length);
    int status = sbn__reserve(replica, &work->partial,
                              sizeof(int64_t) * length * lp->layer->channels * plan.slices);
    if (status)
        return status;
    work->reduced = (sbn_reduced){work->partial.mem, plan.sums_up ? 1 : plan.slices};
    work->wide_is_clear = 0;
    const sbn_combining none = sbn__combining_none(work->partial.mem,
                                                   plan.sums_up ? SBN_TAIL_ADDS : SBN_TAIL_NONE);
    cl_event reduced = NULL;
    status = lp->kind->reduce(lp, replica, &plan, &none, wait, &reduced);
    if (reduced)
        sbn__move_event(last, &reduced);
    if (status || !(plan.adds_slices || (adds && work->reduced.slices > 1)))
        return status;
    return add_slices(lp, replica, last);
}

int sbn__reduce(sbn_layer_pass *lp, sbn_replica *replica)
{
    sbn_work *work = &lp->work[replica->index];
    if (lp->shapes[replica->index].values == 0)
        return SBN_SUCCESS;
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    const int status = sbn__reduce_prepare_wide(lp, replica, &wait, &work->last);
    return status ? status : reduce(lp, replica, 1, &wait, &work->last);
}

int sbn__reduce_on_device(sbn_layer_pass *lp, sbn_replica *replica)
{
    sbn_work *work = &lp->work[replica->index];
    work->reduced.slices = 0;
    /* Other replicas' devices may still read what was there. */
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    for (size_t r = 0; r < lp->group->replica_count; ++r)
        sbn__wait_behind(&wait, replica, &lp->group->replicas[r], lp->work[r].last);
    const int status = sbn__reduce_prepare_wide(lp, replica, &wait, &work->next);
    if (status || lp->shapes[replica->index].values == 0)
        return status;
    return reduce(lp, replica, 0, &wait, &work->next);
}
