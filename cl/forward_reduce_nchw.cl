/*
 * Forward, step 1, channels first: x -> words of sum x and sum x^2.
 *
 * The sums are of `channels` of the tensor's `total`, from `first` on.
 *
 * Group (strip of channels, slice). With a strip of one channel a slice is
 * `per_slice` of its samples x blocks blocks, else of the samples (batch.cl).
 * The words of channel c go to partial[(slice * channels + c) * FORWARD_LENGTH];
 * fold.cl adds the slices.
 */
kernel __attribute__((reqd_work_group_size(FIRST_ITEMS, 1, 1)))
void forward_reduce_nchw(global const float *restrict x, ulong x_offset, uint first,
                          uint total, uint samples, uint channels, uint plane, uint blocks,
                          uint strip, uint per_slice, float last_reciprocal,
                          global long *restrict partial)
{
    LANES_OF_BATCH(lanes_a);
    LANES_OF_BATCH(lanes_q);
    SHARED(float, pivots, BATCH);
    SHARED(ulong, places, 2 * BATCH);
    SHARED(uint, sizes, 2 * BATCH);
    SHARED(long, components, SETS * BATCH);
    const uint c = get_group_id(0) * strip, slice = get_group_id(1), begin = slice * per_slice;
    const uint strip_channels = min(strip, channels - c), single = strip == 1;
    const uint stop = min(single ? samples * blocks : samples, begin + per_slice);
    const uint rounds = single ? 1 : stop - begin;
    const uint from = single ? begin : 0, to = single ? stop : strip_channels * blocks;
    const ulong row = (ulong)total * plane, stride = single ? row : plane;
    const ulong start = (ulong)(first + c) * plane + (single ? 0 : begin * row);
    global const float *tensor = x + x_offset, *end = tensor + row * samples;

    wides sums[SETS * FORWARD_LIMBS];
    ints flags[SETS];
    zero_sums(sums, SETS * FORWARD_LIMBS);
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
            FIND_PIVOTS(tensor, count, last_reciprocal, places + now, sizes + now, pivots);
            for (uint j = first_block(); j < count; j += BLOCKS_AT_ONCE) {
                const uint n = sizes[now + j];
                global const float *p = tensor + places[now + j];
                global const float *ahead = tensor + places[ahead_of(now, j, plane)];
                const float pivot = pivot_of(p, n, last_reciprocal, end, pivots + j);
                real a = 0.0f, q = 0.0f;
                uint i = first_lane();
                const uint steps = steps_of(n);
                UNROLL_4
                for (uint step = 0; step < steps; ++step, i += LANES) {
                    FETCH(ahead + i);
                    const real d = LOAD(p + i) - pivot;
                    a += d;
                    q = fma(d, d, q);
                }
                if (i < n) {
                    FETCH(ahead + i);
                    const real d = load_edge(p, i, n, end, pivot) - pivot;
                    a += d;
                    q = fma(d, d, q);
                }
                keep_lanes(lanes_a, j, a);
                keep_lanes(lanes_q, j, q);
            }
            MEET();
            const ints none = MASK(own_block() + EACH >= count);
            const ints unknown = add_forward(sums + set * FORWARD_LIMBS, flags + set,
                                             own_sizes(sizes + now, count), own_values(pivots, count),
                                             zero_where(fold_batch(lanes_a), none),
                                             zero_where(fold_batch(lanes_q), none));
            if (ANY(unknown))
                flags[set] |= flags_of_batch(unknown, tensor, last_reciprocal, places + now,
                                             sizes + now);
            MEET();
            now = next;
            if (++batches == BATCHES_TO_CARRY) {
                for (uint s = 0; s < SETS; ++s)
                    carry_sums(sums + s * FORWARD_LIMBS, FORWARD_LIMBS1, FORWARD_LIMBS2);
                batches = 0;
            }
        }
    store_batch(sums, flags, FORWARD_LIMBS1, FORWARD_LIMBS2, single ? 1 : strip_channels,
                single ? BATCH : blocks, components,
                partial + ((ulong)slice * channels + c) * FORWARD_LENGTH);
}
