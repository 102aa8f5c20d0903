/*
 * Backward, step 1, channels first: x, dy, mean -> words of sum dy and sum dy (x - mean).
 * `means` is the upper float of each channel's. The sums are of `channels` of the
 * tensor's `total`, from `first` on.
 *
 * Group (strip of channels, slice). With a strip of one channel a slice is
 * `per_slice` of its samples x blocks blocks, else of the samples (batch.cl).
 * The words of channel c go to partial[(slice * channels + c) * BACKWARD_LENGTH];
 * fold.cl adds the slices.
 */
kernel __attribute__((reqd_work_group_size(FIRST_ITEMS, 1, 1)))
void backward_reduce_nchw(global const float *restrict x, ulong x_offset,
                           global const float *restrict dy, ulong dy_offset,
                           global const float *restrict means, uint first, uint total,
                           uint samples, uint channels, uint plane, uint blocks, uint strip,
                           uint per_slice, float last_reciprocal, global long *restrict partial)
{
    LANES_OF_BATCH(lanes_e);
    LANES_OF_BATCH(lanes_d);
    LANES_OF_BATCH(lanes_product);
    LANES_OF_BATCH(lanes_largest);
    SHARED(float, pivots, BATCH);
    SHARED(float, batch_means, BATCH);
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
    global const float *tensor_dy = dy + dy_offset, *end_dy = tensor_dy + row * samples;

    wides sums[SETS * BACKWARD_LIMBS];
    ints flags[SETS];
    zero_sums(sums, SETS * BACKWARD_LIMBS);
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
            FIND_PIVOTS(tensor_dy, count, last_reciprocal, places + now, sizes + now, pivots);
            for (uint j = first_block(); j < count; j += BLOCKS_AT_ONCE) {
                const uint n = sizes[now + j];
                const ulong place = places[now + j], ahead = places[ahead_of(now, j, plane)];
                global const float *pdy = tensor_dy + place, *px = tensor + place;
                global const float *ahead_dy = tensor_dy + ahead, *ahead_x = tensor + ahead;
                const float pivot = pivot_of(pdy, n, last_reciprocal, end_dy, pivots + j);
                const float mean = means[first + (single ? c : c + quotient(t + j, blocks))];
                real sum_e = 0.0f, sum_d = 0.0f, product = 0.0f, largest = 0.0f;
                uint i = first_lane();
                const uint steps = steps_of(n);
                UNROLL_4
                for (uint step = 0; step < steps; ++step, i += LANES) {
                    FETCH(ahead_dy + i);
                    FETCH(ahead_x + i);
                    const real e = LOAD(pdy + i) - pivot, d = LOAD(px + i) - mean;
                    sum_e += e;
                    sum_d += d;
                    product = fma(e, d, product);
                    largest = larger(largest, fabs(e));
                }
                if (i < n) {
                    FETCH(ahead_dy + i);
                    FETCH(ahead_x + i);
                    const real e = load_edge(pdy, i, n, end_dy, pivot) - pivot;
                    const real d = load_edge(px, i, n, end, mean) - mean;
                    sum_e += e;
                    sum_d += d;
                    product = fma(e, d, product);
                    largest = larger(largest, fabs(e));
                }
                batch_means[j] = mean;
                keep_lanes(lanes_e, j, sum_e);
                keep_lanes(lanes_d, j, sum_d);
                keep_lanes(lanes_product, j, product);
                keep_lanes(lanes_largest, j, largest);
            }
            MEET();
            const ints none = MASK(own_block() + EACH >= count);
            const ints unknown = add_backward(
                sums + set * BACKWARD_LIMBS, flags + set, own_sizes(sizes + now, count),
                own_values(pivots, count), own_values(batch_means, count),
                zero_where(fold_batch(lanes_e), none), zero_where(fold_batch(lanes_d), none),
                zero_where(fold_batch(lanes_product), none),
                zero_where(largest_of_batch(lanes_largest), none));
            if (ANY(unknown))
                flags[set] |= flags_of_batch(unknown, tensor_dy, last_reciprocal, places + now,
                                             sizes + now);
            MEET();
            now = next;
            if (++batches == BATCHES_TO_CARRY) {
                for (uint s = 0; s < SETS; ++s)
                    carry_sums(sums + s * BACKWARD_LIMBS, BACKWARD_LIMBS1, BACKWARD_LIMBS2);
                batches = 0;
            }
        }
    store_batch(sums, flags, BACKWARD_LIMBS1, BACKWARD_LIMBS2, single ? 1 : strip_channels,
                single ? BATCH : blocks, components,
                partial + ((ulong)slice * channels + c) * BACKWARD_LENGTH);
}
