/* What the plans of the CPU form share. */
#ifndef SBN_DEVICE_LAUNCH_PLAN_CPU_H
#define SBN_DEVICE_LAUNCH_PLAN_CPU_H

#include "device/device.h"
#include "device/shape.h"

/* Floats of a cache line. */
#define SBN_CACHE_LINE 16

/*
 * Whether apply kernels walk over the elements in the order of memory. Planes may begin at any
 * element: a vector may span two of them, but not three.
 */
int sbn__walks_flat(const sbn_shape *shape);

/* Bytes of a result beyond which it is stored past the caches. */
size_t sbn__cached_result(const sbn_replica *replica);

#endif
