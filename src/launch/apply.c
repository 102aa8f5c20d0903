#include "launch/apply.h"

#include "plan/launch_plan.h"
#include "program/kernel_constants.h"

int sbn__launch_apply(sbn_replica *replica, sbn_kernel kernels[SBN_WALKS], const sbn_shape *g,
                      sbn_argument *arguments, size_t count, const sbn_wait *wait, cl_event *event)
{
    const sbn_apply_plan plan = sbn__plan_apply(g, replica);
    const cl_uint channels = (cl_uint)g->channels;
    const cl_uint plane = g->layout == SBN_LAYOUT_NCHW ? (cl_uint)g->plane : 1;
    const sbn_argument of_rows[SBN_WALK_ARGUMENTS] = {SBN_ARG(channels), SBN_ARG(plane),
                                                      SBN_ARG(plan.length),
                                                      SBN_ARG(plan.per_work_group),
                                                      SBN_ARG(plan.non_temporal)};
    const sbn_argument of_planes[] = {SBN_ARG(channels), SBN_ARG(plane),
                                      SBN_ARG(plan.per_work_group)};
    const sbn_argument *const walks[SBN_WALKS] =
        {[SBN_WALK_FLAT] = of_rows, [SBN_WALK_ROWS] = of_rows, [SBN_WALK_PLANES] = of_planes};
    const size_t more[SBN_WALKS] = {[SBN_WALK_FLAT] = 5,
                                    [SBN_WALK_ROWS] =
                                        (size_t)sbn__form_sizes(replica->form)->row_arguments,
                                    [SBN_WALK_PLANES] = 3};
    for (size_t i = 0; i < more[plan.walk]; ++i)
        arguments[count + i] = walks[plan.walk][i];
    return sbn__launch(replica, &kernels[plan.walk], arguments, count + more[plan.walk],
                       plan.dimensions, plan.work_groups, wait, event);
}
