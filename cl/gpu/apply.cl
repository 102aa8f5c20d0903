/*
 * GPU form, step 3: how the apply kernels map work-items to a tensor; src/plan/gpu.c chooses one of two ways.
 * Work-groups have APPLY_ITEMS work-items. A work-item reads coefficients before elements and issues VECTORS loads
 * before its first store. Both ways begin at the tensor's end, which the reduction has left in the caches.
 *
 * Planes (channels first, few samples): work-group (channel, part of `share` elements, sample) stays within a plane;
 * all of its work-items use the same coefficients.
 *
 * Rows (all else): the tensor has `rows` rows of `width` = channels x plane elements; element i of a row belongs to
 * channel i / plane. plane is 1 if channels are last. A work-group takes TILE elements of `share` rows; a work-item
 * keeps the coefficients of its 4 elements for all rows. From one row to the next are less than 2^32 elements;
 * VECTORS - 1 rows have less where `share` is VECTORS or more.
 *
 * `x_gap`, `y_gap`, ...: elements of others between the rows, or samples, of a tensor, 0 where it is dense.
 *
 * If the size of rows or planes, the gaps and the offsets of the buffers are multiples of 4, a work-item loads 4
 * neighbouring elements at once; otherwise its elements are APPLY_ITEMS apart, or neighbours too, one by one, where a
 * word of a mask has their bits.
 */
#if MASKED
#define FIRST_ELEMENT(item) (4 * (item))
#define ELEMENT_STEP 1
#else
#define FIRST_ELEMENT(item) (item)
#define ELEMENT_STEP APPLY_ITEMS
#endif
#if TILE != 4 * APPLY_ITEMS
#error "a work-item has 4 elements of a tile"
#endif
#define VECTORS 4

/* Whether all numbers of which this is the bitwise or are multiples of 4. */
static bool are_aligned(ulong numbers)
{
    return (numbers & 3) == 0;
}

/* Element k of a work-item's four from i on; behind the last one the first, since others write theirs meanwhile. */
#define OWN_ELEMENT(i, k, last) ((k) * ELEMENT_STEP <= (last) - (i) ? (i) + (k) * ELEMENT_STEP : (i))

/* The work-group's sample. */
static ulong plane_sample(void)
{
    return get_num_groups(2) - 1 - get_group_id(2);
}

/* Where the work-group's part of a plane begins, its channel and its number of elements. */
static ulong plane_begin(uint channels, uint plane, uint share, private uint *c,
                         private uint *count)
{
    const uint begin = (uint)(get_num_groups(1) - 1 - get_group_id(1)) * share;
    *c = channels - 1 - (uint)get_group_id(0);
    *count = min(share, plane - begin);
    return (plane_sample() * channels + *c) * plane + begin;
}

/* The work-group's first row. */
static ulong first_row(uint share)
{
    return (ulong)(get_num_groups(1) - 1 - get_group_id(1)) * share;
}

/* The channels of 4 elements of a row, `step` apart; past the row's end, its last channel. */
static void channels_of(uint element, uint step, uint channels, uint plane, private uint *cs)
{
    uint c = plane == 1 ? element : quotient(element, plane), within = element - c * plane;
    UNROLL for (uint k = 0; k < 4; ++k)
    {
        cs[k] = min(c, channels - 1);
        within += step;
        if (step == 1) {
            c += within == plane;
            within = within == plane ? 0 : within;
        } else {
            const uint further = plane == 1 ? within : quotient(within, plane);
            c += further;
            within -= further * plane;
        }
    }
}
