/* The plans of step 1 and step 3, of either form. */
#pragma once

#include "plan/plan.h"

/* `accumulator_length`: int64s per channel. */
sbn_reduce_plan sbn__plan_reduce(const sbn_shape *shape, const sbn_replica *replica,
                                 size_t accumulator_length);
sbn_apply_plan sbn__plan_apply(const sbn_shape *shape, const sbn_replica *replica);
