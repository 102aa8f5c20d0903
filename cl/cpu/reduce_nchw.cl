/*
 * CPU form, step 1, channels first: sums x, or x and dy, into accumulators. The kernels are in
 * reduce.cl. batches.cl describes how work-items map to blocks, and what the pass's files give.
 *
 * Work-group (strip of `strip` channels; slice): a slice is `per_slice` samples, or blocks of all
 * samples if the strip has one channel. The accumulator of channel c goes to
 * partial[(slice * channels + c) * PASS_LENGTH]; add_slices.cl adds the slices.
 */
/*
 * The lanes, pivots and means of the blocks t, t + 1, ..., `count` of them, whose places and sizes begin at `now`;
 * those `ahead_of` them are prefetched. `blocks` of them belong to a channel, the first to channel c; 0: all to c.
 * `again`: only those that are `marked`, whose pivots are known, or become the blocks' means.
 */
enum { FIRST_TIME, WITH_PIVOTS, WITH_MEANS, LAST_TIME };

static void sum_batch(private const pass_tensors *tensors, uint t, uint count, uint c,
                      uint blocks, uint plane, float last_reciprocal,
                      private const ulong *places, private const uint *sizes, uint now,
                      uint again, private const int *marked, private real *lanes,
                      private float *pivots, private float *means)
{
    for (uint j = 0; j < count; ++j) {
        if (again && !marked[j])
            continue;
        const uint n = sizes[now + j];
        const ulong place = places[now + j], ahead = places[ahead_of(now, j, plane)];
        pass_tensors own = *tensors, of_next = *tensors;
        if (own.row != 0) {
            pass_skip(&own, quotient_long(place, own.row));
            pass_skip(&of_next, quotient_long(ahead, own.row));
        }
        pass_line line;
        pass_line_of(tensors, channel_of_block(c, t + j, blocks), &line);
        if (again == WITH_MEANS)
            pivots[j] = mean_of_block(&own, place, n, reciprocal(n, last_reciprocal), line);
        else if (!again)
            pivots[j] = pivot_of(&own, place, n, last_reciprocal, line);
        const float pivot = pivots[j];
        pass_sums sums;
        pass_clear(&sums);
        uint i = 0;
        const uint steps = n >> LOG2_LANES; /* LANES is WIDTH */
        for (uint step = 0; step < steps; ++step, i += LANES) {
            pass_prefetch(&of_next, ahead + i);
            pass_add(&sums, &own, place + i, pivot, line);
        }
        if (i < n) {
            pass_prefetch(&of_next, ahead + i);
            pass_add_edge(&sums, &own, place, i, n, pivot, line);
        }
        pass_keep_lanes(lanes, LANES_SIZE, j, &sums);
        if (PASS_READS_MEANS)
            means[j] = pass_mean(line).s0;
    }
}

/*
 * Sums `channels` of a tensor's `total` channels, from c on, and writes their accumulators to
 * `out`. [begin, stop) are samples, or, if `single`, the blocks of one channel over all samples.
 */
static void sum_planes(private const pass_tensors *tensors, uint c, uint channels, uint total,
                       uint plane, uint blocks, uint single, uint begin, uint stop,
                       float last_reciprocal, global long *out, global long *wide, uint thin)
{
    real lanes[PASS_SUMS * LANES_SIZE];
    float pivots[BATCH], means[PASS_READS_MEANS ? BATCH : 1];
    ulong places[2 * BATCH];
    uint sizes[2 * BATCH];
    int marked[BATCH];
    long components[SETS * BATCH];
    wides limbs[SETS * PASS_LIMBS];
    ints flags[SETS];
    const uint rounds = single ? 1 : stop - begin;
    const uint from = single ? begin : 0, to = single ? stop : channels * blocks;
    const uint per_channel = single ? 0 : blocks; /* 0: all blocks are of channel c */
    const ulong row = (ulong)total * plane, stride = single ? row : plane;
    const ulong start = (ulong)c * plane + (single ? 0 : begin * row);
    zero_limbs(limbs, SETS * PASS_LIMBS);
    for (uint set = 0; set < SETS; ++set)
        flags[set] = 0;
    uint batches = 0, now = 0;
    locate(from, blocks, plane, start, stride, places, sizes);
    /* For the next blocks, which are not known yet. */
    vstore16((ulong16)start, 0, places + BATCH);
    for (uint round = 0; round < rounds; ++round)
        for (uint t = from, set = 0; t < to; t += BATCH, set += !single) {
            const uint count = min((uint)BATCH, to - t);
            const uint ends_round = t + BATCH >= to, next_t = ends_round ? from : t + BATCH;
            const uint next_round = round + ends_round;
            const uint next = next_round < rounds ? BATCH - now : now;
            if (next != now)
                locate(next_t, blocks, plane, start + next_round * row, stride, places + next,
                       sizes + next);
            const ints none = MASK(EACH >= count);
            const uints own = vload16(0, sizes + now);
            pass_sums sums;
            const real faint = thin ? faints_of(tensors, c, t, per_channel, total)
                                    : (real)PASS_CLEAR;
            ints out = 0;
            for (uint trip = FIRST_TIME, next_trip; trip != LAST_TIME; trip = next_trip) {
                sum_batch(tensors, t, count, c, per_channel, plane, last_reciprocal, places, sizes,
                          now, trip, marked, lanes, pivots, means);
                pass_fold_batch(lanes, none, &sums);
                next_trip = LAST_TIME;
                const ints moves = trip == FIRST_TIME ? pass_is_poor(own, &sums) : 0;
                if (ANY(moves)) {
                    move_pivots(moves, pass_sum(&sums), own, last_reciprocal, pivots);
                    vstore16(moves, 0, marked);
                    next_trip = WITH_PIVOTS;
                } else if (trip != WITH_MEANS) {
                    out = pass_add_block(
                        limbs + set * PASS_LIMBS, own, zero_where(vload16(0, pivots), none),
                        PASS_READS_MEANS ? zero_where(vload16(0, means), none) : (real)0.0f, thin,
                        faint, &sums);
                    if (ANY(out)) {
                        vstore16(out, 0, marked);
                        next_trip = WITH_MEANS;
                    }
                }
            }
            if (ANY(out))
                flags[set] |= add_blocks_wide(out, own, vload16(0, pivots), &sums, c, t,
                                              per_channel, wide);
            now = next;
            if (++batches == BATCHES_TO_CARRY) {
                for (uint s = 0; s < SETS; ++s)
                    carry_sums(limbs + s * PASS_LIMBS);
                batches = 0;
            }
        }
    store_batch(limbs, flags, channels, single ? BATCH : blocks, components, out);
}

/* The body of a kernel. */
static void reduce_nchw(private const pass_tensors *tensors, SLICE_PARAMETERS)
{
    const uint c = get_group_id(0) * strip, slice = get_group_id(1), begin = slice * per_slice;
    const uint strip_channels = min(strip, channels - c), single = strip == 1;
    const uint stop = min(single ? samples * blocks : samples, begin + per_slice);
    sum_planes(tensors, c, strip_channels, channels, plane, blocks, single, begin, stop,
               last_reciprocal, partial + ((ulong)slice * channels + c) * PASS_LENGTH, wide, thin);
}
