/*
 * CPU form, step 1, channels last: the strips of reduce_nhwc.cl whose planes have one element. rows_of_one.cl has the
 * ranges.
 */
#if SUMS_DOUBLES
/*
 * Of the rows of a mask: the channels whose largest element or term does not fit the narrow format, or whose elements
 * are all too small for it, and the ranges, in which the largest terms are less than 2^7.
 */
static void find_ranges(private ones_ranges *r, private const pass_tensors *tensors, ulong place,
                        ulong rows, uint stride, pass_line line, real faint)
{
    real largest = 0.0f, highest = 0.0f;
    for (uint i = 0; i < ONES_AT_ONCE; ++i) {
        if (!(rows >> i & 1))
            continue;
        const ulong at = place + (ulong)i * stride;
        pass_tensors own = *tensors;
        pass_skip(&own, i);
        const real v = pass_summed_row(&own, at, line);
        largest = larger(fabs(v), largest);
        highest = larger(pass_term(&own, at, v, line), highest);
    }
    const ints over = reaches(largest, PASS_LIMIT_PIVOT) |
                      reaches(highest, 2.0f * PASS_LIMIT_SECOND);
    /* Infinite terms are lost: the ranges of such channels are not moved. */
    const ints moved = (largest < INFINITY) & (highest < INFINITY) & r->present;
    r->mask = moved & (over | ((largest < faint) & (largest > 0.0f)));
    /* Those of the narrow format are moved only up. */
    const ints lowest = select((ints)0, (ints)-256, r->mask);
    r->first = moved & max((AS(int, largest) >> 23) - (127 + 6), lowest);
    r->second = moved & max((AS(int, highest) >> 23) - (127 + 6), lowest);
}
#endif

/*
 * Planes of one element: adds the rows from `begin` to before `stop` of `width` channels from c on;
 * each element is a block.
 */
static void sum_rows_of_one(private wides *limbs, private ints *flags,
                            private const pass_tensors *tensors,
                            private const pass_line *lines, uint begin, uint stop, uint c,
                            uint width, uint stride, global long *wide, uint thin)
{
    for (uint row = begin; row < stop; row += ONES_AT_ONCE) {
        const ulong from = (ulong)row * stride + c;
        const uint count = min((uint)ONES_AT_ONCE, stop - row);
        pass_tensors of_rows = *tensors;
        pass_skip(&of_rows, row);
        pass_touch_rows(&of_rows, from, count, width, stride);
        for (uint v = 0; v * WIDTH < width; ++v) {
            private wides *own = limbs + v * PASS_LIMBS;
            const uint first = c + v * WIDTH;
            const real faint = thin ? faints_of(tensors, first, 0, 1, stride) : (real)PASS_CLEAR;
            ulong left = ~0UL >> (ONES_AT_ONCE - count);
            ints own_flags = 0;
            wides own_wide[WIDE_LIMBS];
#if SUMS_DOUBLES
            const ulong place = from + v * WIDTH;
            ones_ranges ranges = {existing(v, width), 0, 0, 0, own_wide};
            left = pass_add_ones(own, &ranges, &of_rows, lines[v], place, left, true, stride,
                                 faint);
            if (left)
                zero_limbs(own_wide, WIDE_LIMBS);
            ONE_BY_ONE for (uint turn = 0; left && turn < 2; ++turn) {
                find_ranges(&ranges, &of_rows, place, left, stride, lines[v], faint);
                left = pass_add_ones(own, &ranges, &of_rows, lines[v], place, left, false, stride,
                                     faint);
                own_flags |= ranges.mask & FLAG_WIDE;
            }
#else
            zero_limbs(own_wide, WIDE_LIMBS);
#endif
            for (uint i = 0; i < count; ++i) {
                if (!(left >> i & 1))
                    continue;
                const ulong at = from + (ulong)i * stride + v * WIDTH;
                pass_tensors of_row = of_rows;
                pass_skip(&of_row, i);
                const real pivot = pass_summed_row(&of_row, at, lines[v]);
                pass_sums sums;
                pass_clear(&sums);
                pass_add_row(&sums, &of_row, at, pivot, lines[v]);
                const real means = pass_mean(lines[v]);
                const ints out = pass_add_block(own, 1, pivot, means, thin, faint, &sums) &
                                 existing(v, width);
                if (ANY(out)) /* the element is its block's mean */
                    own_flags |= sum_blocks_wide(out, 1, pivot, &sums, own_wide);
            }
            if (ANY(own_flags != 0))
                store_wide(own_wide, width - v * WIDTH, first, 0, 1, wide);
            flags[v] |= own_flags;
            carry_sums(own);
        }
    }
}
