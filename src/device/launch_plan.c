#include "device/launch_plan.h"

#include "device/kernel_constants.h"
#include "device/sizes.h"
#include "device/slices.h"
#include "exact/format.h"

/*
 * What the host may choose for the CPU form, unless it is tuned; src/device/kernel_constants.c has what its kernels are
 * compiled for, src/device/launch_plan_gpu.c the plans of the GPU form. Sizes are in elements.
 */
typedef struct cpu_numbers {
    size_t work_groups_per_unit; /* enough to balance the load of a compute unit */
    size_t reduce_elements;      /* of a work-group of a reduction, where there are enough */
    size_t least_slice;     /* in smaller slices, adding accumulators costs more than it gains */
    size_t flat_elements;   /* of a work-group of an apply kernel, walking flat */
    size_t unit_cache;      /* bytes of the caches of a unit alone, at most */
    size_t row_elements;    /* the same, walking by rows: of all its rows together */
    size_t chunks_in_cache; /* of a pass in chunks: two of them are in use, the rest is slack */
    size_t chunk_units;     /* with more compute units a pass is not made in chunks */
} cpu_numbers;

/* Measured on CPUs: doc/performance.md. */
static const cpu_numbers cpu = {
    .work_groups_per_unit = 4,
    .reduce_elements = 131072,
    .least_slice = 8192,
    .flat_elements = 65536,
    .unit_cache = (size_t)2 << 20,
    .row_elements = 262144,
    .chunks_in_cache = 8,
    .chunk_units = 2,
};

/* Floats of a cache line. */
#define CACHE_LINE 16

/* A work-group's range in a flat walk: whole cache lines, vectors and rows of work-items. */
#define RANGE_STEP (4 * CACHE_LINE)

/* Accumulators of slices: half a percent of a tensor, or what stays in a cache. */
static const sbn_slice_limits slice_limits = {.fraction = 200, .few_bytes = (size_t)1 << 19};

/* A work-group that does a whole pass reads this at most, but one channel at least; ... */
#define WHOLE_BYTES ((size_t)1 << 20)
/* ... this many keep a unit busy to the end; and a piece of a row has this many channels. */
#define WHOLE_GROUPS 8
#define WHOLE_ROW 64
/* Bytes that one work-group reads in less time than launches take. */
#define WHOLE_LITTLE ((size_t)1 << 16)

/* Some devices allow at most 65535 work-groups in the second dimension. */
#define MOST_ROWS_OF_WORK_GROUPS 32768

static size_t work_groups_wanted(const sbn_replica *replica)
{
    return sbn__tuned(&replica->tuning, SBN_TUNED_GROUPS,
                      replica->compute_units * cpu.work_groups_per_unit);
}

/*
 * Channels first: several channels at once, so that a work-group reads one long run of each
 * sample, while their blocks of a sample have integers of their own; fewer where that would leave
 * units idle.
 */
static size_t nchw_strip(const sbn_shape *shape, const sbn_kernel_sizes *sizes, size_t wanted)
{
    const size_t components = (size_t)sizes->sets * (size_t)sizes->batch;
    size_t strip = sbn__at_least(sbn__at_most(components / shape->blocks, shape->channels), 1);
    while (strip > 1 && sbn__ceil_div(shape->channels, strip) * shape->samples < wanted)
        strip = sbn__ceil_div(strip, 2);
    return strip;
}

/*
 * Channels last: as many channels at once as the kernel has room for, so that it reads long pieces
 * of rows; fewer where that would leave units idle.
 */
static size_t nhwc_strip(const sbn_shape *shape, const sbn_kernel_sizes *sizes, size_t wanted)
{
    const size_t most = (size_t)sizes->nhwc_strip;
    const size_t least = most / 4;
    size_t strip = sbn__at_most(most, shape->channels);
    while (strip > least && sbn__ceil_div(shape->channels, strip) * shape->channel_blocks < wanted)
        strip = sbn__round_up(strip / 2, CACHE_LINE);
    return strip;
}

