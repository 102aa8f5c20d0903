/*
 * GPU form, step 1, planes of one element: tensors -> accumulators. One text for both passes. Each
 * element is a block, and its pivot: only the terms x and x^2 are left, or dy and dy (x - mean).
 *
 * Work-group (strip of 2^log2_strip channels; slice of `per_slice` rows). A work-item has one
 * channel; the work-items of a channel take runs of RUN rows in turn. The elements of a run within
 * SPAN bits of its largest are summed in int64s, in units of the lowest bit; others, which are
 * rare, are added as blocks. The accumulators are the same.
 */
/* Adds one element as a block. */
static void PASS(add_one)(private long *limbs, private int *flags,
                          private const PASS(tensors) *tensors, block_place column, uint row,
                          PASS(line) line)
{
    PASS(elements) one;
    PASS(sums) sums;
    PASS(load)(&one, 0, tensors, column, row);
    float pivot = PASS(value)(&one, 0, line), largest = 0.0f;
    PASS(clear)(&sums);
    PASS(add)(&sums, &largest, &one, 0, true, pivot, line);
    bool unknown;
    *flags |= PASS(limit)(&pivot, PASS(mean)(line), &sums, largest, &unknown);
    UNROLL for (uint part = 0; part < PARTS; ++part)
        PASS(add_part)(limbs + (part < PASS_FIRST_PARTS ? 0 : PASS_LIMBS1), part, 1, pivot, &sums);
    if (unknown) {
        const block_place block = {column.place + (ulong)row * tensors->walk.stride,
                                   row AND_BIT(PASS(bit)(tensors, column, row))};
        *flags |= PASS(flags_of_elements)(tensors, block, 1, line);
    }
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void PASS(reduce_rows)(PASS_ARGUMENTS, uint channels, uint plane, uint blocks, uint units,
                       uint log2_strip, uint per_slice, float last_reciprocal,
                       global long *restrict partial REPEAT_ARGUMENT)
{
    local long words[WORDS_SIZE];
    local int all_flags[ITEMS];
    const uint item = get_local_id(0), strip = 1u << log2_strip, column = item & (strip - 1);
    const uint first = get_group_id(0) << log2_strip, c = first + column;
    if (NONE_REPEATS(first, min(strip, channels - first)))
        return;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(units, begin + per_slice);
    const PASS(tensors) tensors = PASS_TENSORS(channels, channels, 1);
    PASS(line) line;
    PASS(line_of)(&tensors, min(c, channels - 1), c, &line);
    long limbs[PASS_LIMBS];
    int flags = 0;
    zero_limbs(limbs, PASS_LIMBS);
    all_flags[item] = 0;
    const uint from = c < channels ? begin + (item >> log2_strip) * RUN : stop;
    const uint step = (ITEMS >> log2_strip) * RUN;
    const uint own_channel = min(c, channels - 1);
    const block_place column_place = {own_channel, 0 AND_BIT(own_channel)};
    PASS(elements) elements;
    /* Loads past the slice's end read its last row instead; the values are not used. */
    UNROLL for (uint k = 0; k < RUN; ++k)
        PASS(load)(&elements, k, &tensors, column_place, min(from + k, stop - 1));
    for (uint row = from, added = 0; row < stop; row += step) {
        uint others = PASS(add_run)(limbs, &flags, &elements, min((uint)RUN, stop - row), line);
        UNROLL for (uint k = 0; k < RUN; ++k)
            PASS(load)(&elements, k, &tensors, column_place, min(row + step + k, stop - 1));
        for (uint k = 0; others != 0; ++k, others >>= 1)
            if (others & 1)
                PASS(add_one)(limbs, &flags, &tensors, column_place, row + k, line);
        /* A run adds no more to the limbs than its elements one by one, at most LANES, would. */
        if (++added == BATCHES_TO_CARRY >> LOG2_LANES) {
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

/* The other pass may follow. */
#undef PASS
#undef PASS_ARGUMENTS
#undef PASS_TENSORS
#undef PASS_TENSOR_COUNT
#undef PASS_SUMS
#undef PASS_FIRST_PARTS
#undef PASS_LIMBS1
#undef PASS_LIMBS2
