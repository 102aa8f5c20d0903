/*
 * The lanes of blocks whose elements lie `channels` apart (channels last),
 * WIDTH neighbouring channels at once. A work-group has LAST_ITEMS x WIDTH
 * channels and LAST_ROWS rows of items; an item holds every LAST_ROWS-th lane
 * of its channels, PER_ITEM in all: 64 lanes of 16 channels (CPU form), or 8
 * lanes of one channel.
 */
#if CPU_FORM
#define LAST_ITEMS 1
#define LAST_ROWS 1
#else
#define LAST_ITEMS 32
#define LAST_ROWS 8
#endif
#define PER_ITEM (LANES / LAST_ROWS)

/*
 * The lanes that a block of n elements reaches, as a power of two: lanes
 * beyond hold +0, whose addition changes nothing.
 */
static uint live_lanes(uint n)
{
    uint live = PER_ITEM;
    while (live > 1 && (live >> 1) * LAST_ROWS >= n)
        live >>= 1;
    return live;
}

static void zero_strip(private real *s, uint live)
{
    for (uint r = 0; r < live; ++r)
        s[r] = 0.0f;
}

/* The sums over the lanes, known to every item of the channel. */
static real fold_strip(private real *s, uint live, local float *scratch)
{
    for (uint half_way = live >> 1; half_way > 0; half_way >>= 1)
        for (uint r = 0; r < half_way; ++r)
            s[r] += s[r + half_way];
#if CPU_FORM
    return s[0];
#else
    const uint item = get_local_id(0), row = get_local_id(1);
    scratch[row * LAST_ITEMS + item] = s[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_way = LAST_ROWS >> 1; half_way > 0; half_way >>= 1) {
        if (row < half_way)
            scratch[row * LAST_ITEMS + item] += scratch[(row + half_way) * LAST_ITEMS + item];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float total = scratch[item];
    barrier(CLK_LOCAL_MEM_FENCE);
    return total;
#endif
}

/* The largest over the lanes; any order gives the same. */
static real largest_of_strip(private real *s, uint live, local float *scratch)
{
    for (uint r = 1; r < live; ++r)
        s[0] = max(s[0], s[r]);
#if CPU_FORM
    return s[0];
#else
    const uint item = get_local_id(0), row = get_local_id(1);
    scratch[row * LAST_ITEMS + item] = s[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    float largest = scratch[item];
    for (uint r = 1; r < LAST_ROWS; ++r)
        largest = max(largest, scratch[r * LAST_ITEMS + item]);
    barrier(CLK_LOCAL_MEM_FENCE);
    return largest;
#endif
}

/* The pivots of WIDTH channels from c over n elements, rows of `channels` at p. */
static real pivots_of_strip(global const float *restrict p, uint c, uint channels, uint n,
                            float inv, uint live, local float *scratch)
{
    real s[PER_ITEM];
    zero_strip(s, live);
    for (uint k = get_local_id(1); k < n; k += LANES)
        for (uint r = 0, i = k; r < live && i < n; ++r, i += LAST_ROWS)
            s[r] = fma(load_edge(p + (ulong)i * channels, c, channels, 0.0f), (real)inv, s[r]);
    return fold_strip(s, live, scratch);
}

/* A vector of channels, one by one. */
static void spread(real v, private float *out)
{
#if CPU_FORM
    vstore16(v, 0, out);
#else
    out[0] = v;
#endif
}
