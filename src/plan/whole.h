/*
 * The plan of a whole pass in one launch, of the CPU form, whose work-groups each do all of some
 * channels, so that step 3 finds in a cache what step 1 has read.
 */
#pragma once

#include "plan/plan.h"

/*
 * Channels of a work-group that does all steps of them (cl/cpu/forward_whole.cl), of a replica that is alone and
 * combines: 0 where separate launches are faster, or there is no such kernel. The pass reads `tensors` of this shape.
 */
size_t sbn__plan_whole(const sbn_shape *shape, const sbn_replica *replica, size_t tensors);
