/*
 * CPU form, step 1: pivots of blocks, and blocks that do not fit the narrow format, which are summed around the mean
 * of all their elements. The mean cannot overflow: it is finite if and only if all elements are.
 */

/* --- channels first: reduce_nchw.cl --- */

/* Folds the lanes of one block to two halves. */
static float2 halves_of_vector(real lanes)
{
    const float8 eight = lanes.lo + lanes.hi;
    const float4 four = eight.lo + eight.hi;
    return four.lo + four.hi;
}

/*
 * A block's pivot, from its first LANES elements. It is computed just before the block is summed,
 * so that memory is read sequentially.
 */
static float pivot_of(private const pass_tensors *tensors, ulong place, uint n,
                      float last_reciprocal, pass_line line)
{
    const float2 halves = halves_of_vector(pass_summed_edge(tensors, place, 0, n, 0.0f, line) *
                                           pivot_reciprocal(n, last_reciprocal));
    return halves.lo + halves.hi;
}

/* The mean of a block, in lane order. */
static float mean_of_block(private const pass_tensors *tensors, ulong place, uint n,
                           float reciprocal, pass_line line)
{
    real lanes = 0.0f;
    uint i = 0;
    for (; i + LANES <= n; i += LANES)
        lanes = fma(pass_summed(tensors, place + i, line), (real)reciprocal, lanes);
    if (i < n)
        lanes = fma(pass_summed_edge(tensors, place, i, n, 0.0f, line), (real)reciprocal, lanes);
    const float2 halves = halves_of_vector(lanes);
    return mean_of_halves(halves.lo, halves.hi).s0;
}

/* --- channels last: reduce_nhwc.cl --- */

/* The pivots of WIDTH channels. */
static real pivot_of_rows(private const pass_tensors *tensors, ulong place, uint n,
                          uint stride, float last_reciprocal, pass_line line)
{
    real s[LANES];
    for (uint l = 0; l < LANES; ++l)
        s[l] = 0.0f;
    pass_tensors own = *tensors;
    for (uint l = 0; l < LANES && l < n; ++l, pass_skip(&own, 1))
        s[l] = pass_summed_row(&own, place + (ulong)l * stride, line) *
               pivot_reciprocal(n, last_reciprocal);
    return fold_column(s);
}

/* The means of a block of n rows in WIDTH channels. */
static real mean_of_rows(private const pass_tensors *tensors, ulong place, uint n, uint stride,
                         float reciprocal, pass_line line)
{
    real s[LANES];
    for (uint l = 0; l < LANES; ++l)
        s[l] = 0.0f;
    pass_tensors own = *tensors;
    for (uint i = 0; i < n; ++i, pass_skip(&own, 1))
        s[i & (LANES - 1)] = fma(pass_summed_row(&own, place + (ulong)i * stride, line),
                                 (real)reciprocal, s[i & (LANES - 1)]);
    real halves[2];
    fold_to_halves(s, halves);
    return mean_of_halves(halves[0], halves[1]);
}

/* --- both --- */

/* The channel of block t: `blocks` of them belong to a channel, from channel c on; 0: all to c. */
static uint channel_of_block(uint c, uint t, uint blocks)
{
    return blocks ? c + quotient(t, blocks) : c;
}

/*
 * From where on the blocks t, t + 1, ... fit. Those behind the last channel are 0 or masked, so that
 * any number does for them.
 */
static real faints_of(private const pass_tensors *tensors, uint c, uint t, uint blocks, uint total)
{
    float each[WIDTH];
    for (uint j = 0; j < WIDTH; ++j)
        each[j] = pass_faint(tensors, min(channel_of_block(c, t + j, blocks), total - 1), total);
    return vload16(0, each);
}

/*
 * Adds the blocks under the mask, of n elements each, to WIDE_LIMBS limbs and returns their flags. `pivots` are the
 * means around which they were summed; those that are not finite say what the elements are.
 */
static ints sum_blocks_wide(ints mask, uints n, real pivots, private const pass_sums *sums,
                            private wides *limbs)
{
    const ints flags = flags_of(pivots), none = (flags != 0) | (mask == 0);
    return (flags | (pass_add_wide(limbs, n, pivots, none, sums) & (flags == 0))) & mask;
}

/* Adds `count` components to the wide accumulators of the channels of their blocks, t, t + 1, ... */
static void store_wide(private const wides *limbs, uint count, uint c, uint t, uint blocks,
                       global long *wide)
{
    for (uint k = 0; k < WIDE_LIMBS; ++k) {
        long each[WIDTH];
        if (!ANY(limbs[k] != 0))
            continue;
        vstore16(limbs[k], 0, each);
        for (uint j = 0; j < WIDTH && j < count; ++j)
            if (each[j] != 0)
                add_word(wide_of(wide, channel_of_block(c, t + j, blocks)) + k, each[j]);
    }
}

/* Adds the blocks t, t + 1, ... that are under the mask, and returns their flags. */
static ints add_blocks_wide(ints mask, uints n, real pivots, private const pass_sums *sums, uint c,
                            uint t, uint blocks, global long *wide)
{
    wides limbs[WIDE_LIMBS];
    zero_limbs(limbs, WIDE_LIMBS);
    const ints flags = sum_blocks_wide(mask, n, pivots, sums, limbs);
    store_wide(limbs, WIDTH, c, t, blocks, wide);
    return flags;
}
