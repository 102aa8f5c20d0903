/*
 * GPU form, step 1, planes of one element: sums x, or x and dy, into accumulators. Each element is a block, and its
 * pivot: only the terms x and x^2 are left, or dy and dy (x - mean). The kernels are in reduce.cl; work_group.cl
 * lists what the pass's file gives.
 *
 * Work-group (strip of 2^log2_strip channels; slice of `per_slice` rows). A work-item has one channel; the work-items
 * of a channel take runs of RUN rows in turn. The elements of a run within SPAN bits of its largest are summed in
 * int64s, in units of the lowest bit; others, which are rare, are added as blocks. The accumulators are the same.
 */
/* Sums an element as a block, and returns whether it does not fit. */
static bool sum_one(private const pass_tensors *tensors, block_place column, uint row,
                    pass_line line, uint thin, float faint, private float *pivot,
                    private pass_sums *sums)
{
    float largest = 0.0f;
    pass_elements one;
    pass_load(&one, 0, tensors, column, row);
    *pivot = pass_value(&one, 0, line);
    pass_clear(sums);
    pass_add(sums, &largest, &one, 0, true, *pivot, line);
    return pass_misses(1, pivot, pass_mean(line), sums, largest, thin, faint);
}

/* Adds one element as a block, and returns whether it does not fit. */
static bool add_one(private long *limbs, private const pass_tensors *tensors, block_place column,
                    uint row, pass_line line, uint thin, float faint)
{
    float pivot;
    pass_sums sums;
    const bool out = sum_one(tensors, column, row, line, thin, faint, &pivot, &sums);
    ONE_BY_ONE for (uint part = 0; part < PARTS; ++part)
        pass_add_part(limbs + (part < PASS_FIRST_PARTS ? 0 : PASS_LIMBS1), part, 1, pivot, &sums);
    return out;
}

/*
 * Adds the elements that do not fit, of which there are some, to the wide accumulator. Returns their
 * flags. In a loop of its own, which takes no registers from the main one.
 */
static int add_misses(private const pass_tensors *tensors, block_place column, uint from, uint stop,
                      uint step, pass_line line, uint thin, float faint, global long *wide)
{
    int flags = 0;
    ONE_BY_ONE for (uint run = from; run < stop; run += step)
        ONE_BY_ONE for (uint row = run; row < min(run + RUN, stop); ++row)
        {
            float pivot;
            pass_sums sums;
            const block_place own = {column.place + (ulong)row * tensors->walk.stride,
                                     row AND_BIT(pass_bit(tensors, column, row))};
            if (sum_one(tensors, column, row, line, thin, faint, &pivot, &sums))
                flags |= add_again(tensors, own, 1, 1.0f, line, wide);
        }
    return flags;
}

/*
 * Adds the accumulators of a work-group in which work-item i has channel i mod strip, number c of
 * the tensor, and writes them: `count` limbs, and the flags, which all_flags has already.
 */
static void store_strip(private long *limbs, uint count, local long *words,
                          local const int *all_flags, uint strip, uint c, uint channels,
                          global long *out)
{
    const uint item = get_local_id(0);
    long below = 0;
    UNROLL for (uint k = 0; k < count; k += WORDS_AT_ONCE)
    {
        /* A work-item has read the words before these of itself alone. */
        UNROLL for (uint w = 0; w < WORDS_AT_ONCE; ++w)
            words[w * ITEMS + item] = k + w < count ? limbs[k + w] : 0;
        add_words(words, item, ITEMS >> 1, strip);
        if (item < strip && c < channels)
            UNROLL for (uint w = 0; w < WORDS_AT_ONCE; ++w) if (k + w < count) {
                    const long sum = words[w * ITEMS + item];
                    out[k + w] = carried_word(k + w, sum, below);
                    below = sum;
                }
    }
    if (item < strip && c < channels)
        out[count] = all_flags[item];
}

/* The body of a kernel, which has the local memory: WORDS_SIZE words, and flags of ITEMS. */
static INLINED void reduce_rows(private const pass_tensors *tensors, SLICE_PARAMETERS,
                                local long *words, local int *all_flags)
{
    const uint item = get_local_id(0), strip = 1u << log2_strip, column = item & (strip - 1);
    const uint first = get_group_id(0) << log2_strip, c = first + column;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(units, begin + per_slice);
    const uint own_channel = min(c, channels - 1);
    pass_line line;
    pass_line_of(tensors, own_channel, c, &line);
    long limbs[PASS_LIMBS];
    int flags = 0;
    bool misses_some = false;
    zero_limbs(limbs, PASS_LIMBS);
    all_flags[item] = 0;
    const uint from = c < channels ? begin + (item >> log2_strip) * RUN : stop;
    const uint step = (ITEMS >> log2_strip) * RUN;
    const block_place column_place = {own_channel, 0 AND_BIT(own_channel)};
    const float faint = thin ? pass_faint(tensors, own_channel, channels) : PASS_CLEAR;
    pass_elements elements;
    /* Loads past the slice's end read its last row instead; the values are not used. */
    UNROLL for (uint k = 0; k < RUN; ++k)
        pass_load(&elements, k, tensors, column_place, min(from + k, stop - 1));
    for (uint row = from, added = 0; row < stop; row += step) {
        uint others = pass_add_run(limbs, &elements, min((uint)RUN, stop - row), line, faint);
        ONE_BY_ONE for (uint k = 0; others != 0; ++k, others >>= 1)
            if (others & 1)
                misses_some |= add_one(limbs, tensors, column_place, row + k, line, thin, faint);
        UNROLL for (uint k = 0; k < RUN; ++k)
            pass_load(&elements, k, tensors, column_place, min(row + step + k, stop - 1));
        /* A run adds no more to the limbs than its elements one by one, at most LANES, would. */
        if (++added == BATCHES_TO_CARRY >> LOG2_LANES) {
            carry_sums(limbs);
            added = 0;
        }
    }
    if (misses_some)
        flags = add_misses(tensors, column_place, from, stop, step, line, thin, faint,
                           wide_of(wide, own_channel));
    carry_sums(limbs);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (flags)
        atomic_or(all_flags + column, flags);
    store_strip(limbs, PASS_LIMBS, words, all_flags, strip, c, channels,
                  partial + ((ulong)slice * channels + c) * PASS_LENGTH);
}
