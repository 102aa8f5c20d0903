#include "launch/apply.h"

#include "plan/launch_plan.h"

int sbn__launch_apply(sbn_replica *replica, sbn_kernels *kernels, int is_backward,
                      const sbn_shape *g, sbn_arguments *arguments, const sbn_wait *wait,
                      cl_event *event)
{
    const sbn_apply_plan plan = sbn__plan_apply(g, replica);
    const sbn_walk_arguments walk = {
        .channels = (cl_uint)g->channels,
        .plane = g->layout == SBN_LAYOUT_NCHW ? (cl_uint)g->plane : 1,
        .extent = plan.length,
        .share = plan.per_work_group,
        .non_temporal = plan.non_temporal,
    };
    sbn__add_walk(arguments, &walk);
    return sbn__launch(replica, &kernels->of[plan.walk][is_backward], arguments->list,
                       arguments->count, plan.dimensions, plan.work_groups, wait, event);
}
