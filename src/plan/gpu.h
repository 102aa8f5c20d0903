/* Plans of the GPU form. */
#pragma once

#include "plan/plan.h"

sbn_reduce_plan sbn__plan_reduce_gpu(const sbn_shape *shape, const sbn_replica *replica,
                                     size_t accumulator_length);

sbn_apply_plan sbn__plan_apply_gpu(const sbn_shape *shape, const sbn_replica *replica);
