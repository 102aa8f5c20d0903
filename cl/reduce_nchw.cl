/*
 * Step 1, channels first, GPU form: tensors -> accumulators. One text for both passes:
 * reduce_forward.cl or reduce_backward.cl, which stands before it, says what PASS reads, sums and
 * adds.
 *
 * Work-group (strip of channels, slice) sums `strip` of the `channels` channels, from `first` on,
 * of a tensor of `total`. With a strip of one channel a slice is `per_slice` of its samples x
 * blocks blocks, else `per_slice` of the samples (reduce_batch.cl). The accumulator of channel c
 * goes to partial[(slice * channels + c) * PASS_LENGTH]; reduce_slices.cl adds the slices.
 */
kernel __attribute__((reqd_work_group_size(NCHW_ITEMS, 1, 1)))
void PASS(reduce_nchw)(PASS_ARGUMENTS, uint first, uint total, uint samples, uint channels,
                       uint plane, uint blocks, uint strip, uint per_slice, float last_reciprocal,
                       global long *restrict partial REPEAT_ARGUMENT)
{
    LANES_OF_BATCH(lanes, PASS_SUMS);
    SHARED(float, pivots, BATCH);
    SHARED(float, means, PASS_READS_MEANS ? BATCH : 1);
    SHARED(ulong, places, 2 * BATCH);
    SHARED(uint, sizes, 2 * BATCH);
    SHARED(long, components, SETS * BATCH);
    const uint c = get_group_id(0) * strip, slice = get_group_id(1), begin = slice * per_slice;
    const uint strip_channels = min(strip, channels - c), single = strip == 1;
    if (NONE_REPEATS(c, strip_channels))
        return;
    const uint stop = min(single ? samples * blocks : samples, begin + per_slice);
    const uint rounds = single ? 1 : stop - begin;
    const uint from = single ? begin : 0, to = single ? stop : strip_channels * blocks;
    const ulong row = (ulong)total * plane, stride = single ? row : plane;
    const ulong start = (ulong)(first + c) * plane + (single ? 0 : begin * row);
    const PASS(tensors) tensors = PASS_TENSORS(row * samples);

    wides limbs[SETS * PASS_LIMBS];
    ints flags[SETS];
    zero_limbs(limbs, SETS * PASS_LIMBS);
    for (uint set = 0; set < SETS; ++set)
        flags[set] = 0;
    uint batches = 0, now = 0;
    locate_first(from, blocks, plane, start, stride, places, sizes);
    MEET();
    for (uint round = 0; round < rounds; ++round)
        for (uint t = from, set = 0; t < to; t += BATCH, set += !single) {
            const uint count = min((uint)BATCH, to - t);
            const uint ends_round = t + BATCH >= to, next_t = ends_round ? from : t + BATCH;
            const uint next_round = round + ends_round;
            const uint next = next_round < rounds ? BATCH - now : now;
            if (next != now)
                locate(next_t, blocks, plane, start + next_round * row, stride, places + next,
                       sizes + next);
            FIND_PIVOTS(tensors.summed, count, last_reciprocal, places + now, sizes + now, pivots);
            for (uint j = first_block(); j < count; j += BLOCKS_AT_ONCE) {
                const uint n = sizes[now + j];
                const ulong place = places[now + j], ahead = places[ahead_of(now, j, plane)];
                const float pivot = pivot_of(tensors.summed + place, n, last_reciprocal,
                                             tensors.summed_end, pivots + j);
                const float mean =
                    PASS(mean)(&tensors, first + (single ? c : c + quotient(t + j, blocks)));
                PASS(sums) sums;
                PASS(clear)(&sums);
                uint i = first_lane();
                const uint steps = steps_of(n);
                UNROLL_4
                for (uint step = 0; step < steps; ++step, i += LANES) {
                    PASS(prefetch)(&tensors, ahead + i);
                    PASS(add)(&sums, &tensors, place + i, pivot, mean);
                }
                if (i < n) {
                    PASS(prefetch)(&tensors, ahead + i);
                    PASS(add_edge)(&sums, &tensors, place, i, n, pivot, mean);
                }
                PASS(keep_lanes)(lanes, LANES_SIZE, lane_of_batch(j), &sums);
                if (PASS_READS_MEANS)
                    means[j] = mean;
            }
            MEET();
            const ints none = MASK(own_block() + EACH >= count);
            const PASS(sums) sums =
                PASS_FOLD(FOLD_BATCH_SUM, FOLD_BATCH_LARGEST, lanes, LANES_SIZE);
            const ints unknown =
                PASS(add_block)(limbs + set * PASS_LIMBS, flags + set,
                                own_sizes(sizes + now, count), own_values(pivots, count),
                                PASS_READS_MEANS ? own_values(means, count) : (real)0.0f, &sums);
            if (ANY(unknown))
                flags[set] |= flags_of_batch(unknown, tensors.summed, last_reciprocal, places + now,
                                             sizes + now);
            MEET();
            now = next;
            if (++batches == BATCHES_TO_CARRY) {
                for (uint s = 0; s < SETS; ++s)
                    carry_sums(limbs + s * PASS_LIMBS, PASS_LIMBS1, PASS_LIMBS2);
                batches = 0;
            }
        }
    store_batch(limbs, flags, PASS_LIMBS1, PASS_LIMBS2, single ? 1 : strip_channels,
                single ? BATCH : blocks, components,
                partial + ((ulong)slice * channels + c) * PASS_LENGTH);
}
