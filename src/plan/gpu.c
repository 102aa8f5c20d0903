#include "plan/gpu.h"

#include "plan/sizes.h"
#include "program/kernel_constants.h"

/* The sizes that a kernel of step 1 takes. */
typedef struct gpu_reduction {
    size_t most_strip;  /* channels of a work-group, at most */
    size_t at_once;     /* blocks that its items take at once */
    size_t least, most; /* blocks of a work-group, unless accumulators would be too many */
} gpu_reduction;

enum { LANE_SETS = SBN_GPU_ITEMS / 16 };

static const gpu_reduction reductions[] = {
    /*
     * An item has a lane; channels last, 16 neighbouring channels have 64 bytes. 64 blocks fill the
     * work-items that add blocks once: 64 KB of a tensor.
     */
    [SBN_REDUCE_LARGE_PLANES] = {LANE_SETS, LANE_SETS, 64, 128},
    [SBN_REDUCE_SMALL_PLANES] = {LANE_SETS, 4 * LANE_SETS, 64, 256},
    /* An item has a run of rows. */
    [SBN_REDUCE_ROWS] = {32, SBN_GPU_ITEMS *SBN_GPU_LOADS, SBN_GPU_ITEMS *SBN_GPU_LOADS,
                         8 * SBN_GPU_ITEMS *SBN_GPU_LOADS},
};

/* A command that adds so many slices or more costs less than reading them one by one. */
#define SLICES_TO_ADD 4

/*
 * Slices that the last work-group of a strip of one channel adds, at most: 16 work-items have a word each,
 * and read 64 slices one by one (cl/gpu/tail.cl).
 */
#define MOST_SLICES (size_t)1024

/* Accumulators of slices: 2 % of a tensor, or what caches hold. */
enum { SLICE_FRACTION = 50, SLICE_BYTES = 1 << 20 };

/* Rows of a tile, at least, below which coefficients are not read for rows but for a plane; ... */
#define LEAST_ROWS 8
#define ROWS_AT_ONCE 4
/* ... planes of this many elements at least: 4 vectors for each work-item. */
#define LEAST_PLANE (4 * (size_t)SBN_GPU_TILE)
/* Elements of rows of which ROWS_AT_ONCE are loaded, at most: the last is found by a product of 32 bits. */
#define MOST_WIDTH (UINT32_MAX / (ROWS_AT_ONCE - 1))
/* Elements of a work-group of an apply kernel: 4 vectors an item, twice. */
#define APPLY_ELEMENTS (8 * (size_t)SBN_GPU_TILE)

static int reduction_of(const sbn_shape *shape)
{
    if (shape->plane == 1)
        return SBN_REDUCE_ROWS;
    return shape->plane <= SBN_GPU_SMALL_PLANE ? SBN_REDUCE_SMALL_PLANES : SBN_REDUCE_LARGE_PLANES;
}

/*
 * Planes of several blocks are read one channel after the other, unless a channel's blocks are too
 * few for the items of a work-group and the channels suffice for the units.
 */
static cl_uint log2_strip_of(const sbn_shape *shape, int reduction, size_t wanted)
{
    const gpu_reduction *kernel = &reductions[reduction];
    size_t most = sbn__at_most(kernel->most_strip, shape->channels);
    if (shape->layout == SBN_LAYOUT_NCHW && shape->blocks > 1) {
        const size_t filled = kernel->least / shape->channel_blocks;
        most = sbn__at_most(most, sbn__at_most(filled, shape->channels / wanted));
    }
    cl_uint log2 = 0;
    while ((size_t)2 << log2 <= most)
        ++log2;
    return log2;
}

