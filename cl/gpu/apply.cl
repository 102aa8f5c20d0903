/*
 * GPU form, step 3: how the apply kernels walk over a tensor; src/device/launch_plan.c chooses. Work-
 * groups have APPLY_ITEMS work-items, coefficients are read before elements, and VECTORS loads are
 * under way before the first store. Both walks begin at the tensor's end, which is what the
 * reduction has left in caches.
 *
 * Planes (channels first, few samples): work-group (channel, part of `range` elements, sample) stays
 * within a plane, whose coefficients all of its items share.
 *
 * Rows (all else): a tensor of `rows` rows of `width` = channels x plane elements, element i of which
 * belongs to channel i / plane; plane is 1 where channels are last. Work-group (TILE elements of a
 * row, `rows_per_tile` rows): each item has the coefficients of 4 elements, for all rows.
 *
 * Elements go by 4, aligned, where rows or planes and the buffers' offsets are multiples of 4; else
 * an item's elements lie APPLY_ITEMS apart.
 */
#if TILE != 4 * APPLY_ITEMS
#error "a work-item has 4 elements of a tile"
#endif
#define VECTORS 4
#define UNROLL _Pragma("unroll")

/* Whether all of these are multiples of 4. */
static bool are_aligned(ulong a, ulong b, ulong c, ulong d)
{
    return ((a | b | c | d) & 3) == 0;
}

/* The part of a plane that a work-group has: (channel, part, sample). */
static ulong plane_begin(uint channels, uint plane, uint range, private uint *c,
                         private uint *count)
{
    const uint begin = (uint)(get_num_groups(1) - 1 - get_group_id(1)) * range;
    const ulong sample = get_num_groups(2) - 1 - get_group_id(2);
    *c = channels - 1 - (uint)get_group_id(0);
    *count = min(range, plane - begin);
    return (sample * channels + *c) * plane + begin;
}

/* The work-group's first row. */
static ulong first_row(uint rows_per_tile)
{
    return (ulong)(get_num_groups(1) - 1 - get_group_id(1)) * rows_per_tile;
}

/* The channels of 4 elements of a row, `step` apart from `element` on; the last one behind it. */
static void channels_of(uint element, uint step, uint channels, uint plane, private uint *cs)
{
    uint c = plane == 1 ? element : quotient(element, plane), within = element - c * plane;
    UNROLL for (uint k = 0; k < 4; ++k)
    {
        cs[k] = min(c, channels - 1);
        within += step;
        if (step == 1 && plane > 1) {
            c += within == plane;
            within = within == plane ? 0 : within;
        } else {
            const uint further = plane == 1 ? within : quotient(within, plane);
            c += further;
            within -= further * plane;
        }
    }
}
