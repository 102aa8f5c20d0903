#include "pass/apply.h"

int sbn__launch_apply(sbn_replica *replica, sbn_kernel kernels[SBN_WALKS], const sbn_shape *g,
                      sbn_argument *arguments, size_t count, const sbn_wait *wait, cl_event *event)
{
    const sbn_apply_plan plan = sbn__plan_apply(g, replica);
    const int flat = plan.walk == SBN_WALK_FLAT;
    const cl_uint channels = (cl_uint)g->channels, first = (cl_uint)g->first;
    const cl_uint total = (cl_uint)g->total;
    const cl_uint plane = g->layout == SBN_LAYOUT_NCHW ? (cl_uint)g->plane : 1;
    const cl_ulong ahead = (cl_ulong)g->ahead * plane, ahead_count = g->ahead_channels * plane;
    const sbn_argument of_run[] = {SBN_ARG(channels),
                                   SBN_ARG(first),
                                   SBN_ARG(total),
                                   SBN_ARG(plane),
                                   SBN_ARG(plan.length),
                                   SBN_ARG(ahead),
                                   SBN_ARG(ahead_count),
                                   SBN_ARG(plan.per_work_group),
                                   SBN_ARG(plan.non_temporal)};
    const sbn_argument of_rows[] = {SBN_ARG(channels), SBN_ARG(plane), SBN_ARG(plan.length),
                                    SBN_ARG(plan.per_work_group), SBN_ARG(plan.non_temporal)};
    const sbn_argument *walk = flat ? of_run : of_rows;
    const size_t more = flat ? sizeof of_run / sizeof *of_run : sizeof of_rows / sizeof *of_rows;
    for (size_t i = 0; i < more; ++i)
        arguments[count + i] = walk[i];
    return sbn__launch(replica, &kernels[plan.walk], arguments, count + more, 2, plan.work_groups,
                       wait, event);
}
