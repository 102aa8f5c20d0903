#include "launch/combine.h"

#include "launch/combining.h"
#include "launch/reduce.h"
#include "plan/sizes.h"

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

static int launch(sbn_layer_pass *lp, sbn_replica *replica, const sbn_combining *combining,
                  const sbn_wait *wait, cl_event *event)
{
    const sbn_source_arguments sources = collect(lp->work, lp->group->replica_count);
    const sbn_work *work = &lp->work[replica->index];
    const sbn_own_wide_arguments wide = {
        .own_wide = work->wide.mem,
        .owns = lp->group->replica_count == 1,
        .channels = (cl_uint)lp->layer->channels,
    };
    const sbn_own_arguments own = {
        .own = work->reduced.slices > 0 ? work->reduced.mem : sources.from0,
        .own_slices = work->reduced.slices,
        .is_own = !(lp->flags & SBN_GLOBAL_GRADIENTS) && sbn__layer_pass_has_peers(lp),
    };
    const sbn_form_sizes *sizes = sbn__form_sizes(replica->form);
    const size_t span = (size_t)sizes->combine_items * (size_t)sizes->combine_span;
    const size_t work_groups = sbn__ceil_div(lp->layer->channels, span);
    sbn_kernels *kernels;
    const int status = sbn__reduce_kernels(lp, replica, 0, &kernels);
    if (status)
        return status;
    sbn_kernel *kernel = &kernels->of[SBN_COMBINE][!lp->kind->fills];
    sbn_arguments arguments = {.count = 0};
    sbn__add_source(&arguments, &sources);
    sbn__add_own_wide(&arguments, &wide);
    sbn__add_combining(&arguments, combining, lp->kind->fills);
    if (!lp->kind->fills)
        sbn__add_own(&arguments, &own);
    return sbn__launch(replica, kernel, arguments.list, arguments.count, 1, &work_groups, wait,
                       event);
}

int sbn__device_combine(sbn_layer_pass *lp, sbn_replica *replica)
{
    const size_t replicas = lp->group->replica_count;
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    for (size_t r = 0; r < replicas; ++r)
        sbn__wait_behind(&wait, replica, &lp->group->replicas[r], lp->work[r].last);
    const int status = sbn__combine_by(launch, lp, replica, &wait);
    if (!status && replicas == 1)
        lp->work->wide_is_clear = 1;
    return status;
}
