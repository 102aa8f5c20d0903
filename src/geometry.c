#include "geometry.h"

#include <stdio.h>

#include "error.h"

void sbn_print_shape(const sbn_share *share, char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < share->dims && i < 5 && used < size; ++i) {
        const int length = snprintf(out + used, size - used, "%s%zu", i ? "," : "(",
                                    share->shape[i]);
        used += length > 0 ? (size_t)length : 0;
    }
    if (used < size)
        snprintf(out + used, size - used, ")");
}

static size_t ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

static size_t at_most(size_t a, size_t limit)
{
    return a < limit ? a : limit;
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

int sbn_geometry_of(sbn_geometry *geometry, const sbn_share *share, size_t channels,
                    sbn_layout layout, const char *who)
{
    char shape[128];
    if (share->dims < 2 || share->dims > 5)
        return sbn_fail(SBN_INVALID_ARGUMENT, "%s: dims: 2 to 5 were expected, %d came", who,
                        share->dims);
    sbn_print_shape(share, shape, sizeof shape);
    if (share->shape[1] != channels)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "%s: shape: %zu channels were expected, %zu came in %s", who, channels,
                        share->shape[1], shape);
    size_t plane = 1;
    int fits = 1;
    for (int i = 2; i < share->dims; ++i)
        fits = fits && multiply(&plane, share->shape[i]);
    size_t values = plane;
    fits = fits && multiply(&values, share->shape[0]);
    size_t elements = values;
    fits = fits && multiply(&elements, channels);
    const size_t blocks = ceil_div(plane, SBN_BLOCK);
    size_t numbers = blocks;
    fits = fits && multiply(&numbers, share->shape[0]);
    if (!fits || plane > INT32_MAX || share->shape[0] > INT32_MAX || numbers > SBN_MAX_BLOCKS)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "%s: shape: %s is too large: a plane may have 2^31 - 1 elements, a channel "
                        "%zu blocks of %d, and sizes must not overflow",
                        who, shape, SBN_MAX_BLOCKS, SBN_BLOCK);
    const size_t last = plane ? plane - (blocks - 1) * SBN_BLOCK : 1;
    *geometry = (sbn_geometry){
        .samples = share->shape[0],
        .channels = channels,
        .plane = plane,
        .values = values,
        .elements = elements,
        .layout = plane == 1 ? SBN_CHANNELS_LAST : layout,
        .blocks = (cl_uint)blocks,
        .numbers = (cl_uint)numbers,
        .last_reciprocal = (cl_float)(1.0 / (double)last),
    };
    return SBN_SUCCESS;
}

/* Groups that keep a device busy: several for each compute unit, more where groups are small. */
static size_t wanted_groups(const sbn_replica *replica)
{
    return replica->compute_units * (replica->form == SBN_FORM_CPU ? 4 : 32);
}

sbn_slices sbn_slices_of(const sbn_geometry *geometry, const sbn_replica *replica,
                         const sbn_kernel *kernel)
{
    const size_t channels_per_group = geometry->layout == SBN_CHANNELS_FIRST
                                          ? 1
                                          : kernel->local[0] * replica->kernels.width;
    const size_t groups = ceil_div(geometry->channels, channels_per_group);
    size_t count = at_most(ceil_div(wanted_groups(replica), groups), geometry->numbers);
    const size_t per_slice = ceil_div(geometry->numbers, at_least(count, 1));
    count = ceil_div(geometry->numbers, at_least(per_slice, 1));
    return (sbn_slices){{groups, count}, (cl_uint)count, (cl_uint)per_slice};
}

sbn_tiles sbn_tiles_of(const sbn_geometry *geometry, const sbn_replica *replica)
{
    /* Elements of a group: enough to outweigh its start; and some devices count only to 65535. */
    const size_t wanted = replica->form == SBN_FORM_CPU ? 16384 : 2048, most = 32768;
    sbn_tiles tiles = {{1, 1, 1}, 0, 0, 0};
    if (geometry->layout == SBN_CHANNELS_LAST) {
        const size_t rows = at_least(wanted / geometry->channels, 4);
        tiles.rows_per_tile = (cl_uint)rows;
        tiles.groups[0] = ceil_div(geometry->values, rows);
        return tiles;
    }
    const size_t chunk = at_least(wanted, ceil_div(geometry->plane, most));
    const size_t planes = replica->form == SBN_FORM_CPU ? at_least(wanted / geometry->plane, 1) : 1;
    tiles.chunk = (cl_uint)at_most(chunk, geometry->plane);
    tiles.channels_per_group = (cl_uint)at_most(planes, geometry->channels);
    tiles.groups[0] = ceil_div(geometry->channels, tiles.channels_per_group);
    tiles.groups[1] = ceil_div(geometry->plane, tiles.chunk);
    tiles.groups[2] = at_most(geometry->samples, most);
    return tiles;
}
