/*
 * Channels first: BATCH blocks at a time, of which component j of the results
 * belongs to block j.
 *
 * CPU form: one item takes the blocks one after the other, holds all lanes in
 * a vector, and folds 16 blocks at once by exchanging halves. GPU form: of 64
 * items each 16 take the lanes of a block, four blocks at once; then item j
 * folds block j.
 *
 * A group sums a strip of channels. Strips of several channels go sample by
 * sample, their blocks in the order of memory: block t of a sample belongs to
 * channel t / blocks, and components keep to their t (`SETS` of them). A strip
 * of one channel numbers its blocks over all samples, and components share.
 */
#if CPU_FORM
#define FIRST_ITEMS 1
#define BATCH 16
#define SETS 4
#define BLOCKS_AT_ONCE 1
#define LANES_OF_BATCH(name) real name[BATCH]
#define LANES_POINTER private real *
#define SHARED(type, name, count) type name[count]
#define SHARED_POINTER(type) private type *
#define MEET()
#else
#define FIRST_ITEMS 64
#define BATCH 64
#define SETS 1
#define BLOCKS_AT_ONCE 4
#define BANKS (LANES + 1)
#define LANES_OF_BATCH(name) local float name[BATCH * BANKS]
#define LANES_POINTER local float *
#define SHARED(type, name, count) local type name[count]
#define SHARED_POINTER(type) local type *
#define MEET() barrier(CLK_LOCAL_MEM_FENCE)
#endif

/* The first block that this item takes part in, and its lane there. */
static uint first_block(void)
{
    return get_local_id(0) >> (CPU_FORM ? 0 : 4);
}

static uint first_lane(void)
{
    return get_local_id(0) & (CPU_FORM ? 0 : LANES - 1);
}

/* How many vectors of a block of n elements are whole, or elements are in this item's lane. */
static uint steps_of(uint n)
{
    return (n + (LANES - WIDTH) - first_lane()) >> 4;
}

/* The block of this item's first component. */
static uint own_block(void)
{
    return get_local_id(0);
}

/*
 * Where the BATCH blocks from t on begin in the tensor, if there are as many, and how long they are:
 * a plane's last one is shorter. Planes are `stride` apart, the first of them is at `start`.
 */
static void locate(uint t, uint blocks, uint plane, ulong start, ulong stride,
                   SHARED_POINTER(ulong) places, SHARED_POINTER(uint) sizes)
{
    const uint at = t + own_block(), row = quotient(at, blocks);
    uint begin = (at - row * blocks) * BLOCK;
    ulong place = start + row * stride;
    for (uint j = own_block(); j < BATCH; j += FIRST_ITEMS) {
        places[j] = place + begin;
        sizes[j] = min((uint)BLOCK, plane - begin);
        begin += BLOCK;
        if (begin >= plane) {
            begin = 0;
            place += stride;
        }
    }
}

/* The first of a group's blocks. Until it is known what follows, lines are asked for at their start. */
static void locate_first(uint t, uint blocks, uint plane, ulong start, ulong stride,
                         SHARED_POINTER(ulong) places, SHARED_POINTER(uint) sizes)
{
    locate(t, blocks, plane, start, stride, places, sizes);
#if CPU_FORM
    vstore16((ulong16)start, 0, places + BATCH);
#endif
}

static void keep_lanes(LANES_POINTER lanes, uint j, real v)
{
#if CPU_FORM && defined(REVERSED_LANES)
    /* The tests' control: folding 1, 2, 4, 8 must give other bits. */
    lanes[j] = v.s084c2a6e195d3b7f;
#elif CPU_FORM
    lanes[j] = v;
#else
    lanes[j * BANKS + first_lane()] = v;
#endif
}

/*
 * The folds over lanes, of each block of the batch: sums in the order of lanes;
 * the largest, which has no order.
 */
#if CPU_FORM
#define FOLD_BATCH(name, fold)                                                                     \
    static real name(LANES_POINTER v)                                                              \
    {                                                                                              \
        real a[8], b[4], c[2];                                                                     \
        _Pragma("unroll") for (uint j = 0; j < 8; ++j)                                             \
            a[j] = fold((real)(v[j].lo, v[j + 8].lo), (real)(v[j].hi, v[j + 8].hi));               \
        _Pragma("unroll") for (uint j = 0; j < 4; ++j)                                             \
            b[j] = fold((real)(a[j].s012389ab, a[j + 4].s012389ab),                                \
                        (real)(a[j].s4567cdef, a[j + 4].s4567cdef));                               \
        _Pragma("unroll") for (uint j = 0; j < 2; ++j)                                             \
            c[j] = fold((real)(b[j].s014589cd, b[j + 2].s014589cd),                                \
                        (real)(b[j].s2367abef, b[j + 2].s2367abef));                               \
        const real d = fold((real)(c[0].even, c[1].even), (real)(c[0].odd, c[1].odd));             \
        return d.s084c2a6e195d3b7f;                                                                \
    }
