/*
 * CPU form, step 1, channels first: what the kernels of reduce_nchw.cl need. A work-item sums BATCH
 * blocks one after the other, with all lanes of a block in a vector; then it folds the lanes of all
 * of them at once, by exchanging halves of vectors. Component j of the result belongs to block j.
 *
 * A work-group sums a strip of channels. A strip of several channels is read sample by sample, its
 * blocks in the order of memory: block t of a sample belongs to channel t / blocks and is always
 * added to the same component of the limbs (there are SETS of vectors of limbs). A strip of one
 * channel numbers its blocks over all samples, and any component may add any block.
 */
/* LANES_OF_BATCH: `count` arrays, each with a sum of every lane of every block. */
#define LANES_SIZE BATCH
#define LANES_OF_BATCH(name, count) real name[(count) * LANES_SIZE]
#define LANES_POINTER private real *
#define SHARED(type, name, count) type name[count]
#define SHARED_POINTER(type) private type *

/* Where a tensor of rows with gaps ends: elements before that may be read. */
static global const stored *tensor_end(global const stored *p, ulong gap, ulong row, ulong rows)
{
    return p + row * rows + gap * (rows - 1);
}

/* The number of whole vectors in a block of n elements. */
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
 * The places and sizes of the BATCH blocks from t on, whether they exist or not. The last block of
 * a plane is shorter. Planes are `stride` apart; the first begins at `start`.
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

/* The work-group's first blocks. `start` stands for the next ones, which are not known yet. */
static void locate_first(uint t, uint blocks, uint plane, ulong start, ulong stride,
                         SHARED_POINTER(ulong) places, SHARED_POINTER(uint) sizes)
{
    locate(t, blocks, plane, start, stride, places, sizes);
    vstore16((ulong16)start, 0, places + BATCH);
}

/*
 * Folds the lanes of every block of the batch: their sum in the order of doc/order.md, or the
 * largest.
 */
#ifdef REVERSED_LANES
/* For tests: folding in another order, 1, 2, 4, 8, must give other bits. */
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
/* The same, with 0 for components without a block; `none` is the mask of these. */
#define FOLD_BATCH_SUM(v) zero_where(fold_batch(v), none)
#define FOLD_BATCH_LARGEST(v) zero_where(largest_of_batch(v), none)

/*
 * `places` has two halves, of the current batch (at `now`) and of the next. The index of the block
 * to prefetch while block j is summed: a batch ahead if blocks are short, else half a batch (8 kB).
 * After the last batch the result is an index of any block.
 */
static uint ahead_of(uint now, uint j, uint plane)
{
    return (now + j + (plane < BLOCK ? BATCH : BATCH >> 1)) & (2 * BATCH - 1);
}

/* The values, and sizes, of this work-item's components; 0 for those without a block. */
static real own_values(SHARED_POINTER(float) all, uint count)
{
    return zero_where(vload16(0, all), EACH >= count);
}

static uints own_sizes(SHARED_POINTER(uint) sizes, uint count)
{
    return select((uints)0, vload16(0, sizes), EACH < count);
}

#if SUMS_AGAIN
/* Moves the pivots of the blocks under the mask to their means. */
static void move_pivots(ints mask, real sums, uints sizes, float last_reciprocal,
                        private float *pivots)
{
    const real reciprocals =
        select((real)last_reciprocal, (real)BLOCK_RECIPROCAL, MASK(sizes == BLOCK));
    const real all = vload16(0, pivots);
    vstore16(select(all, moved_pivot(all, sums, reciprocals), mask), 0, pivots);
}
#endif

/*
 * Writes the accumulators of the work-group's channels to `out`. A channel's is the sum of
 * `per_channel` neighbouring components. `all` has room for all components.
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
