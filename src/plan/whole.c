#include "plan/whole.h"

#include "plan/cpu.h"
#include "plan/sizes.h"
#include "program/kernel_constants.h"

/* A work-group that does a whole pass reads this at most, but one channel at least; ... */
#define WHOLE_BYTES ((size_t)1 << 20)
/* ... this many keep a unit busy to the end; and a piece of a row has this many channels. */
#define WHOLE_GROUPS 8
#define WHOLE_ROW 64
/* Bytes that one work-group reads in less time than more launches or other units take. */
#define WHOLE_LITTLE ((size_t)1 << 17)

/* Bytes that the busiest unit may read besides its share and a quarter of that, for the same reason. */
#define WHOLE_EXCESS ((size_t)3 << 17)

/* The fewest neighbouring channels that fill units, with `each` elements or blocks a channel. */
static size_t channels_that_fill(size_t unit, size_t each)
{
    size_t channels = unit;
    while (channels > 1 && channels / 2 * each % unit == 0)
        channels /= 2;
    return channels;
}

/* Channels of the unit that has most of them, in strips of so many. */
static size_t busiest(size_t channels, size_t strip, size_t units)
{
    const size_t strips = channels / strip;
    return strips % units ? sbn__ceil_div(strips, units) * strip
                          : strips / units * strip + channels % strip;
}

/*
 * Channels first: as many channels as keep what is read in a unit's own caches, so that a
 * work-group's start costs little; their blocks of a sample have integers of their own, fill
 * batches and begin at a cache line's beginning, where the tensor does. Full batches count more than
 * an even load, as long as each unit has some. Else a single channel, whose blocks are numbered over
 * all samples, or the fewest that begin so, if there is room for their blocks and units are busy enough.
 */
static size_t whole_planes(const sbn_shape *shape, const sbn_replica *replica, size_t tensors)
{
    const size_t components = SBN_CPU_SETS * SBN_CPU_BATCH;
    const size_t bytes = sbn__type_size(shape->type) * tensors * shape->values; /* of a channel */
    const size_t units = replica->compute_units;
    const size_t line = channels_that_fill(SBN_CACHE_LINE, shape->plane);
    const size_t step = sbn__at_least(line, channels_that_fill(SBN_CPU_BATCH, shape->blocks));
    const size_t room = sbn__at_most(components / shape->blocks, shape->channels);
    size_t fair = sbn__at_least(shape->channels / (WHOLE_GROUPS * units), WHOLE_LITTLE / bytes);
    if (step * units <= shape->channels)
        fair = sbn__at_least(fair, step);
    const size_t fits = sbn__tuned(&replica->tuning, SBN_TUNED_CACHE, WHOLE_BYTES) / bytes;
    const size_t strip = sbn__at_most(sbn__at_most(fits, fair), room);
    if (!sbn__walks_flat(shape) || (shape->channels < 2 * units && strip < shape->channels))
        return 0;
    if (strip == shape->channels)
        return strip;
    if (strip >= step)
        return strip / step * step;
    const size_t share = bytes * shape->channels / units;
    const int is_even = bytes * busiest(shape->channels, line, units) <=
                        share + share / 4 + WHOLE_EXCESS;
    return line == 1 || (line * shape->blocks <= components && is_even) ? line : 0;
}

/*
 * Channels last: pieces of rows far apart, which pays only where launches weigh more: in tensors that
 * the units' own caches hold. A little one is a single work-group's.
 */
static size_t whole_rows(const sbn_shape *shape, const sbn_replica *replica, size_t tensors)
{
    const size_t fair = shape->channels / replica->compute_units / SBN_CACHE_LINE * SBN_CACHE_LINE;
    const size_t bytes = sbn__type_size(shape->type) * tensors * shape->elements;
    if (bytes <= WHOLE_LITTLE)
        return sbn__at_most(shape->channels, SBN_CPU_STRIP);
    return fair >= WHOLE_ROW && bytes <= sbn__cached_result(replica)
               ? sbn__at_most(fair, SBN_CPU_STRIP)
               : 0;
}

size_t sbn__plan_whole(const sbn_shape *shape, const sbn_replica *replica, size_t tensors)
{
    if (replica->form != SBN_FORM_CPU)
        return 0;
    return shape->layout == SBN_LAYOUT_NHWC ? whole_rows(shape, replica, tensors)
                                            : whole_planes(shape, replica, tensors);
}
