#include "launch/reduce.h"

#include "plan/launch_plan.h"

/* Room for what the slices leave, and for their sum. */
static int reserve(const sbn_layer_pass *lp, sbn_replica *replica, const sbn_format *format,
                   size_t slices)
{
    sbn_work *work = &lp->work[replica->index];
    const size_t bytes = sizeof(int64_t) * sbn__accumulator_length(format) * lp->layer->channels;
    const int status = sbn__reserve(replica, &work->accumulators, bytes);
    return status || slices == 1 ? status : sbn__reserve(replica, &work->partial, bytes * slices);
}

int sbn__reduce_kernels(const sbn_batchnorm *layer, sbn_replica *replica, int fusion, int views,
                        sbn_kernels **kernels)
{
    const sbn_group *group = layer->group;
    const int own = views && sbn__form_sizes(replica->form)->own_views;
    *kernels = &replica->kernels[layer->type][sbn__variant_of(fusion, own)];
    return own ? sbn__replica_load(replica, layer->type, fusion, own, group->build_options,
                                   group->program_cache)
               : SBN_SUCCESS;
}

int sbn__reduce_launch(const sbn_layer_pass *lp, sbn_replica *replica, int format,
                       sbn_kernel *kernel, sbn_argument *arguments, size_t count,
                       const sbn_reduce_plan *plan, const sbn_wait *wait, cl_event *event)
{
    const sbn_shape *g = &lp->shapes[replica->index];
    const sbn_work *work = &lp->work[replica->index];
    const cl_uint samples = (cl_uint)g->samples, channels = (cl_uint)g->channels;
    const cl_uint plane = (cl_uint)g->plane;
    const size_t used = format == SBN_WIDE ? SBN_SLICE_ARGUMENTS : SBN_SLICE_ARGUMENTS - 1;
    const sbn_argument of_cpu[SBN_SLICE_ARGUMENTS] = {
        SBN_ARG(samples),
        SBN_ARG(channels),
        SBN_ARG(plane),
        SBN_ARG(g->blocks),
        SBN_ARG(plan->strip),
        SBN_ARG(plan->per_slice),
        SBN_ARG(g->last_reciprocal),
        SBN_ARG(work->reduced.mem),
        SBN_ARG(work->repeats), /* of the wide format alone */
    };
    const sbn_argument of_gpu[SBN_SLICE_ARGUMENTS] = {
        SBN_ARG(channels),           SBN_ARG(plane),
        SBN_ARG(g->blocks),          SBN_ARG(g->channel_blocks),
        SBN_ARG(plan->log2_strip),   SBN_ARG(plan->per_slice),
        SBN_ARG(g->last_reciprocal), SBN_ARG(work->reduced.mem),
        SBN_ARG(work->repeats),
    };
    const sbn_argument *const own[] = {[SBN_FORM_CPU] = of_cpu, [SBN_FORM_GPU] = of_gpu};
    for (size_t i = 0; i < used; ++i)
        arguments[count++] = own[replica->form][i];
    return sbn__launch(replica, kernel, arguments, count, 2, plan->work_groups, wait, event);
}

int sbn__add_slices(const sbn_layer_pass *lp, sbn_replica *replica, const sbn_format *format,
                    const sbn_reduced from[4], cl_mem to, const sbn_wait *wait, cl_event *event)
{
    const cl_uint per_channel = (cl_uint)sbn__accumulator_length(format);
    const cl_ulong total = (cl_ulong)per_channel * lp->layer->channels;
    const size_t each = (size_t)sbn__form_sizes(replica->form)->slice_words;
    const size_t groups = (total + each - 1) / each;
    sbn_argument arguments[2 * 4 + 3];
    for (size_t i = 0; i < 4; ++i) {
        arguments[2 * i] = (sbn_argument)SBN_ARG(from[i].mem);
        arguments[2 * i + 1] = (sbn_argument)SBN_ARG(from[i].slices);
    }
    arguments[2 * 4] = (sbn_argument)SBN_ARG(to);
    arguments[2 * 4 + 1] = (sbn_argument)SBN_ARG(per_channel);
    arguments[2 * 4 + 2] = (sbn_argument)SBN_ARG(total);
    return sbn__launch(replica, &replica->sum_kernels.add_slices, arguments, 2 * 4 + 3, 1, &groups,
                       wait, event);
}

