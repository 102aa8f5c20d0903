/*
 * The lanes of a block that lies contiguously (channels first). A work-group
 * of FIRST_ITEMS has the whole block; its items hold the 64 lanes in VECTORS
 * vectors: one item with 4 x 16 lanes (CPU form) or 64 items with one each.
 */
#if CPU_FORM
#define FIRST_ITEMS 1
#define VECTORS 4
#else
#define FIRST_ITEMS LANES
#define VECTORS 1
#endif

/* The lane in which this item's vector v begins. */
static uint lane_of(uint v)
{
    return get_local_id(0) * WIDTH + v * WIDTH;
}

static void zero_lanes(private real *s)
{
    for (uint v = 0; v < VECTORS; ++v)
        s[v] = 0.0f;
}

#if CPU_FORM
static float fold_vector(float16 v)
{
    const float8 a = v.lo + v.hi;
    const float4 b = a.lo + a.hi;
    const float2 c = b.lo + b.hi;
    return c.x + c.y;
}
#endif

/* The sum over the lanes, known to every item. `scratch` holds LANES floats. */
static float fold_lanes(private const real *s, local float *scratch)
{
#if CPU_FORM && defined(REVERSED_LANES)
    /* The tests' control: folding 1, 2, ... 32 must give other bits. */
    float total[VECTORS];
    for (uint v = 0; v < VECTORS; ++v) {
        const float8 a = s[v].even + s[v].odd;
        const float4 b = a.even + a.odd;
        const float2 c = b.even + b.odd;
        total[v] = c.x + c.y;
    }
    return (total[0] + total[1]) + (total[2] + total[3]);
#elif CPU_FORM
    return fold_vector((s[0] + s[2]) + (s[1] + s[3]));
#else
    const uint item = get_local_id(0);
    scratch[item] = s[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_way = LANES >> 1; half_way > 0; half_way >>= 1) {
        if (item < half_way)
            scratch[item] += scratch[item + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float total = scratch[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return total;
#endif
}

/* The largest over the lanes; any order gives the same. */
static float largest_lane(private const real *s, local float *scratch)
{
#if CPU_FORM
    const float16 v = max(max(s[0], s[1]), max(s[2], s[3]));
    const float8 a = max(v.lo, v.hi);
    const float4 b = max(a.lo, a.hi);
    return max(max(b.x, b.y), max(b.z, b.w));
#else
    const uint item = get_local_id(0);
    scratch[item] = s[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_way = LANES >> 1; half_way > 0; half_way >>= 1) {
        if (item < half_way)
            scratch[item] = max(scratch[item], scratch[item + half_way]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float total = scratch[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return total;
#endif
}

/* The pivot of n elements at p: the sum of x / n in lane order. */
static float pivot_of_block(global const float *restrict p, uint n, float inv, local float *scratch)
{
    real s[VECTORS];
    zero_lanes(s);
    uint k = 0;
    for (; k + LANES <= n; k += LANES)
        for (uint v = 0; v < VECTORS; ++v)
            s[v] = fma(LOAD(p + k + lane_of(v)), (real)inv, s[v]);
    if (k < n)
        for (uint v = 0; v < VECTORS; ++v)
            s[v] = fma(load_edge(p, k + lane_of(v), n, 0.0f), (real)inv, s[v]);
    return fold_lanes(s, scratch);
}
