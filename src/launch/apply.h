/* Step 3 of a pass: what its kernels have in common. They walk over a tensor as cl/cpu/apply_walk.cl describes. */
#pragma once

#include "launch/arguments.h"
#include "plan/shape.h"

/* Enqueues the kernel of the planned walk over a tensor, whose arguments it adds to the others. */
int sbn__launch_apply(sbn_replica *replica, sbn_kernels *kernels, int is_backward,
                      const sbn_shape *g, sbn_arguments *arguments, const sbn_wait *wait,
                      cl_event *event);
