/*
 * GPU form, step 1, channels last: tensors -> accumulators. One text for both passes: the file before
 * it says what PASS reads and sums.
 *
 * Work-group (strip of 2^log2_strip channels; slice): a slice is `per_slice` of the `units` blocks of
 * all samples. An item has one channel and takes every rows-th of the slice's blocks, where rows =
 * ITEMS / strip: neighbouring items neighbouring channels. It goes down a block in the order of
 * memory, with all of the block's lanes in registers and the next LANES elements under way; the
 * first LANES make the pivot. Items meet once, when those of a channel add up.
 *
 * The accumulator of channel c goes to partial[(slice * channels + c) * PASS_LENGTH]; add_slices.cl
 * adds the slices.
 */

/* Loads the LANES rows from i on; behind the block's end its last one, which is not used. */
static void PASS(load_rows)(private PASS(elements) *elements,
                            private const PASS(tensors) *tensors, ulong place, uint i, uint n,
                            uint channels)
{
    UNROLL for (uint l = 0; l < LANES; ++l)
        PASS(load)(elements, l, tensors, place + (ulong)min(i + l, n - 1) * channels);
}

#if WIDE
/* The mean of a block, in the order of lanes. */
static float PASS(mean_of_column)(private const PASS(tensors) *tensors, ulong place, uint n,
                                  uint channels, float share)
{
    float sums[LANES];
    UNROLL for (uint l = 0; l < LANES; ++l)
        sums[l] = 0.0f;
    for (uint i = 0; i < n; i += LANES)
        UNROLL for (uint l = 0; l < LANES; ++l)
        {
            const ulong at = place + (ulong)min(i + l, n - 1) * channels;
            const float v = load_element(tensors->summed, at);
            sums[l] = i + l < n ? fma(v, share, sums[l]) : sums[l];
        }
    return fold_lanes(sums);
}
#endif

/* The pivot of a block, whose first rows are loaded. */
static float PASS(pivot_of_column)(private const PASS(elements) *elements,
                                   private const PASS(tensors) *tensors, ulong place, uint n,
                                   uint channels, float last_reciprocal)
{
#if WIDE
    return PASS(mean_of_column)(tensors, place, n, channels, reciprocal(n, last_reciprocal));
#else
    float lanes[LANES];
    UNROLL for (uint l = 0; l < LANES; ++l)
        lanes[l] = l < n ? elements->summed[l] * pivot_reciprocal(n, last_reciprocal) : 0.0f;
    return fold_lanes(lanes);
#endif
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void PASS(reduce_columns)(PASS_ARGUMENTS, uint channels, uint plane, uint blocks, uint units,
                          uint log2_strip, uint per_slice, float last_reciprocal,
                          global long *restrict partial)
{
    local long words[WORDS_SIZE];
    local int all_flags[ITEMS];
    const uint item = get_local_id(0), strip = 1u << log2_strip, column = item & (strip - 1);
    const uint c = (get_group_id(0) << log2_strip) + column;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(units, begin + per_slice);
    const PASS(tensors) tensors = PASS_TENSORS;
    const float mean = PASS(mean)(&tensors, min(c, channels - 1));
    long limbs[PASS_LIMBS];
    int flags = 0;
    zero_limbs(limbs, PASS_LIMBS);
    all_flags[item] = 0;
    const uint from = c < channels ? begin + (item >> log2_strip) : stop;
    for (uint unit = from, added = 0; unit < stop; unit += ITEMS >> log2_strip) {
        const uint sample = blocks == 1 ? unit : quotient(unit, blocks);
        const uint start = (unit - sample * blocks) * BLOCK, n = min((uint)BLOCK, plane - start);
        const ulong place = ((ulong)sample * plane + start) * channels + c;
        PASS(sums) lanes[LANES], sums;
        UNROLL for (uint l = 0; l < LANES; ++l)
            PASS(clear)(&lanes[l]);
        float pivot = 0.0f;
        for (uint i = 0; i < n; i += LANES) {
            PASS(elements) elements;
            PASS(load_rows)(&elements, &tensors, place, i, n, channels);
            if (i == 0)
                pivot = PASS(pivot_of_column)(&elements, &tensors, place, n, channels,
                                              last_reciprocal);
            UNROLL for (uint l = 0; l < LANES; ++l)
                PASS(add)(&lanes[l], &elements, l, i + l < n, pivot, mean);
        }
        bool unknown;
        PASS(fold_lanes)(&sums, lanes);
        flags |= PASS(limit)(&pivot, mean, &sums, &unknown);
        UNROLL for (uint part = 0; part < PARTS; ++part)
            PASS(add_part)(limbs + (part < PASS_FIRST_PARTS ? 0 : PASS_LIMBS1), part, n, pivot,
                           &sums);
        if (unknown)
            flags |= flags_of_elements(tensors.summed + place, n, channels);
        if (++added == BATCHES_TO_CARRY) {
            carry_sums(limbs, PASS_LIMBS1, PASS_LIMBS2);
            added = 0;
        }
    }
    carry_sums(limbs, PASS_LIMBS1, PASS_LIMBS2);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (flags)
        atomic_or(all_flags + column, flags);
    store_columns(limbs, PASS_LIMBS, words, all_flags, strip, c, channels,
                  partial + ((ulong)slice * channels + c) * PASS_LENGTH);
}
