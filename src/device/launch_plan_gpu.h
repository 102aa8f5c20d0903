/* Plans of the GPU form. */
#ifndef SBN_DEVICE_LAUNCH_PLAN_GPU_H
#define SBN_DEVICE_LAUNCH_PLAN_GPU_H

#include "device/plan.h"

sbn_reduce_plan sbn__plan_reduce_gpu(const sbn_shape *shape, const sbn_replica *replica,
                                     size_t accumulator_length);
sbn_apply_plan sbn__plan_apply_gpu(const sbn_shape *shape, const sbn_replica *replica);

#endif
