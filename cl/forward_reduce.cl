/*
 * Forward, step 1: x -> words of sum x and sum x^2 per channel.
 *
 * Per block of n elements: pivot p = sum of x / n in lane order (it cannot
 * overflow, need not be exact, and no outlier spoils it), d = x - p,
 * A = sum d, Q = sum d^2 by fma. Then, without rounding,
 *
 *   sum x   += n p + A
 *   sum x^2 += n p^2 + 2 p A + Q
 *
 * with the same A in both, so that its rounding nearly cancels in the variance.
 *
 * Work: the blocks of a channel are numbered sample by sample; slice s of a
 * channel takes `per_slice` of `numbers`. It writes the channel's words to
 * partial[(s * channels + c) * FORWARD_WORDS]; fold.cl adds the slices.
 */

static void add_forward(private long *sums, uint n, float pivot, float a, float q)
{
    if (!isfinite(pivot)) {
        sums[FORWARD_FLAGS] |= flags_of(pivot);
        return;
    }
    if (!(fabs(pivot) < FORWARD_LIMIT_PIVOT && fabs(a) < FORWARD_LIMIT_SUM &&
          q < FORWARD_LIMIT_SECOND)) {
        sums[FORWARD_FLAGS] |= FLAG_OVER;
#if WIDE
        /* Squares overflow a float: the variance is +Inf, the mean as good as the pivots. */
        a = isfinite(a) ? a : 0.0f;
        q = 0.0f;
#else
        return;
#endif
    }
    if (fabs(pivot) >= FORWARD_CLEAR || q >= FORWARD_CLEAR * FORWARD_CLEAR)
        sums[FORWARD_FLAGS] |= FLAG_CLEAR;
    else if (pivot != 0.0f || a != 0.0f || q != 0.0f) /* x / n and d^2 may have underflowed */
        sums[FORWARD_FLAGS] |= FLAG_FAINT;
    add_product(sums, 0, FORWARD_LOW1, n, pivot, 1.0f);
    add_product(sums, 0, FORWARD_LOW1, 1, a, 1.0f);
    add_product(sums, FORWARD_SECOND, FORWARD_LOW2, n, pivot, pivot);
    add_product(sums, FORWARD_SECOND, FORWARD_LOW2, 2, pivot, a);
    add_product(sums, FORWARD_SECOND, FORWARD_LOW2, 1, q, 1.0f);
}

/* Channels first: group (channel, slice). */
kernel __attribute__((reqd_work_group_size(FIRST_ITEMS, 1, 1)))
void forward_reduce_first(global const float *restrict x, ulong x_offset, uint channels, uint plane,
                          uint blocks, uint numbers, uint per_slice, float last_reciprocal,
                          global long *restrict partial)
{
    local float scratch[FIRST_ITEMS];
    const uint c = get_group_id(0), slice = get_group_id(1);
    const uint begin = slice * per_slice, end = min(numbers, begin + per_slice);
    long sums[FORWARD_SUMS];
    zero_sums(sums, FORWARD_SUMS);

    uint sample = quotient(begin, blocks), block = begin - sample * blocks;
    for (uint number = begin; number < end; ++number) {
        const uint start = block * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        global const float *p = x + x_offset + ((ulong)sample * channels + c) * plane + start;
        const float pivot = pivot_of_block(p, n, reciprocal(n, last_reciprocal), scratch);

        real a[VECTORS], q[VECTORS];
        zero_lanes(a);
        zero_lanes(q);
        uint k = 0;
        for (; k + LANES <= n; k += LANES)
            for (uint v = 0; v < VECTORS; ++v) {
                const real d = LOAD(p + k + lane_of(v)) - pivot;
                a[v] += d;
                q[v] = fma(d, d, q[v]);
            }
        if (k < n)
            for (uint v = 0; v < VECTORS; ++v) {
                const uint i = k + lane_of(v);
                const real d = load_edge(p, i, n, pivot) - pivot;
                a[v] += d;
                q[v] = fma(d, d, q[v]);
            }
        const float sum = fold_lanes(a, scratch);
        const float squares = fold_lanes(q, scratch);
        if (get_local_id(0) == 0)
            add_forward(sums, n, pivot, sum, squares);
        if (++block == blocks) {
            block = 0;
            ++sample;
        }
    }
    if (get_local_id(0) == 0)
        store_sums(sums, FORWARD_DIGITS1, FORWARD_DIGITS2,
                   partial + ((ulong)slice * channels + c) * FORWARD_WORDS);
}

/* Channels last: group (strip of channels, slice). */
kernel __attribute__((reqd_work_group_size(LAST_ITEMS, LAST_ROWS, 1)))
void forward_reduce_last(global const float *restrict x, ulong x_offset, uint channels, uint plane,
                         uint blocks, uint numbers, uint per_slice, float last_reciprocal,
                         global long *restrict partial)
{
    local float scratch[LAST_ITEMS * LAST_ROWS];
    const uint c = get_global_id(0) * WIDTH, slice = get_group_id(1), row = get_local_id(1);
    const uint begin = slice * per_slice, end = min(numbers, begin + per_slice);
    long sums[WIDTH * FORWARD_SUMS];
    zero_sums(sums, WIDTH * FORWARD_SUMS);

    uint sample = quotient(begin, blocks), block = begin - sample * blocks;
    for (uint number = begin; number < end; ++number) {
        const uint start = block * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        const uint live = live_lanes(n);
        global const float *p = x + x_offset + ((ulong)sample * plane + start) * channels;
        const real pivots = pivots_of_strip(p, c, channels, n,
                                            reciprocal(n, last_reciprocal), live, scratch);

        real a[PER_ITEM], q[PER_ITEM];
        zero_strip(a, live);
        zero_strip(q, live);
        for (uint k = row; k < n; k += LANES)
            for (uint r = 0, i = k; r < live && i < n; ++r, i += LAST_ROWS) {
                const real d = load_edge(p + (ulong)i * channels, c, channels, 0.0f) - pivots;
                a[r] += d;
                q[r] = fma(d, d, q[r]);
            }
        float pivot[WIDTH], sum[WIDTH], squares[WIDTH];
        spread(pivots, pivot);
        spread(fold_strip(a, live, scratch), sum);
        spread(fold_strip(q, live, scratch), squares);
        for (uint j = 0; j < WIDTH && c + j < channels && row == 0; ++j)
            add_forward(sums + j * FORWARD_SUMS, n, pivot[j], sum[j], squares[j]);
        if (++block == blocks) {
            block = 0;
            ++sample;
        }
    }
    for (uint j = 0; j < WIDTH && c + j < channels && row == 0; ++j)
        store_sums(sums + j * FORWARD_SUMS, FORWARD_DIGITS1, FORWARD_DIGITS2,
                   partial + ((ulong)slice * channels + c + j) * FORWARD_WORDS);
}