#else
#define FOLD_BATCH(name, fold)                                                                     \
    static real name(LANES_POINTER v)                                                              \
    {                                                                                              \
        local const float *own = v + get_local_id(0) * BANKS;                                      \
        float s[LANES >> 1];                                                                       \
        for (uint l = 0; l < LANES >> 1; ++l)                                                      \
            s[l] = fold(own[l], own[l + (LANES >> 1)]);                                            \
        for (uint half_way = LANES >> 2; half_way > 0; half_way >>= 1)                             \
            for (uint l = 0; l < half_way; ++l)                                                    \
                s[l] = fold(s[l], s[l + half_way]);                                                \
        return s[0];                                                                               \
    }
#endif
#define PLUS(a, b) ((a) + (b))
FOLD_BATCH(fold_batch, PLUS)
FOLD_BATCH(largest_of_batch, larger)

/*
 * A block's pivot, from its first LANES elements, or from all of them in the
 * wide format. CPU form: found where the block is summed, so that memory is
 * read straight on. GPU form: items find those of a whole batch before.
 */
#if CPU_FORM
#define FIND_PIVOTS(tensor, count, last_reciprocal, places, sizes, pivots)

static float pivot_of(global const float *p, uint n, float last_reciprocal,
                      global const float *end, private float *pivot)
{
#if WIDE
    *pivot = mean_of_block(p, n, 1, reciprocal(n, last_reciprocal));
#else
    const real lanes = load_edge(p, 0, n, end, 0.0f) * pivot_reciprocal(n, last_reciprocal);
    const float8 eight = lanes.lo + lanes.hi;
    const float4 four = eight.lo + eight.hi;
    const float2 two = four.lo + four.hi;
    *pivot = two.lo + two.hi;
#endif
    return *pivot;
}
#else
#define FIND_PIVOTS find_pivots

static void find_pivots(global const float *tensor, uint count, float last_reciprocal,
                        local const ulong *places, local const uint *sizes, local float *pivots)
{
    for (uint j = own_block(); j < count; j += FIRST_ITEMS) {
        global const float *p = tensor + places[j];
        const uint n = sizes[j];
#if WIDE
        pivots[j] = mean_of_block(p, n, 1, reciprocal(n, last_reciprocal));
#else
        pivots[j] = mean_of_block(p, min(n, (uint)LANES), 1, pivot_reciprocal(n, last_reciprocal));
#endif
    }
    MEET();
}

static float pivot_of(global const float *p, uint n, float last_reciprocal,
                      global const float *end, local const float *pivot)
{
    return *pivot;
}
#endif

/*
 * The block whose lines are asked for while block j of the half `now` is summed: 16 short ones on,
 * or 8 whole ones, which are 8 kB. Behind the last it is any place.
 */
static uint ahead_of(uint now, uint j, uint plane)
{
    return (now + j + (plane < BLOCK ? BATCH : BATCH >> 1)) & (2 * BATCH - 1);
}

/* What belongs to this item's components; those without a block have 0. */
static real own_values(SHARED_POINTER(float) all, uint count)
{
#if CPU_FORM
    return zero_where(vload16(0, all), EACH >= count);
#else
    return get_local_id(0) < count ? all[get_local_id(0)] : 0.0f;
#endif
}

static uints own_sizes(SHARED_POINTER(uint) sizes, uint count)
{
#if CPU_FORM
    return select((uints)0, vload16(0, sizes), EACH < count);
#else
    return get_local_id(0) < count ? sizes[get_local_id(0)] : 0;
#endif
}

/* Flags of the blocks under the mask, whose elements may not be finite. */
static ints flags_of_batch(ints unknown, global const float *tensor, float last_reciprocal,
                           SHARED_POINTER(ulong) places, SHARED_POINTER(uint) sizes)
{
    int each[WIDTH];
    spread_ints(unknown, each);
    for (uint j = 0; j < WIDTH; ++j) {
        const uint own = own_block() + j;
        if (each[j])
            each[j] = flags_of(mean_of_block(tensor + places[own], sizes[own], 1,
                                             reciprocal(sizes[own], last_reciprocal)));
    }
    return gather_ints(each);
}

/*
 * Hands out the words of the group's channels at `out`: of each channel
 * `per_channel` components in a row are added. `all` has room for every
 * component.
 */
static void store_batch(private wides *sums, private ints *flags, int limbs1, int limbs2,
                        uint channels, uint per_channel, SHARED_POINTER(long) all,
                        global long *out)
{
    const int limbs = limbs1 + limbs2;
    for (int set = 0; set < SETS; ++set)
        carry_sums(sums + set * limbs, limbs1, limbs2);
    for (int k = 0; k <= limbs; ++k) {
#if CPU_FORM
        for (int set = 0; set < SETS; ++set)
            vstore16(k < limbs ? sums[set * limbs + k] : convert_long16(flags[set]), set, all);
#else
        all[get_local_id(0)] = k < limbs ? sums[k] : flags[0];
#endif
        MEET();
        for (uint i = get_local_id(0); i < channels; i += FIRST_ITEMS) {
            long total = 0, either = 0;
            for (uint t = i * per_channel; t < (i + 1) * per_channel; ++t) {
                total += all[t];
                either |= all[t];
            }
            out[i * (limbs + 1) + k] = k < limbs ? total : either;
        }
        MEET();
    }
    for (uint i = get_local_id(0); i < channels; i += FIRST_ITEMS)
        carry_accumulator(out + i * (limbs + 1), limbs1, limbs2);
}
