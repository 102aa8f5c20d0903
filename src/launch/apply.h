/*
 * Step 3 of a pass: what its kernels have in common. They walk over a tensor as cl/cpu/apply_walk.cl
 * describes.
 */
#ifndef SBN_LAUNCH_APPLY_H
#define SBN_LAUNCH_APPLY_H

#include "device/commands.h"
#include "plan/shape.h"

/* The walk adds so many arguments; `arguments` must have room for them after `count`. */
#define SBN_WALK_ARGUMENTS 5

/* Enqueues the kernel of the planned walk over a tensor. */
int sbn__launch_apply(sbn_replica *replica, sbn_kernel kernels[SBN_WALKS], const sbn_shape *g,
                      sbn_argument *arguments, size_t count, const sbn_wait *wait, cl_event *event);

#endif
