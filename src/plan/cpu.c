#include "plan/cpu.h"

#include "exact/format.h"
#include "plan/sizes.h"
#include "program/kernel_constants.h"

/*
 * The host chooses these, unless they are tuned; src/program/kernel_constants.c has what the
 * kernels are compiled for. Sizes are in elements. Measured on CPUs: doc/performance.md.
 */
enum {
    REDUCE_ELEMENTS = 131072, /* of a work-group of a reduction, where there are enough */
    LEAST_SLICE = 8192,       /* in smaller slices, adding accumulators costs more than it gains */
    FLAT_ELEMENTS = 65536,    /* of a work-group of an apply kernel, walking flat */
    ROW_ELEMENTS = 262144,    /* the same, walking by rows: of all its rows together */
    UNIT_CACHE = 2 << 20,     /* bytes of the caches of a unit alone, at most */
    /* Accumulators of slices: half a percent of a tensor, or what stays in a cache. */
    SLICE_FRACTION = 200,
    SLICE_BYTES = 1 << 19
};

/* A work-group's range in a flat walk: whole cache lines, vectors and rows of work-items. */
#define RANGE_STEP (4 * SBN_CACHE_LINE)

/*
 * Channels first: several channels at once, so that a work-group reads one long run of each sample, while their
 * blocks of a sample have integers of their own; fewer where that would leave units idle.
 */
static size_t nchw_strip(const sbn_shape *shape, size_t wanted)
{
    const size_t components = SBN_CPU_SETS * SBN_CPU_BATCH;
    size_t strip = sbn__at_least(sbn__at_most(components / shape->blocks, shape->channels), 1);
    while (strip > 1 && sbn__ceil_div(shape->channels, strip) * shape->samples < wanted)
        strip = sbn__ceil_div(strip, 2);
    return strip;
}

/*
 * Channels last: as many channels at once as the kernel has room for, so that it reads long pieces
 * of rows; fewer where that would leave units idle.
 */
static size_t nhwc_strip(const sbn_shape *shape, size_t wanted)
{
    const size_t least = SBN_CPU_STRIP / 4;
    size_t strip = sbn__at_most(SBN_CPU_STRIP, shape->channels);
    while (strip > least && sbn__ceil_div(shape->channels, strip) * shape->channel_blocks < wanted)
        strip = sbn__round_up(strip / 2, SBN_CACHE_LINE);
    return strip;
}

sbn_reduce_plan sbn__plan_reduce_cpu(const sbn_shape *shape, const sbn_replica *replica,
                                     size_t accumulator_length)
{
    const size_t wanted = sbn__work_groups_wanted(replica);
    const int nchw = shape->layout == SBN_LAYOUT_NCHW;
    const size_t strip = nchw ? nchw_strip(shape, wanted) : nhwc_strip(shape, wanted);
    const size_t strips = sbn__ceil_div(shape->channels, strip);
    /* Slices are made of samples, or of blocks of all samples; `elements` is the size of one. */
    const int by_samples = nchw && strip > 1;
    const size_t units = by_samples ? shape->samples : shape->channel_blocks;
    const size_t elements = strip *
                            (by_samples ? shape->plane : sbn__at_most(shape->plane, SBN_BLOCK));
    const size_t step = nchw && !by_samples ? SBN_CPU_BATCH : 1;

    const sbn_tuning *tuning = &replica->tuning;
    size_t per_slice = sbn__tuned(tuning, SBN_TUNED_REDUCE, REDUCE_ELEMENTS) / elements;
    per_slice = sbn__at_most(per_slice, strips * units / wanted);
    per_slice = sbn__at_least(per_slice,
                              sbn__at_most(sbn__tuned(tuning, SBN_TUNED_REDUCE, LEAST_SLICE) /
                                               elements,
                                           units));
    const size_t allowed = sbn__slices_allowed(shape, replica, SLICE_FRACTION, SLICE_BYTES,
                                               accumulator_length, strips);
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
    /* All channels of all samples are one run, as a rule; of a view each sample has one. */
    const cl_uint gaps = shape->x_gap | shape->y_gap | shape->dy_gap | shape->dx_gap;
    const int apart = shape->samples_apart || gaps != 0;
    const size_t runs = apart ? shape->samples : 1;
    const size_t length = shape->elements / runs;
    const size_t fair = sbn__at_least(shape->elements / sbn__work_groups_wanted(replica), 1);
    const size_t most = sbn__tuned(&replica->tuning, SBN_TUNED_APPLY, FLAT_ELEMENTS);
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
    const size_t rows = shape->rows, tiles = sbn__ceil_div(shape->row, SBN_CPU_TILE);
    const size_t most = sbn__tuned(&replica->tuning, SBN_TUNED_APPLY, ROW_ELEMENTS);
    size_t per_work_group = most / sbn__at_most(shape->row, SBN_CPU_TILE);
    per_work_group = sbn__at_most(per_work_group, rows * tiles / sbn__work_groups_wanted(replica));
    per_work_group = sbn__at_least(per_work_group,
                                   sbn__ceil_div(rows, SBN_MOST_ROWS_OF_WORK_GROUPS));
    return (sbn_apply_plan){
        .walk = SBN_WALK_ROWS,
        .dimensions = 2,
        .work_groups = {tiles, sbn__ceil_div(rows, per_work_group)},
        .length = rows,
        .per_work_group = (cl_uint)per_work_group,
    };
}

int sbn__walks_flat(const sbn_shape *shape)
{
    return shape->layout == SBN_LAYOUT_NCHW && shape->plane >= SBN_CPU_WIDTH;
}

/*
 * A store into the caches first reads the line; for small results that costs less than reading the result from memory
 * later. The last-level cache that a device tells of may be that of a whole host, of which other guests have most.
 */
size_t sbn__cached_result(const sbn_replica *replica)
{
    return sbn__at_most(sbn__tuned(&replica->tuning, SBN_TUNED_CACHE,
                                   UNIT_CACHE * replica->compute_units),
                        replica->cache_size);
}

sbn_apply_plan sbn__plan_apply_cpu(const sbn_shape *shape, const sbn_replica *replica)
{
    sbn_apply_plan plan = sbn__walks_flat(shape) ? plan_flat(shape, replica)
                                                 : plan_rows(shape, replica);
    /* Lines of an output in place are in the caches already: its stores cost no reading. */
    plan.non_temporal = !shape->in_place &&
                        shape->elements * sbn__type_size(shape->type) > sbn__cached_result(replica);
    return plan;
}