sbn_reduce_plan sbn__plan_reduce(const sbn_shape *shape, const sbn_replica *replica,
                                 size_t accumulator_length)
{
    if (replica->form == SBN_FORM_GPU)
        return sbn__plan_reduce_gpu(shape, replica, accumulator_length);
    const sbn_kernel_sizes *sizes = sbn__kernel_sizes();
    const size_t wanted = work_groups_wanted(replica);
    const int nchw = shape->layout == SBN_LAYOUT_NCHW;
    const size_t strip = nchw ? nchw_strip(shape, sizes, wanted) : nhwc_strip(shape, sizes, wanted);
    const size_t strips = sbn__ceil_div(shape->channels, strip);
    /* What slices are made of: samples, or blocks of all samples; and the elements of one. */
    const int by_samples = nchw && strip > 1;
    const size_t units = by_samples ? shape->samples : shape->channel_blocks;
    const size_t elements = strip *
                            (by_samples ? shape->plane : sbn__at_most(shape->plane, SBN_BLOCK));
    const size_t step = (size_t)(by_samples ? 1 : nchw ? sizes->batch : sizes->nhwc_rows);

    const sbn_tuning *tuning = &replica->tuning;
    size_t per_slice =
        sbn__at_least(sbn__tuned(tuning, SBN_TUNED_REDUCE, cpu.reduce_elements) / elements, 1);
    per_slice = sbn__at_most(per_slice, sbn__at_least(strips * units / wanted, 1));
    per_slice = sbn__at_least(per_slice,
                              sbn__at_most(sbn__tuned(tuning, SBN_TUNED_REDUCE, cpu.least_slice) /
                                               elements,
                                           units));
    const size_t allowed =
        sbn__slices_allowed(shape, replica, &slice_limits,
                            shape->channels * accumulator_length * sizeof(int64_t), strips);
    per_slice = sbn__at_least(per_slice, sbn__ceil_div(units, allowed));
    per_slice = sbn__round_up(per_slice, step);
    const size_t slices = sbn__ceil_div(units, per_slice);
    return (sbn_reduce_plan){
        .reduction = nchw ? SBN_REDUCE_NCHW : SBN_REDUCE_NHWC,
        .work_groups = {strips, slices},
        .strip = (cl_uint)strip,
        .slices = (cl_uint)slices,
        .per_slice = (cl_uint)per_slice,
    };
}

/* Elements in the order of memory, planes of whatever channels; a plane is a vector or more. */
static sbn_apply_plan plan_flat(const sbn_shape *shape, const sbn_replica *replica)
{
    /* All channels of all samples are one run, as a rule; of a chunk each sample has one. */
    const size_t runs = shape->channels < shape->total || shape->samples_apart ? shape->samples : 1;
    const size_t length = shape->elements / runs;
    const size_t fair = sbn__at_least(shape->elements / work_groups_wanted(replica), 1);
    const size_t most = sbn__tuned(&replica->tuning, SBN_TUNED_APPLY, cpu.flat_elements);
    const size_t range = sbn__round_up(sbn__at_most(most, fair), RANGE_STEP);
    return (sbn_apply_plan){
        .walk = SBN_WALK_FLAT,
        .dimensions = 2,
        .work_groups = {sbn__ceil_div(length, range), runs},
        .length = length,
        .per_work_group = (cl_uint)range,
    };
}

/* Rows of equal layout: coefficients are read once for many rows. */
static sbn_apply_plan plan_rows(const sbn_shape *shape, const sbn_replica *replica)
{
    const size_t tile = (size_t)sbn__kernel_sizes()->tile;
    const size_t plane = shape->layout == SBN_LAYOUT_NCHW ? shape->plane : 1;
    const size_t width = shape->channels * plane, rows = shape->elements / width;
    const size_t tiles = sbn__ceil_div(width, tile);
    const size_t most = sbn__tuned(&replica->tuning, SBN_TUNED_APPLY, cpu.row_elements);
    size_t per_work_group = sbn__at_least(most / sbn__at_most(width, tile), 1);
    per_work_group = sbn__at_most(per_work_group,
                                  sbn__at_least(rows * tiles / work_groups_wanted(replica), 1));
    per_work_group = sbn__at_least(per_work_group, sbn__ceil_div(rows, MOST_ROWS_OF_WORK_GROUPS));
    return (sbn_apply_plan){
        .walk = SBN_WALK_ROWS,
        .dimensions = 2,
        .work_groups = {tiles, sbn__ceil_div(rows, per_work_group)},
        .length = rows,
        .per_work_group = (cl_uint)per_work_group,
    };
}

/* Planes may begin at any element: a vector may span two of them, but not three. */
static int is_flat(const sbn_shape *shape)
{
    return shape->layout == SBN_LAYOUT_NCHW && shape->plane >= (size_t)sbn__kernel_sizes()->width;
}

/*
 * Bytes of a result beyond which it is stored past the caches. A store into them first reads the
 * line; below this that costs less than reading the result from memory later. The last-level cache
 * that a device tells of may be that of a whole host, of which other guests have most.
 */
static size_t cached_result(const sbn_replica *replica)
{
    return sbn__at_most(sbn__tuned(&replica->tuning, SBN_TUNED_CACHE,
                                   cpu.unit_cache * replica->compute_units),
                        replica->cache_size);
}

