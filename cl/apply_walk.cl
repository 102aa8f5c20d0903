/*
 * Step 3: how the apply kernels walk over a tensor; src/device/launch_plan.c chooses. Both walks
 * begin at the tensor's end, which is what the reduction has left in caches.
 *
 * Flat (channels first): a kernel has `channels` of the tensor's `total`, from `first` on.
 * Work-group (g, s) takes `range` neighbouring elements of run s, whatever planes they lie in. All
 * channels of all samples are one run; fewer are a run of `run_length` elements in each sample. In
 * the CPU form a vector may reach from one plane into the next: planes have WIDTH elements or more.
 *
 * `ahead`, CPU form: while the result of element i of a run is stored non-temporally, the cache
 * line of element i + ahead is prefetched, if i is below `ahead_count`: channels that are reduced
 * next, so that memory is read while it is written.
 *
 * Rows (channels last, and small planes): a tensor of `rows` rows of channels x plane elements,
 * element i of which belongs to channel i / plane; plane is 1 where channels are last. Work-group
 * (TILE elements of a row, `rows_per_tile` rows).
 *
 * `non_temporal`: stores leave the caches alone, where compiler and address allow (storage.cl). They
 * pay where the tensor is larger than the caches.
 */

/* Prefetches a line ahead of element i at p + i. */
static void prefetch_ahead(global const stored *p, ulong i, ulong ahead, ulong ahead_count)
{
    if (i < ahead_count)
        PREFETCH(p + i + ahead);
}

/* The channel of a row's element, and the element's place in its plane; then of the next one's. */
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

/* Where a flat walk's run lies in the tensor, and where the work-group begins in the run. */
static ulong flat_run(uint first, uint total, uint plane)
{
    const ulong sample = get_num_groups(1) - 1 - get_group_id(1);
    return (sample * total + first) * plane;
}

static ulong flat_begin(uint range)
{
    return (ulong)(get_num_groups(0) - 1 - get_group_id(0)) * range;
}

/* Elements of a row: more than 2^32 where planes are small and channels many. */
static ulong row_width(uint channels, uint plane)
{
    return (ulong)channels * plane;
}

/* Where a work-group's tile begins in a row, and its first row: (tiles, ranges of rows). */
static ulong rows_tile(void)
{
    return (ulong)get_group_id(0) * TILE;
}

/* Elements of the tile that begins there. */
static uint tile_count(ulong width, ulong tile)
{
    return (uint)min((ulong)TILE, width - tile);
}

static ulong rows_begin(uint rows_per_tile)
{
    return (ulong)(get_num_groups(1) - 1 - get_group_id(1)) * rows_per_tile;
}
