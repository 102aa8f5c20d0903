/* Plans of the GPU form. */
#ifndef SBN_PLAN_GPU_H
#define SBN_PLAN_GPU_H

#include "plan/plan.h"

sbn_reduce_plan sbn__plan_reduce_gpu(const sbn_shape *shape, const sbn_replica *replica,
                                     size_t accumulator_length);

/*
 * 1 if a reduction can combine what it sums, of a replica that is alone: a work-group has all blocks of
 * its channels, and the compiler the registers. `program`: SBN_PROGRAM_FORWARD or ..._BACKWARD.
 */
int sbn__plan_combines(const sbn_reduce_plan *plan, sbn_compiler compiler, int program);

sbn_apply_plan sbn__plan_apply_gpu(const sbn_shape *shape, const sbn_replica *replica);

#endif
