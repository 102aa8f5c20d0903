/*
 * Step 1, channels last, GPU form: tensors -> accumulators. One text for both passes:
 * reduce_forward.cl or reduce_backward.cl, which stands before it, says what PASS reads, sums and
 * adds.
 *
 * Work-group (strip of NHWC_STRIP channels at most, slice), a slice being `per_slice` of the
 * samples x blocks blocks (reduce_rows.cl). The accumulator of channel c goes to
 * partial[(slice * channels + c) * PASS_LENGTH]; reduce_slices.cl adds the slices.
 */
kernel __attribute__((reqd_work_group_size(NHWC_ITEMS, NHWC_ROWS, 1)))
void PASS(reduce_nhwc)(PASS_ARGUMENTS, uint samples, uint channels, uint plane, uint blocks,
                       uint strip, uint per_slice, float last_reciprocal,
                       global long *restrict partial REPEAT_ARGUMENT)
{
    local float lanes[PASS_SUMS * COLUMN_SIZE];
    local long all[NHWC_ROWS * NHWC_ITEMS];
    const uint c = get_global_id(0), item = get_local_id(0), row = get_local_id(1);
    const bool exists = c < channels;
    if (NONE_REPEATS(c - item, min((uint)NHWC_ITEMS, channels - (c - item))))
        return;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(samples * blocks, begin + per_slice);
    const PASS(tensors) tensors = PASS_TENSORS((ulong)samples * plane * channels);
    const float mean = exists ? PASS(mean)(&tensors, c) : 0.0f;
    wides limbs[PASS_LIMBS];
    ints flags = 0;
    zero_limbs(limbs, PASS_LIMBS);
    for (uint batch = begin, added = 0; batch < stop; batch += NHWC_ROWS) {
        /* The block that this row of work-items will add. */
        uint own_n = 0;
        float own_pivot = 0.0f;
        PASS(sums) own;
        PASS(clear)(&own);
        ulong own_place = 0;
        for (uint number = batch; number < min(stop, batch + NHWC_ROWS); ++number) {
            const uint sample = quotient(number, blocks);
            const uint start = (number - sample * blocks) * BLOCK;
            const uint n = min((uint)BLOCK, plane - start);
            const ulong place = ((ulong)sample * plane + start) * channels + c;
            const float pivot = pivot_of_rows(tensors.summed + place, n, channels, last_reciprocal,
                                              exists, lanes);
            for (uint l = row; l < LANES; l += NHWC_ROWS) {
                const uint steps = exists ? (n + LANES - 1 - l) >> LOG2_LANES : 0;
                PASS(sums) sums;
                PASS(clear)(&sums);
                UNROLL_4
                for (uint step = 0, i = l; step < steps; ++step, i += LANES)
                    PASS(add)(&sums, &tensors, place + (ulong)i * channels, pivot, mean);
                PASS(keep_lanes)(lanes, COLUMN_SIZE, l * COLUMN + item, &sums);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (exists && number - batch == row) {
                const PASS(sums) sums = PASS_FOLD(fold_column, largest_of_column, lanes,
                                                  COLUMN_SIZE);
                own = sums;
                own_place = place;
                own_n = n;
                own_pivot = pivot;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (PASS(add_block)(limbs, &flags, own_n, own_pivot, mean, &own))
            flags |= flags_of(mean_of_block(tensors.summed + own_place, own_n, channels,
                                            reciprocal(own_n, last_reciprocal)));
        if (++added == BATCHES_TO_CARRY) {
            carry_sums(limbs, PASS_LIMBS1, PASS_LIMBS2);
            added = 0;
        }
    }
    store_rows(limbs, flags, PASS_LIMBS1, PASS_LIMBS2, exists, all,
               partial + ((ulong)slice * channels + c) * PASS_LENGTH);
}

/* Another pass may follow. */
#undef PASS
#undef PASS_ARGUMENTS
#undef PASS_TENSORS
#undef PASS_FOLD
#undef PASS_SUMS
#undef PASS_READS_MEANS
#undef PASS_TILE_STEPS
#undef PASS_LANE_SUMS
#undef PASS_LIMBS1
#undef PASS_LIMBS2