sbn_apply_plan sbn__plan_apply(const sbn_shape *shape, const sbn_replica *replica)
{
    if (replica->form == SBN_FORM_GPU)
        return sbn__plan_apply_gpu(shape, replica);
    sbn_apply_plan plan = is_flat(shape) ? plan_flat(shape, replica) : plan_rows(shape, replica);
    /* Lines of an output in place are in the caches already: its stores cost no reading. */
    plan.non_temporal = !shape->in_place &&
                        shape->values * shape->total * sbn__type_size(shape->type) >
                            cached_result(replica);
    return plan;
}

/* Neighbouring channels whose planes begin at a cache line's beginning, where the tensor does. */
static size_t channels_of_lines(size_t plane)
{
    size_t channels = CACHE_LINE;
    while (channels > 1 && channels / 2 * plane % CACHE_LINE == 0)
        channels /= 2;
    return channels;
}

/*
 * Not for channels last, where chunks would be short runs far apart, and not for tensors of less
 * than two last-level caches, where a chunk's five commands cost more than it saves. With more
 * compute units commands weigh more; the limit has not been measured.
 */
size_t sbn__plan_chunk(const sbn_shape *shape, const sbn_replica *replica, size_t tensors)
{
    const size_t bytes = sbn__type_size(shape->type) * tensors * shape->values; /* of a channel */
    if (replica->form == SBN_FORM_GPU || replica->compute_units > cpu.chunk_units ||
        !is_flat(shape) || bytes * shape->channels <= 2 * replica->cache_size)
        return shape->channels;
    const size_t step = channels_of_lines(shape->plane);
    const size_t most = replica->cache_size / cpu.chunks_in_cache / bytes / step * step;
    if (most == 0)
        return shape->channels;
    /* Chunks of equal size. */
    const size_t count = sbn__ceil_div(shape->channels, most);
    return sbn__round_up(sbn__ceil_div(shape->channels, count), step);
}

/* Neighbouring channels whose blocks of a sample fill batches. */
static size_t channels_of_batches(size_t blocks, size_t batch)
{
    size_t channels = batch;
    while (channels > 1 && channels / 2 * blocks % batch == 0)
        channels /= 2;
    return channels;
}

/*
 * Channels first: as many channels as keep what is read in a unit's own caches, so that a
 * work-group's start costs little; their blocks of a sample have integers of their own, fill
 * batches and begin at a cache line's beginning, where the tensor does. Else a single channel, whose
 * blocks are numbered over all samples, or the fewest that begin so, if there is room for their blocks.
 */
static size_t whole_planes(const sbn_shape *shape, const sbn_replica *replica, size_t tensors)
{
    const sbn_kernel_sizes *sizes = sbn__kernel_sizes();
    const size_t batch = (size_t)sizes->batch, components = (size_t)sizes->sets * batch;
    const size_t bytes = sbn__type_size(shape->type) * tensors * shape->values; /* of a channel */
    const size_t line = channels_of_lines(shape->plane);
    const size_t step = sbn__at_least(line, channels_of_batches(shape->blocks, batch));
    const size_t fits = sbn__tuned(&replica->tuning, SBN_TUNED_CACHE, WHOLE_BYTES) / bytes;
    size_t strip = sbn__at_most(fits, components / shape->blocks);
    strip = sbn__at_most(strip, shape->channels / (WHOLE_GROUPS * replica->compute_units));
    if (!is_flat(shape) || shape->channels < 2 * replica->compute_units)
        return 0;
    if (strip >= step)
        return strip / step * step;
    return line == 1 || line * shape->blocks <= components ? line : 0;
}

/*
 * Channels last: pieces of rows far apart, which pays only where launches weigh more: in tensors that
 * the units' own caches hold. A little one is a single work-group's.
 */
static size_t whole_rows(const sbn_shape *shape, const sbn_replica *replica, size_t tensors)
{
    const size_t most = (size_t)sbn__kernel_sizes()->nhwc_strip;
    const size_t fair = shape->channels / replica->compute_units / CACHE_LINE * CACHE_LINE;
    const size_t bytes = sbn__type_size(shape->type) * tensors * shape->elements;
    if (bytes <= WHOLE_LITTLE)
        return sbn__at_most(shape->channels, most);
    return fair >= WHOLE_ROW && bytes <= cached_result(replica) ? sbn__at_most(fair, most) : 0;
}

/* The CPU form has such kernels, where it has doubles to combine by. */
size_t sbn__plan_whole(const sbn_shape *shape, const sbn_replica *replica, size_t tensors)
{
    if (replica->form != SBN_FORM_CPU || !replica->sum_kernels.combine)
        return 0;
    return shape->layout == SBN_LAYOUT_NHWC ? whole_rows(shape, replica, tensors)
                                            : whole_planes(shape, replica, tensors);
}
