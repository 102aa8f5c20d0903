/* Step 3 of a pass, what its kernels share: they walk a tensor as cl/apply_walk.cl says. */
#ifndef SBN_PASS_APPLY_H
#define SBN_PASS_APPLY_H

#include "device/launch_plan.h"

/* Room that `arguments` must have after `count` for those that say how to walk. */
#define SBN_WALK_ARGUMENTS 9

/* Enqueues one of a kernel's two walks over a tensor, or a chunk of it. */
int sbn__launch_apply(sbn_replica *replica, sbn_kernel kernels[SBN_WALKS], const sbn_shape *g,
                      sbn_argument *arguments, size_t count, const sbn_wait *wait, cl_event *event);

#endif
