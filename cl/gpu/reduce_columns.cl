/*
 * GPU form, step 1, channels last: sums x, or x and dy, into accumulators. The kernels are in
 * forward_reduce.cl and backward_reduce.cl; work_group.cl lists what the pass's file gives.
 *
 * Work-group (strip of 2^log2_strip channels; slice): a slice is `per_slice` of the `units` blocks
 * of all samples. A work-item has one channel, neighbouring work-items have neighbouring channels,
 * and the ITEMS / strip work-items of a channel take the slice's blocks in turn. A work-item reads
 * a block in the order of memory, with all lanes of the block in registers and the loads of the
 * next elements under way; a block whose pivot was poor it reads again. Only the final sum of a
 * channel's work-items needs barriers.
 *
 * The accumulator of channel c goes to partial[(slice * channels + c) * PASS_LENGTH]; add_slices.cl
 * adds the slices.
 */

/* Rows that are loaded together: half as many if a pass reads two tensors. */
#define DEPTH (MOST_LOADS >> (PASS_TENSOR_COUNT - 1))

#if PASS_TENSOR_COUNT > 1
/* The mean of a block's first elements, of which not all are loaded yet. */
static float pivot_of_column(private const pass_tensors *tensors, block_place block, uint n,
                             float last_reciprocal, pass_line line)
{
    float lanes[LANES];
    UNROLL for (uint l = 0; l < LANES; ++l)
        lanes[l] = pass_summed(tensors, block, min(l, n - 1), line);
    UNROLL for (uint l = 0; l < LANES; ++l)
        lanes[l] = l < n ? lanes[l] * pivot_reciprocal(n, last_reciprocal) : 0.0f;
    return fold_lanes(lanes);
}
#endif

/* Where a block of a channel begins, and how long it is. */
static block_place locate_column(private const pass_tensors *tensors, uint unit, uint blocks,
                                 uint plane, uint channels, uint c, private uint *n)
{
    const uint sample = blocks == 1 ? unit : quotient(unit, blocks);
    const uint start = (unit - sample * blocks) * BLOCK;
    *n = min((uint)BLOCK, plane - start);
    const ulong row = (ulong)sample * plane + start;
    const ulong place = row * channels + c;
    const block_place block = {place, row AND_BIT(pass_first_bit(tensors, place, row, row, plane))};
    return block;
}

/* The body of a kernel, which has the local memory: WORDS_SIZE words, and flags of ITEMS. */
static INLINED void reduce_columns(private const pass_tensors *tensors, SLICE_PARAMETERS,
                                   local long *words, local int *all_flags)
{
    const uint item = get_local_id(0), strip = 1u << log2_strip, column = item & (strip - 1);
    const uint first = get_group_id(0) << log2_strip, c = first + column;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(units, begin + per_slice);
    pass_line line;
    pass_line_of(tensors, min(c, channels - 1), c, &line);
    long limbs[PASS_LIMBS];
    int flags = 0;
    zero_limbs(limbs, PASS_LIMBS);
    all_flags[item] = 0;
    const uint from = c < channels ? begin + (item >> log2_strip) : stop;
    const uint step = ITEMS >> log2_strip, last_channel = min(c, channels - 1);
    for (uint unit = from; unit < stop;) {
        const uint sweep = unit;
        uint n, next_n, missed = 0;
        block_place block = locate_column(tensors, unit, blocks, plane, channels, last_channel, &n);
        pass_elements elements;
        float pivot = 0.0f;
        bool again = false;
        /* Loads past the block's end read its last row instead; the values are not used. */
        UNROLL for (uint k = 0; k < DEPTH; ++k)
            pass_load(&elements, k, tensors, block, min(k, n - 1));
        for (uint added = 0; unit < stop && added < SWEEP;) {
            const block_place next_block = locate_column(tensors, min(unit + step, stop - 1),
                                                         blocks, plane, channels, last_channel,
                                                         &next_n);
            pass_sums lanes[LANES], sums;
            UNROLL for (uint l = 0; l < LANES; ++l) pass_clear(&lanes[l]);
            float largest = 0.0f;
#if PASS_TENSOR_COUNT > 1
            if (!again)
                pivot = pivot_of_column(tensors, block, n, last_reciprocal, line);
#else
            float firsts[LANES];
            UNROLL for (uint l = 0; l < LANES; ++l)
                firsts[l] = l < n ? pass_value(&elements, l, line) *
                                        pivot_reciprocal(n, last_reciprocal)
                                  : 0.0f;
            pivot = again ? pivot : fold_lanes(firsts);
#endif
            _Pragma("unroll 1") for (uint i = 0; i < n; i += LANES)
                UNROLL for (uint from_lane = 0; from_lane < LANES; from_lane += DEPTH)
            {
                /* The rows behind these, or the next block's first ones. */
                const uint row = i + from_lane + DEPTH;
                const bool ends = row >= n;
                const block_place rest = {block.place + (ulong)row * channels,
                                          block.row + row AND_BIT(pass_bit(tensors, block, row))};
                const block_place next = ends ? next_block : rest;
                const uint last = (ends ? next_n : n - row) - 1;
                UNROLL for (uint k = 0; k < DEPTH; ++k)
                {
                    pass_add(&lanes[from_lane + k], &largest, &elements, k, i + from_lane + k < n,
                             pivot, line);
                    pass_load(&elements, k, tensors, next, min(k, last));
                }
            }
            pass_fold_lanes(&sums, lanes);
            again = !again && pass_moves(&pivot, n, &sums, largest, last_reciprocal);
            if (again) {
                UNROLL for (uint k = 0; k < DEPTH; ++k)
                    pass_load(&elements, k, tensors, block, min(k, n - 1));
                continue;
            }
            const float faint = thin ? pass_faint(tensors, last_channel, channels) : PASS_CLEAR;
            const bool out = pass_misses(n, &pivot, pass_mean(line), &sums, largest, thin, faint);
            UNROLL for (uint part = 0; part < PARTS; ++part)
                pass_add_part(limbs + (part < PASS_FIRST_PARTS ? 0 : PASS_LIMBS1), part, n, pivot,
                              &sums);
            missed |= (uint)out << added;
            ++added;
            unit += step;
            block = next_block;
            n = next_n;
        }
        carry_sums(limbs, PASS_LIMBS1, PASS_LIMBS2);
        uint at = sweep;
        ONE_BY_ONE for (uint left = missed; left != 0; left >>= 1, at += step) if (left & 1)
        {
            const block_place miss = locate_column(tensors, at, blocks, plane, channels,
                                                   last_channel, &n);
            flags |= add_again(tensors, miss, n, last_reciprocal, line,
                               wide_of(wide, last_channel));
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (flags)
        atomic_or(all_flags + column, flags);
    store_columns(limbs, PASS_LIMBS, words, all_flags, strip, c, channels,
                  partial + ((ulong)slice * channels + c) * PASS_LENGTH);
}
