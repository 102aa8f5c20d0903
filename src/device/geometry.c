#include "device/geometry.h"

#include <stdio.h>

#include "base/error.h"

void sbn__print_shape(const sbn_shard *shard, char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < shard->dims && i < 5 && used < size; ++i) {
        const int length = snprintf(out + used, size - used, "%s%zu", i ? "," : "(",
                                    shard->shape[i]);
        used += length > 0 ? (size_t)length : 0;
    }
    if (used < size)
        snprintf(out + used, size - used, ")");
}

static size_t ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

static size_t at_least(size_t a, size_t limit)
{
    return a > limit ? a : limit;
}

/* a *= b; 0 where it overflows 2^56, so that sizes in bytes stay far from the type's end. */
static int multiply(size_t *a, size_t b)
{
    if (b != 0 && *a > ((size_t)1 << 56) / b)
        return 0;
    *a *= b;
    return 1;
}

int sbn__geometry_of(sbn_geometry *geometry, const sbn_shard *shard, size_t channels,
                     sbn_layout layout, const char *who)
{
    char shape[128];
    if (shard->dims < 2 || shard->dims > 5)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: dims: 2 to 5 were expected, %d came", who,
                         shard->dims);
    sbn__print_shape(shard, shape, sizeof shape);
    if (shard->shape[1] != channels)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: shape: %zu channels were expected, %zu came in %s", who, channels,
                         shard->shape[1], shape);
    size_t plane = 1;
    int fits = 1, empty = shard->shape[0] == 0;
    for (int i = 2; i < shard->dims; ++i) {
        fits = multiply(&plane, shard->shape[i]) && fits;
        empty |= shard->shape[i] == 0;
    }
    size_t values = plane;
    fits = multiply(&values, shard->shape[0]) && fits;
    size_t elements = values;
    fits = multiply(&elements, channels) && fits;
    const size_t blocks = ceil_div(plane, SBN_BLOCK);
    size_t numbers = blocks;
    fits = multiply(&numbers, shard->shape[0]) && fits;
    /* Where there are no elements the other extents may be any. */
    if (!empty &&
        (!fits || plane > INT32_MAX || shard->shape[0] > INT32_MAX || numbers > SBN_MAX_BLOCKS))
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "%s: shape: %s is too large: a plane may have 2^31 - 1 elements, a channel "
            "%zu blocks of %d, and sizes must not overflow",
            who, shape, SBN_MAX_BLOCKS, SBN_BLOCK);
    const size_t last = plane ? plane - (blocks - 1) * SBN_BLOCK : 1;
    *geometry = (sbn_geometry){
        .samples = shard->shape[0],
        .channels = channels,
        .plane = plane,
        .total = channels,
        .values = values,
        .elements = elements,
        .layout = plane == 1 ? SBN_LAYOUT_NHWC : layout,
        .blocks = (cl_uint)blocks,
        .numbers = (cl_uint)numbers,
        .last_reciprocal = (cl_float)(1.0 / (double)last),
    };
    return SBN_SUCCESS;
}

sbn_geometry sbn__geometry_chunk(const sbn_geometry *whole, size_t first, size_t channels)
{
    sbn_geometry chunk = *whole;
    chunk.first = first;
    chunk.channels = channels;
    chunk.elements = whole->values * channels;
    return chunk;
}

#define SBN_LINE 16 /* elements of a cache line */

/*
 * The choice of work-groups, for all kernels. What the numbers of the CPU form
 * balance was measured (doc/performance.md); those of the GPU form follow from
 * what such devices need: many groups, neighbouring items on neighbouring
 * elements.
 */
typedef struct sbn_form_sizes {
    size_t groups_per_unit;     /* that keep a compute unit busy to the end */
    size_t reduce_elements;     /* of a group that reduces, where there are enough of them */
    size_t least_elements;      /* of a slice: less does not pay for adding it */
    size_t components;          /* blocks of a sample that a group keeps apart: SETS x BATCH */
    size_t batch;               /* blocks at a time: cl/batch.cl */
    size_t rows_strip;          /* STRIP of cl/rows.cl */
    size_t rows_batch;          /* blocks at a time there */
    size_t flat_elements;       /* of a group that applies */
    size_t tile, tile_elements; /* TILE of cl/tiles.cl, and what a group of rows has in all */
    size_t vector;              /* of a flat walk: planes must be as large */
    size_t chunks_in_cache;     /* of a pass that is made in chunks */
    size_t chunk_units;         /* on more units than these none is */
} sbn_form_sizes;

static const sbn_form_sizes cpu_sizes = {4,     131072, 8192,   64, 16, 128, 1,
                                         65536, 2048,   262144, 16, 8,  2};
static const sbn_form_sizes gpu_sizes = {32, 16384, 1, 64, 64, 32, 8, 2048, 64, 2048, 1, 0, 0};

static const sbn_form_sizes *sizes_of(const sbn_replica *replica)
{
    return replica->form == SBN_FORM_CPU ? &cpu_sizes : &gpu_sizes;
}

static size_t at_most(size_t a, size_t limit)
{
    return a < limit ? a : limit;
}

static size_t round_up(size_t a, size_t step)
{
    return ceil_div(a, step) * step;
}

/*
 * Slices that a shard may have: those whose words, which must be added, are half a percent of its
 * tensor; or as many as give each unit two groups, within half a megabyte.
 */
