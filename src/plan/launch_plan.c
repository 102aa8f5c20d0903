#include "plan/launch_plan.h"

#include "plan/cpu.h"
#include "plan/gpu.h"

typedef struct planner {
    sbn_reduce_plan (*reduce)(const sbn_shape *shape, const sbn_replica *replica,
                              size_t accumulator_length);
    sbn_apply_plan (*apply)(const sbn_shape *shape, const sbn_replica *replica);
} planner;

static const planner planners[] = {
    [SBN_FORM_CPU] = {sbn__plan_reduce_cpu, sbn__plan_apply_cpu},
    [SBN_FORM_GPU] = {sbn__plan_reduce_gpu, sbn__plan_apply_gpu},
};

sbn_reduce_plan sbn__plan_reduce(const sbn_shape *shape, const sbn_replica *replica,
                                 size_t accumulator_length)
{
    return planners[replica->form].reduce(shape, replica, accumulator_length);
}

sbn_apply_plan sbn__plan_apply(const sbn_shape *shape, const sbn_replica *replica)
{
    return planners[replica->form].apply(shape, replica);
}
