/*
 * Step 1, channels last: tensors -> accumulators. One text for both passes: reduce_forward.cl or
 * reduce_backward.cl, which stands before it, says what PASS reads, sums and adds.
 *
 * Work-group (strip of NHWC_STRIP channels at most, slice), a slice being `per_slice` of the
 * samples x blocks blocks (reduce_rows.cl). The accumulator of channel c goes to
 * partial[(slice * channels + c) * PASS_LENGTH]; reduce_slices.cl adds the slices.
 */
#if CPU_FORM
/* The lanes of two vectors of channels, over the rows of a block; PASS_ABREAST of them at once. */
static void PASS(sum_rows)(private const PASS(tensors) *tensors, ulong place, uint n, uint stride,
                           private const real *pivots, private const real *means,
                           private real *lanes, private block_lines *ahead, uint width)
{
    for (uint l = 0; l < LANES; ++l)
        for (uint v = 0; v < 2; v += PASS_ABREAST) {
            PASS(sums) sums[PASS_ABREAST];
#pragma unroll
            for (uint w = 0; w < PASS_ABREAST; ++w)
                PASS(clear)(&sums[w]);
            for (uint i = l; i < n; i += LANES) {
                const ulong at = place + (ulong)i * stride + v * WIDTH;
#pragma unroll
                for (uint w = 0; w < PASS_ABREAST; ++w)
                    PASS(prefetch)(tensors, next_line(ahead, width, stride));
#pragma unroll
                for (uint w = 0; w < PASS_ABREAST; ++w)
                    PASS(add_row)(&sums[w], tensors, at + w * WIDTH, pivots[v + w], means[v + w]);
            }
#pragma unroll
            for (uint w = 0; w < PASS_ABREAST; ++w)
                PASS(keep_lanes)(lanes, 2 * LANES, (v + w) * LANES + l, &sums[w]);
        }
}

/* Planes of one element: adds `rows` rows of `width` channels, each row a block of one. */
static void PASS(sum_rows_of_one)(private wides *limbs, private ints *flags,
                                  private const PASS(tensors) *tensors, private const real *means,
                                  ulong place, uint rows, uint width, uint stride)
{
    for (uint row = 0; row < rows; row += ONES_AT_ONCE) {
        const ulong from = place + (ulong)row * stride;
        const uint count = min((uint)ONES_AT_ONCE, rows - row);
        PASS(touch_rows)(tensors, from, count, width, stride);
        for (uint v = 0; v * WIDTH < width; ++v) {
            private wides *own = limbs + v * PASS_LIMBS;
            int added = 0;
#if DOUBLES
            added = PASS(add_ones)(own, flags + v, tensors, means[v], from + v * WIDTH, count,
                                   stride);
#endif
            for (uint i = 0; i < count && !added; ++i) {
                const ulong at = from + (ulong)i * stride + v * WIDTH;
                const real pivot = load_row(tensors->summed + at, tensors->summed_end);
                PASS(sums) sums;
                PASS(clear)(&sums);
                PASS(add_row)(&sums, tensors, at, pivot, means[v]);
                const ints unknown = PASS(add_block)(own, flags + v, 1, pivot, means[v], &sums);
                if (ANY(unknown))
                    flags[v] |= flags_of_rows(unknown, tensors->summed + at, 1, stride, 1.0f,
                                              tensors->summed_end);
            }
            carry_sums(own, PASS_LIMBS1, PASS_LIMBS2);
        }
    }
}

kernel __attribute__((reqd_work_group_size(NHWC_ITEMS, NHWC_ROWS, 1)))
void PASS(reduce_nhwc)(PASS_ARGUMENTS, uint samples, uint channels, uint plane, uint blocks,
                       uint strip, uint per_slice, float last_reciprocal,
                       global long *restrict partial REPEAT_ARGUMENT)
{
    const uint c = get_group_id(0) * strip, width = min(strip, channels - c);
    if (NONE_REPEATS(c, width))
        return;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(samples * blocks, begin + per_slice);
    const PASS(tensors) tensors = PASS_TENSORS((ulong)samples * plane * channels);
    real lanes[PASS_SUMS * 2 * LANES], pivots[2], means[VECTORS];
    wides limbs[VECTORS * PASS_LIMBS];
    ints flags[VECTORS];
    for (uint v = 0; v < VECTORS; ++v)
        means[v] = 0.0f;
    for (uint v = 0; v * WIDTH < width; ++v) {
        zero_limbs(limbs + v * PASS_LIMBS, PASS_LIMBS);
        flags[v] = 0;
        means[v] = PASS(row_means)(&tensors, c + v * WIDTH, channels);
    }
    if (plane == 1)
        PASS(sum_rows_of_one)(limbs, flags, &tensors, means, (ulong)begin * channels + c,
                              stop - begin, width, channels);
    for (uint number = begin, added = 0; plane > 1 && number < stop; ++number) {
        const uint sample = quotient(number, blocks), start = (number - sample * blocks) * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        const ulong place = ((ulong)sample * plane + start) * channels + c;
        block_lines ahead = lines_of(number + 1, stop, blocks, plane, c, width, channels);
        for (uint v = 0; v * WIDTH < width; v += 2) {
            for (uint w = 0; w < 2; ++w)
                pivots[w] = pivot_of_rows(tensors.summed + place + (v + w) * WIDTH, n, channels,
                                          last_reciprocal, tensors.summed_end);
            PASS(sum_rows)(&tensors, place + v * WIDTH, n, channels, pivots, means + v, lanes,
                           &ahead, width);
            for (uint w = 0; w < 2 && (v + w) * WIDTH < width; ++w) {
                const PASS(sums) sums = PASS_FOLD(fold_column, largest_of_column, lanes + w * LANES,
                                                  2 * LANES);
                const ints unknown = PASS(add_block)(limbs + (v + w) * PASS_LIMBS, flags + v + w, n,
                                                     pivots[w], means[v + w], &sums);
                if (ANY(unknown))
                    flags[v + w] |= flags_of_rows(unknown, tensors.summed + place + (v + w) * WIDTH,
                                                  n, channels, last_reciprocal, tensors.summed_end);
            }
        }
        if (++added == BATCHES_TO_CARRY) {
            for (uint v = 0; v * WIDTH < width; ++v)
                carry_sums(limbs + v * PASS_LIMBS, PASS_LIMBS1, PASS_LIMBS2);
            added = 0;
        }
    }
    global long *out = partial + ((ulong)slice * channels + c) * PASS_LENGTH;
    for (uint v = 0; v * WIDTH < width; ++v)
        store_rows(limbs + v * PASS_LIMBS, flags[v], PASS_LIMBS1, PASS_LIMBS2, width - v * WIDTH,
                   out + v * WIDTH * PASS_LENGTH);
}
#else
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
#endif

/* Another pass may follow. */
#undef PASS
#undef PASS_ARGUMENTS
#undef PASS_TENSORS
#undef PASS_FOLD
#undef PASS_SUMS
#undef PASS_READS_MEANS
#undef PASS_ABREAST
#undef PASS_LIMBS1
#undef PASS_LIMBS2