static size_t slices_allowed(const sbn_geometry *g, size_t words_per_channel, size_t groups,
                             size_t units)
{
    const size_t bytes = g->channels * words_per_channel * sizeof(int64_t);
    const size_t few = at_most(ceil_div(2 * units, groups), ((size_t)1 << 19) / bytes);
    return at_most(at_least(at_least(g->elements * sizeof(float) / 200 / bytes, few), 1), 256);
}

/*
 * Several channels at once while their blocks of a sample have components of
 * their own; fewer where that would leave units idle.
 */
static size_t strip_of(const sbn_geometry *g, const sbn_form_sizes *sizes, size_t wanted)
{
    size_t strip = at_least(at_most(sizes->components / g->blocks, g->channels), 1);
    while (strip > 1 && ceil_div(g->channels, strip) * g->samples < wanted)
        strip = ceil_div(strip, 2);
    return strip;
}

sbn_slices sbn__slices_of(const sbn_geometry *g, const sbn_replica *replica,
                          size_t words_per_channel)
{
    const sbn_form_sizes *sizes = sizes_of(replica);
    const size_t wanted = replica->compute_units * sizes->groups_per_unit;
    const int first = g->layout == SBN_LAYOUT_NCHW;
    const size_t strip = first ? strip_of(g, sizes, wanted)
                               : at_most(sizes->rows_strip, g->channels);
    const size_t groups = ceil_div(g->channels, strip);
    /* What slices are made of: samples, or blocks of all samples; and the elements of one. */
    const int samples = first && strip > 1;
    const size_t units = samples ? g->samples : g->numbers;
    const size_t elements = strip * (samples ? g->plane : at_most(g->plane, SBN_BLOCK));
    const size_t step = samples ? 1 : first ? sizes->batch : sizes->rows_batch;

    size_t per_slice = at_least(sizes->reduce_elements / elements, 1);
    per_slice = at_most(per_slice, at_least(groups * units / wanted, 1));
    per_slice = at_least(per_slice, at_most(sizes->least_elements / elements, units));
    const size_t allowed = slices_allowed(g, words_per_channel, groups, replica->compute_units);
    per_slice = at_least(per_slice, ceil_div(units, allowed));
    per_slice = round_up(per_slice, step);
    const size_t count = ceil_div(units, per_slice);
    return (sbn_slices){{groups, count}, (cl_uint)count, (cl_uint)per_slice, (cl_uint)strip};
}

sbn_tiles sbn__tiles_of(const sbn_geometry *g, const sbn_replica *replica)
{
    const sbn_form_sizes *sizes = sizes_of(replica);
    const size_t wanted = replica->compute_units * sizes->groups_per_unit;
    const cl_uint stream = g->values * g->total * sizeof(float) > replica->cache_size;
    if (g->layout == SBN_LAYOUT_NCHW && g->plane >= sizes->vector) {
        const size_t runs = g->channels < g->total ? g->samples : 1;
        const size_t length = g->elements / runs, fair = at_least(g->elements / wanted, 1);
        const size_t range = round_up(at_most(sizes->flat_elements, fair), 64);
        return (sbn_tiles){SBN_WALK_FLAT,
                           {ceil_div(length, range), runs},
                           length,
                           (cl_uint)range,
                           stream};
    }
    const size_t plane = g->layout == SBN_LAYOUT_NCHW ? g->plane : 1;
    const size_t width = g->channels * plane, rows = g->elements / width;
    const size_t tiles = ceil_div(width, sizes->tile);
    size_t per_group = at_least(sizes->tile_elements / at_most(width, sizes->tile), 1);
    per_group = at_most(per_group, at_least(rows * tiles / wanted, 1));
    /* Some devices count the second dimension to 65535 only. */
    per_group = at_least(per_group, ceil_div(rows, 32768));
    return (sbn_tiles){SBN_WALK_ROWS,
                       {tiles, ceil_div(rows, per_group)},
                       rows,
                       (cl_uint)per_group,
                       stream};
}

/* Neighbouring channels whose planes begin at a cache line's beginning, where the tensor does. */
static size_t channels_of_lines(size_t plane)
{
    size_t channels = SBN_LINE;
    while (channels > 1 && channels / 2 * plane % SBN_LINE == 0)
        channels /= 2;
    return channels;
}

/*
 * Channels last, chunks would be short runs far apart, and of less than two caches each saves less
 * than its five commands cost. More units, which make those weigh more, were not at hand.
 */
size_t sbn__chunk_channels(const sbn_geometry *g, const sbn_replica *replica, size_t tensors)
{
    const sbn_form_sizes *sizes = sizes_of(replica);
    const size_t bytes = sizeof(float) * tensors * g->values; /* of a channel */
    if (replica->compute_units > sizes->chunk_units || g->layout != SBN_LAYOUT_NCHW ||
        g->plane < sizes->vector || bytes * g->channels <= 2 * replica->cache_size)
        return g->channels;
    const size_t step = channels_of_lines(g->plane);
    const size_t most = replica->cache_size / sizes->chunks_in_cache / bytes / step * step;
    if (most == 0)
        return g->channels;
    /* Equal ones. */
    const size_t count = ceil_div(g->channels, most);
    return round_up(ceil_div(g->channels, count), step);
}
