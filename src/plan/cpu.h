/* Plans of the CPU form. */
#pragma once

#include "plan/plan.h"

sbn_reduce_plan sbn__plan_reduce_cpu(const sbn_shape *shape, const sbn_replica *replica,
                                     size_t accumulator_length);
sbn_apply_plan sbn__plan_apply_cpu(const sbn_shape *shape, const sbn_replica *replica);

/* Floats of a cache line. */
#define SBN_CACHE_LINE 16

/*
 * 1 if apply kernels walk over the elements in the order of memory. Planes may begin at any
 * element: a vector may span two of them, but not three.
 */
int sbn__walks_flat(const sbn_shape *shape);

/* Bytes of a result beyond which it is stored past the caches. */
size_t sbn__cached_result(const sbn_replica *replica);
