/*
 * CPU form, step 1, channels last: the strips of reduce_nhwc.cl whose planes have one element, as rows_of_one.cl says.
 */
#if SUMS_DOUBLES
/*
 * Adds the terms that fit the narrow format, and returns a mask of the rows that have others, whose channels and
 * largest terms it gives; `odd`: a mask of the rows that are not added.
 */
static ulong add_fitting(private wides *limbs, private const ones_rows *rows, private ulong *odd,
                         private ints *channels, private double16 *largest)
{
    ulong others = 0;
    for (uint i = 0; i < rows->count; ++i) {
        ones_terms t;
        pass_terms(&t, rows, i);
        if (ANY(t.odd & rows->present)) {
            *odd |= 1UL << i;
            continue;
        }
        const ints some = t.out & rows->present;
        const wides out = convert_long16(some);
        if (ANY(some)) {
            others |= 1UL << i;
            *channels |= some;
            largest[0] = larger_double(largest[0], where(out, fabs(t.first)));
            largest[1] = larger_double(largest[1], where(out, fabs(t.second)));
            if (!ANY(~t.out & rows->present))
                continue;
        }
        add_double(limbs, PASS_LOW1, PASS_TERM_LIMBS1, where(~out, t.first));
        add_double(limbs + PASS_LIMBS1, PASS_LOW2, PASS_TERM_LIMBS2,
                   without_bits(where(~out, t.second), PASS_LOW2));
    }
    return others;
}

/* Adds the terms of these rows that do not fit to wide limbs. `largest`: of those that are not added yet. */
static void add_windows(private wides *limbs, private const ones_rows *rows, ulong others,
                        private double16 *largest)
{
    while (ANY((largest[0] > 0.0) | (largest[1] > 0.0))) {
        uwides sums1[PASS_DIGITS1] = {0}, sums2[PASS_DIGITS2] = {0};
        const ints top1 = top_of(largest[0]), top2 = top_of(largest[1]);
        const double16 scale1 = power_of_two(-top1), scale2 = power_of_two(-top2);
        const bool cuts = ANY(top2 - DIGITS_END(PASS_DIGITS2) < -WIDE_LOW2);
        double16 below1 = 0, below2 = 0;
        for (uint i = 0; i < ONES_AT_ONCE - (uint)clz(others); ++i) {
            ones_terms t;
            if (!(others >> i & 1))
                continue;
            pass_terms(&t, rows, i);
            /* A channel that does not exist has nothing in its window. */
            const wides out = convert_long16(t.out);
            if (cuts)
                t.second = without_bits(t.second, WIDE_LOW2);
            split(sums1, PASS_DIGITS1, where(out, t.first) * scale1, RANGE1, &below1);
            split(sums2, PASS_DIGITS2, where(out, t.second) * scale2, RANGE2, &below2);
        }
        add_split(limbs, WIDE_LIMBS1, sums1, PASS_DIGITS1, popcount(others), top1 + WIDE_LOW1);
        add_split(limbs + WIDE_LIMBS1, WIDE_LIMBS2, sums2, PASS_DIGITS2, popcount(others),
                  top2 + WIDE_LOW2);
        largest[0] = below1 * power_of_two(top1);
        largest[1] = below2 * power_of_two(top2);
    }
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
            const ones_rows rows = {&of_rows, from + v * WIDTH, count, stride, thin,
                                    existing(v, width), lines[v], faint};
            ints own_flags = 0;
            wides own_wide[WIDE_LIMBS];
#if SUMS_DOUBLES
            ulong left = 0;
            if (!pass_add_ones(own, &rows)) {
                ints channels = 0;
                double16 largest[2] = {0, 0};
                const ulong others = add_fitting(own, &rows, &left, &channels, largest);
                zero_limbs(own_wide, WIDE_LIMBS);
                add_windows(own_wide, &rows, others, largest);
                own_flags = channels & FLAG_WIDE;
            }
#else
            ulong left = ~0UL >> (ONES_AT_ONCE - count);
            zero_limbs(own_wide, WIDE_LIMBS);
#endif
            for (uint i = 0; left != 0; ++i, left >>= 1) {
                if (!(left & 1))
                    continue;
                const ulong at = rows.place + (ulong)i * stride;
                pass_tensors of_row = of_rows;
                pass_skip(&of_row, i);
                const real pivot = pass_summed_row(&of_row, at, lines[v]);
                pass_sums sums;
                pass_clear(&sums);
                pass_add_row(&sums, &of_row, at, pivot, lines[v]);
                const real means = pass_mean(lines[v]);
                const ints out = pass_add_block(own, 1, pivot, means, thin, faint, &sums) &
                                 rows.present;
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
