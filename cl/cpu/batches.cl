/*
 * CPU form, step 1, channels first: what reduce_nchw.cl needs. A work-item sums BATCH
 * blocks one after the other, with all lanes of a block in a vector; then it folds the lanes of all
 * of them at once, by exchanging halves of vectors. Component j of the result belongs to block j.
 *
 * A work-group sums a strip of channels. A strip of several channels is read sample by sample, its
 * blocks in the order of memory: block t of a sample belongs to channel t / blocks and is always
 * added to the same component of the limbs (there are SETS of vectors of limbs). A strip of one
 * channel numbers its blocks over all samples, and any component may add any block.
 *
 * A program sums for one pass. The files of the pass (elements_forward.cl and sums_forward.cl, or
 * elements_backward.cl and sums_backward.cl) follow this one. They give the reductions behind them:
 *
 *   PASS_KERNEL                 the name of a kernel of the pass
 *   PASS_SUMS, PASS_LANE_SUMS   sums per block, and per lane where channels are last
 *   PASS_READS_MEANS            whether blocks are summed with the channel's mean
 *   PASS_TILE_STEPS             rows of a tile per lane, channels last
 *   PASS_DIGITS1, PASS_DIGITS2  digits of a window of each sum: rows_of_one.cl
 *   pass_tensors                the tensors, which PASS_TENSORS makes of TENSOR_PARAMETERS;
 *                               pass_skip and pass_advance move them past rows with gaps;
 *                               pass_prefetch and pass_touch_rows fetch elements ahead
 *   pass_line                   what a channel's elements are summed with, or WIDTH channels': set
 *                               by pass_line_of, pass_lines_of; pass_mean is in it
 *   pass_summed                 WIDTH elements that are summed; pass_summed_edge, pass_summed_row
 *                               where the tensor may end
 *   pass_sums                   the sums of a lane, or of a block: pass_clear, pass_add,
 *                               pass_add_edge, pass_add_row
 *   pass_keep_lanes             keeps the lanes of a block, which pass_fold_batch folds; channels
 *                               last, pass_keep_sums, pass_take_lanes, pass_clear_lanes and
 *                               pass_fold_lanes
 *   pass_is_poor, pass_sum      whether a block is summed once more, around its mean
 *   pass_add_block              adds a block to the narrow accumulators; pass_add_wide adds blocks that do not fit;
 *                               pass_add_ones adds rows of blocks of one element, and pass_terms gives those of a row
 *   pass_faint                  from where on a channel's blocks fit
 */
/* Lanes of a batch: for each sum of a block, a vector for each block. */
#define LANES_SIZE BATCH

#define SLICE_PARAMETERS PARAMETERS(SLICE_ARGUMENTS), PARAMETERS(CPU_SLICE_ARGUMENTS)
#define SLICE NAMES(SLICE_ARGUMENTS), NAMES(CPU_SLICE_ARGUMENTS)

/* Where a tensor of rows with gaps ends: elements before that may be read. */
static global const stored *tensor_end(global const stored *p, ulong gap, ulong row, ulong rows)
{
    return p + row * rows + gap * (rows - 1);
}

/*
 * The places and sizes of the BATCH blocks from t on, whether they exist or not. The last block of
 * a plane is shorter. Planes are `stride` apart; the first begins at `start`.
 */
static void locate(uint t, uint blocks, uint plane, ulong start, ulong stride,
                   private ulong *places, private uint *sizes)
{
    const uint row = quotient(t, blocks);
    uint begin = (t - row * blocks) * BLOCK;
    ulong place = start + row * stride;
    for (uint j = 0; j < BATCH; ++j) {
        places[j] = place + begin;
        sizes[j] = min((uint)BLOCK, plane - begin);
        begin += BLOCK;
        if (begin >= plane) {
            begin = 0;
            place += stride;
        }
    }
}

/* Folds the lanes of every block of the batch: their sum in the order of doc/order.md, or the largest. */
#ifdef REVERSED_LANES
/* For tests: folding in another order, 1, 2, 4, 8, must give other bits. */
#define LANES_IN_ORDER(v) ((v).s084c2a6e195d3b7f)
#else
#define LANES_IN_ORDER(v) (v)
#endif
#define FOLD_BATCH(name, fold)                                                                     \
    static real name(private real *v)                                                              \
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
#define ADDED(a, b) ((a) + (b))
FOLD_BATCH(fold_batch, ADDED)
FOLD_BATCH(largest_of_batch, larger)

/*
 * `places` has two halves, of the current batch (at `now`) and of the next. The index of the block
 * to prefetch while block j is summed: a batch ahead if blocks are short, else half a batch (8 kB).
 * After the last batch the result is an index of any block.
 */
static uint ahead_of(uint now, uint j, uint plane)
{
    return (now + j + (plane < BLOCK ? BATCH : BATCH >> 1)) & (2 * BATCH - 1);
}

/* Moves the pivots of the blocks under the mask to their means. */
static void move_pivots(ints mask, real sums, uints sizes, float last_reciprocal,
                        private float *pivots)
{
    const real reciprocals = select((real)last_reciprocal, (real)BLOCK_RECIPROCAL,
                                    MASK(sizes == BLOCK));
    const real all = vload16(0, pivots);
    vstore16(select(all, moved_pivot(all, sums, reciprocals), mask), 0, pivots);
}

/*
 * Writes the accumulators of the work-group's channels to `out`. A channel's is the sum of
 * `per_channel` neighbouring components. `all` has room for all components.
 */
static void store_batch(private wides *components, private ints *flags, uint channels,
                        uint per_channel, private long *all, global long *out)
{
    for (int set = 0; set < SETS; ++set)
        carry_sums(components + set * PASS_LIMBS);
    for (int k = 0; k < PASS_LENGTH; ++k) {
        const bool is_limb = k < PASS_LIMBS;
        for (int set = 0; set < SETS; ++set)
            vstore16(is_limb ? components[set * PASS_LIMBS + k] : convert_long16(flags[set]), set,
                     all);
        for (uint i = 0; i < channels; ++i) {
            long total = 0, either = 0;
            for (uint t = i * per_channel; t < (i + 1) * per_channel; ++t) {
                total += all[t];
                either |= all[t];
            }
            out[i * PASS_LENGTH + k] = is_limb ? total : either;
        }
    }
    /* Carries the limbs of both sums. */
    for (uint i = 0; i < channels; ++i, out += PASS_LENGTH)
        for (int k = 0; k + 1 < PASS_LIMBS; ++k) {
            if (k + 1 == PASS_LIMBS1)
                continue;
            out[k + 1] += out[k] >> LIMB_BITS;
            out[k] &= LIMB_MASK;
        }
}
