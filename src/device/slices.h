/* Slices of a shard, for the plans of both forms. */
#ifndef SBN_DEVICE_SLICES_H
#define SBN_DEVICE_SLICES_H

#include "device/device.h"
#include "device/shape.h"

/* What slices may cost: each leaves accumulators that must be written, read and added. */
typedef struct sbn_slice_limits {
    size_t fraction;  /* their accumulators may be this fraction of the tensor, ... */
    size_t few_bytes; /* ... or this many bytes, while units have fewer than two work-groups */
} sbn_slice_limits;

/*
 * Slices that a shard may have, at least 1. `bytes`: of the accumulators of one slice; `strips`: of
 * channels, each of which has that many slices.
 */
size_t sbn__slices_allowed(const sbn_shape *shape, const sbn_replica *replica,
                           const sbn_slice_limits *limits, size_t bytes, size_t strips);

#endif
