#include "plan/launch_plan.h"

#include "plan/cpu.h"
#include "plan/gpu.h"

sbn_reduce_plan sbn__plan_reduce(const sbn_shape *shape, const sbn_replica *replica,
                                 size_t accumulator_length)
{
    return replica->form == SBN_FORM_CPU ? sbn__plan_reduce_cpu(shape, replica, accumulator_length)
                                         : sbn__plan_reduce_gpu(shape, replica, accumulator_length);
}

sbn_apply_plan sbn__plan_apply(const sbn_shape *shape, const sbn_replica *replica)
{
    return replica->form == SBN_FORM_CPU ? sbn__plan_apply_cpu(shape, replica)
                                         : sbn__plan_apply_gpu(shape, replica);
}
