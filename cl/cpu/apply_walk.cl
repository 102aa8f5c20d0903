/*
 * CPU form, step 3: how the apply kernels map work-items to a tensor; src/plan/cpu.c chooses one of two ways. Both
 * begin at the tensor's end, which the reduction has left in the caches.
 *
 * Flat (channels first): if no tensor has gaps, the tensor is one run; otherwise each sample has a run of `extent`
 * elements. Work-group (g, s) takes `share` neighbouring elements of run s, across planes. A vector may reach from
 * one plane into the next, so planes have at least WIDTH elements.
 *
 * Rows (channels last, and small planes): the tensor has `rows` rows of channels x plane elements; element i of a row
 * belongs to channel i / plane. plane is 1 if channels are last. A work-group takes TILE elements of `share` rows.
 *
 * `x_gap`, `y_gap`, ...: elements of others between the rows of a tensor (samples where the walk is flat), 0 where it
 * is dense.
 *
 * `non_temporal`: stores leave the caches alone, where compiler and address allow (storage.cl). This is faster for
 * tensors that are larger than the caches.
 */

/* The channel of an element of a row, and its index in the plane; then those of the next element. */
static uint channel_of(ulong element, uint plane, private uint *within)
{
    const ulong c = quotient_long(element, plane);
    *within = (uint)(element - c * plane);
    return (uint)c;
}

static uint next_channel(uint c, uint plane, private uint *within)
{
    *within = *within + 1 < plane ? *within + 1 : 0;
    return *within == 0 ? c + 1 : c;
}

/* The number of the work-group's share of a dimension: the first work-group has the last. */
static ulong share_number(uint dimension)
{
    return get_num_groups(dimension) - 1 - get_group_id(dimension);
}