sbn_reduce_plan sbn__plan_reduce_gpu(const sbn_shape *shape, const sbn_replica *replica,
                                     size_t accumulator_length)
{
    const int reduction = reduction_of(shape);
    const gpu_reduction *kernel = &reductions[reduction];
    const size_t wanted = sbn__work_groups_wanted(replica);
    const cl_uint log2_strip = log2_strip_of(shape, reduction, wanted);
    const size_t strip = (size_t)1 << log2_strip, strips = sbn__ceil_div(shape->channels, strip);
    const size_t units = shape->channel_blocks; /* of which slices are made */
    const sbn_tuning *tuning = &replica->tuning;
    /* More slices cost no command where work-groups count them. */
    const size_t least = sbn__tuned(tuning, SBN_TUNED_REDUCE,
                                    kernel->least >> replica->counts_slices);
    const size_t most = sbn__tuned(tuning, SBN_TUNED_REDUCE, kernel->most);
    size_t per_slice = sbn__ceil_div(strips * units, wanted);
    per_slice = sbn__at_most(per_slice, most >> log2_strip);
    per_slice = sbn__at_least(per_slice, least >> log2_strip);
    const size_t allowed = sbn__slices_allowed(shape, replica, SLICE_FRACTION, SLICE_BYTES,
                                               accumulator_length, strips);
    per_slice = sbn__at_least(per_slice, sbn__ceil_div(units, allowed));
    /* All slices alike, and items that take blocks at once all busy. */
    per_slice = sbn__ceil_div(units, sbn__ceil_div(units, per_slice));
    per_slice = sbn__round_up(per_slice, kernel->at_once >> log2_strip);
    const size_t slices = sbn__ceil_div(units, per_slice);
    const int sums_up = slices == 1 ||
                        (replica->counts_slices && slices <= MOST_SLICES >> log2_strip);
    return (sbn_reduce_plan){
        .reduction = reduction,
        .work_groups = {strips, slices},
        .strip = (cl_uint)strip,
        .log2_strip = log2_strip,
        .slices = (cl_uint)slices,
        .sums_up = sums_up,
        .adds_slices = !sums_up && slices >= SLICES_TO_ADD,
        .per_slice = (cl_uint)per_slice,
    };
}

/* Work-groups within planes. */
static sbn_apply_plan plan_planes(const sbn_shape *shape, const sbn_replica *replica)
{
    const size_t elements = sbn__tuned(&replica->tuning, SBN_TUNED_APPLY, APPLY_ELEMENTS);
    const size_t parts = sbn__at_most(sbn__at_least(shape->plane / elements, 1),
                                      SBN_MOST_ROWS_OF_WORK_GROUPS);
    const size_t range = sbn__round_up(sbn__ceil_div(shape->plane, parts), SBN_GPU_TILE);
    return (sbn_apply_plan){
        .walk = SBN_WALK_PLANES,
        .dimensions = 3,
        .work_groups = {shape->channels, sbn__ceil_div(shape->plane, range), shape->samples},
        .per_work_group = (cl_uint)range,
    };
}

/* Tiles of rows that are alike. */
static sbn_apply_plan plan_rows(const sbn_shape *shape, const sbn_replica *replica)
{
    const size_t rows = shape->rows, tiles = sbn__ceil_div(shape->row, SBN_GPU_TILE);
    const size_t wanted = sbn__work_groups_wanted(replica);
    const size_t elements = sbn__tuned(&replica->tuning, SBN_TUNED_APPLY, APPLY_ELEMENTS);
    size_t per_tile = sbn__at_least(elements / sbn__at_most(shape->row, SBN_GPU_TILE), LEAST_ROWS);
    per_tile = sbn__at_most(per_tile, rows * tiles / wanted);
    /* Rows are loaded ROWS_AT_ONCE at a time, unless they are too wide for that. */
    per_tile = sbn__at_least(per_tile / ROWS_AT_ONCE * ROWS_AT_ONCE, ROWS_AT_ONCE);
    per_tile = shape->row > MOST_WIDTH ? 1 : per_tile;
    per_tile = sbn__at_least(per_tile, sbn__ceil_div(rows, SBN_MOST_ROWS_OF_WORK_GROUPS));
    return (sbn_apply_plan){
        .walk = SBN_WALK_ROWS,
        .dimensions = 2,
        .work_groups = {tiles, sbn__ceil_div(rows, per_tile)},
        .length = rows,
        .per_work_group = (cl_uint)per_tile,
    };
}

sbn_apply_plan sbn__plan_apply_gpu(const sbn_shape *shape, const sbn_replica *replica)
{
    const int few = shape->plane >= LEAST_PLANE && shape->samples < LEAST_ROWS;
    return shape->layout == SBN_LAYOUT_NCHW && (shape->row > MOST_WIDTH || few)
               ? plan_planes(shape, replica)
               : plan_rows(shape, replica);
}