int sbn__reduce(sbn_layer_pass *lp, sbn_replica *replica, int format)
{
    sbn_work *work = &lp->work[replica->index];
    const sbn_format *fixed = lp->kind->format(format);
    const sbn_shape *shape = &lp->shapes[replica->index];
    if (shape->values == 0)
        return SBN_SUCCESS;
    const sbn_reduce_plan plan = sbn__plan_reduce(shape, replica, sbn__accumulator_length(fixed));
    int status = reserve(lp, replica, fixed, plan.slices);
    if (status)
        return status;
    const cl_mem out = plan.slices > 1 ? work->partial.mem : work->accumulators.mem;
    work->reduced = (sbn_reduced){out, plan.slices};
    work->repeats = NULL;
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    cl_event reduced = NULL, folded = NULL;
    /* Work of the narrow format in the same memory. */
    sbn__wait_behind(&wait, replica, replica, work->last);
    status = lp->kind->reduce(lp, replica, format, &plan, &wait, &reduced);
    if (!status && plan.slices > 1) {
        const sbn_reduced from[4] = {work->reduced, {out, 0}, {out, 0}, {out, 0}};
        sbn_wait done = sbn__layer_pass_wait(lp, replica);
        sbn__wait_behind(&done, replica, replica, reduced);
        status = sbn__add_slices(lp, replica, fixed, from, work->accumulators.mem, &done, &folded);
    }
    if (reduced)
        sbn__move_event(&work->last, folded ? &folded : &reduced);
    sbn__release_event(&reduced);
    sbn__release_event(&folded);
    return status;
}

int sbn__reduce_on_device(sbn_layer_pass *lp, sbn_replica *replica, int format)
{
    const sbn_format *fixed = lp->kind->format(format);
    const sbn_shape *shape = &lp->shapes[replica->index];
    const size_t length = sbn__accumulator_length(fixed);
    sbn_work *work = &lp->work[replica->index];
    work->reduced.slices = 0;
    if (shape->values == 0)
        return SBN_SUCCESS;
    const sbn_reduce_plan plan = sbn__plan_reduce(shape, replica, length);
    int status = sbn__reserve(replica, &work->partial,
                              sizeof(int64_t) * length * lp->layer->channels * plan.slices);
    if (status)
        return status;
    work->reduced = (sbn_reduced){work->partial.mem, plan.slices};
    work->repeats = work->repeat.mem;
    /* Other replicas' devices may still read what was there: of the pass before, or narrow. */
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    for (size_t r = 0; r < lp->group->replica_count; ++r)
        sbn__wait_behind(&wait, replica, &lp->group->replicas[r], lp->work[r].last);
    status = lp->kind->reduce(lp, replica, format, &plan, &wait, &work->next);
    if (status || !plan.adds_slices)
        return status;
    /*
     * The sum replaces the slices: the kernel that combines has a work-item for a channel, too few
     * for many slices.
     */
    const cl_mem out = work->partial.mem;
    const sbn_reduced from[4] = {work->reduced, {out, 0}, {out, 0}, {out, 0}};
    sbn_wait done = sbn__layer_pass_wait(lp, replica);
    cl_event added = NULL;
    sbn__wait_behind(&done, replica, replica, work->next);
    status = sbn__add_slices(lp, replica, fixed, from, out, &done, &added);
    if (!status) {
        sbn__move_event(&work->next, &added);
        work->reduced.slices = 1;
    }
    return status;
}
