/*
 * CPU form, step 1, channels first: BATCH blocks at a time, of which component j of the results
 * belongs to block j. A work-item takes the blocks one after the other, holds all lanes in a vector,
 * and folds 16 blocks at once by exchanging halves.
 *
 * A work-group sums a strip of channels. Strips of several channels go sample by sample, their
 * blocks in the order of memory: block t of a sample belongs to channel t / blocks, and components
 * keep to their t (SETS of them). A strip of one channel numbers its blocks over all samples, and
 * components share.
 */
/* LANES_OF_BATCH: `count` sums of each lane of each block, one sum after the other. */
#define LANES_SIZE BATCH
#define LANES_OF_BATCH(name, count) real name[(count) * LANES_SIZE]
#define LANES_POINTER private real *
#define SHARED(type, name, count) type name[count]
#define SHARED_POINTER(type) private type *

/* How many vectors of a block of n elements are whole. */
static uint steps_of(uint n)
{
    return (n + (LANES - WIDTH)) >> LOG2_LANES;
}

/* The block of this work-item's first component. */
static uint own_block(void)
{
    return get_local_id(0);
}

/*
 * Where the BATCH blocks from t on begin in the tensor, if there are as many, and how long they
 * are: a plane's last one is shorter. Planes are `stride` apart, the first of them is at `start`.
 */
static void locate(uint t, uint blocks, uint plane, ulong start, ulong stride,
                   SHARED_POINTER(ulong) places, SHARED_POINTER(uint) sizes)
{
    const uint at = t + own_block(), row = quotient(at, blocks);
    uint begin = (at - row * blocks) * BLOCK;
    ulong place = start + row * stride;
    for (uint j = own_block(); j < BATCH; j += NCHW_ITEMS) {
        places[j] = place + begin;
        sizes[j] = min((uint)BLOCK, plane - begin);
        begin += BLOCK;
        if (begin >= plane) {
            begin = 0;
            place += stride;
        }
    }
}

/* A work-group's first blocks. Until the next are known, lines at their start are prefetched. */
static void locate_first(uint t, uint blocks, uint plane, ulong start, ulong stride,
                         SHARED_POINTER(ulong) places, SHARED_POINTER(uint) sizes)
{
    locate(t, blocks, plane, start, stride, places, sizes);
    vstore16((ulong16)start, 0, places + BATCH);
}

/*
 * The folds over lanes, of each block of the batch: sums in the order of lanes;
 * the largest, which has no order.
 */
#ifdef REVERSED_LANES
/* The tests' control: folding 1, 2, 4, 8 must give other bits. */
#define LANES_IN_ORDER(v) ((v).s084c2a6e195d3b7f)
#else
#define LANES_IN_ORDER(v) (v)
#endif
#define FOLD_BATCH(name, fold)                                                                     \
    static real name(LANES_POINTER v)                                                              \
    {                                                                                              \
        real a[8], b[4], c[2];                                                                     \
        _Pragma("unroll") for (uint j = 0; j < 8; ++j)                                             \
        {                                                                                          \
            const real v0 = LANES_IN_ORDER(v[j]), v8 = LANES_IN_ORDER(v[j + 8]);                   \
            a[j] = fold((real)(v0.lo, v8.lo), (real)(v0.hi, v8.hi));                               \
        }                                                                                          \
        _Pragma("unroll") for (uint j = 0; j < 4; ++j)                                             \
            b[j] = fold((real)(a[j].s012389ab, a[j + 4].s012389ab),                                \
                        (real)(a[j].s4567cdef, a[j + 4].s4567cdef));                               \
        _Pragma("unroll") for (uint j = 0; j < 2; ++j)                                             \
            c[j] = fold((real)(b[j].s014589cd, b[j + 2].s014589cd),                                \
                        (real)(b[j].s2367abef, b[j + 2].s2367abef));                               \
        const real d = fold((real)(c[0].even, c[1].even), (real)(c[0].odd, c[1].odd));             \
        return d.s084c2a6e195d3b7f;                                                                \
    }
#define PLUS(a, b) ((a) + (b))
FOLD_BATCH(fold_batch, PLUS)
FOLD_BATCH(largest_of_batch, larger)
/* The same, 0 for components without a block: `none` is their mask. */
#define FOLD_BATCH_SUM(v) zero_where(fold_batch(v), none)
#define FOLD_BATCH_LARGEST(v) zero_where(largest_of_batch(v), none)

/*
 * A block's pivot, from its first LANES elements, or from all of them in the wide format: found where
 * the block is summed, so that memory is read straight on.
 */
#define FIND_PIVOTS(tensor, count, last_reciprocal, places, sizes, pivots)

static float pivot_of(global const stored *p, uint n, float last_reciprocal,
                      global const stored *end, private float *pivot)
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

/*
 * The block whose lines are prefetched while block j of the half `now` is summed: a batch of short
 * ones on, or half a batch of whole ones (CPU form: 8 kB). Behind the last it is any place.
 */
static uint ahead_of(uint now, uint j, uint plane)
{
    return (now + j + (plane < BLOCK ? BATCH : BATCH >> 1)) & (2 * BATCH - 1);
}

/* What belongs to this work-item's components; those without a block have 0. */
static real own_values(SHARED_POINTER(float) all, uint count)
{
    return zero_where(vload16(0, all), EACH >= count);
}

static uints own_sizes(SHARED_POINTER(uint) sizes, uint count)
{
    return select((uints)0, vload16(0, sizes), EACH < count);
}

/* Flags of the blocks under the mask, whose elements may not be finite. */
static ints flags_of_batch(ints unknown, global const stored *tensor, float last_reciprocal,
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
 * Writes the accumulators of the work-group's channels to `out`: of each channel `per_channel`
 * components in a row are added. `all` has room for every component.
 */
static void store_batch(private wides *components, private ints *flags, int limbs1, int limbs2,
                        uint channels, uint per_channel, SHARED_POINTER(long) all,
                        global long *out)
{
    const int count = limbs1 + limbs2;
    for (int set = 0; set < SETS; ++set)
        carry_sums(components + set * count, limbs1, limbs2);
    for (int k = 0; k <= count; ++k) {
        for (int set = 0; set < SETS; ++set)
            vstore16(k < count ? components[set * count + k] : convert_long16(flags[set]), set,
                     all);
        for (uint i = get_local_id(0); i < channels; i += NCHW_ITEMS) {
            long total = 0, either = 0;
            for (uint t = i * per_channel; t < (i + 1) * per_channel; ++t) {
                total += all[t];
                either |= all[t];
            }
            out[i * (count + 1) + k] = k < count ? total : either;
        }
    }
    for (uint i = get_local_id(0); i < channels; i += NCHW_ITEMS)
        carry_accumulator(out + i * (count + 1), limbs1, limbs2);
}
