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

static void zero_forward(private forward_sums *sums)
{
    zero_digits(sums->first, FORWARD_DIGITS1 + PADDING);
    zero_digits(sums->second, FORWARD_DIGITS2 + PADDING);
    sums->flags = 0;
}

static void add_forward(private forward_sums *sums, uint n, float pivot, float a, float q)
{
    if (!isfinite(pivot)) {
        sums->flags |= flags_of(pivot);
        return;
    }
    if (!(fabs(pivot) < FORWARD_LIMIT_PIVOT && fabs(a) < FORWARD_LIMIT_SUM &&
          q < FORWARD_LIMIT_SECOND)) {
        sums->flags |= FLAG_OVER;
#if WIDE
        /* Squares overflow a float: the variance is +Inf, the mean as good as the pivots. */
        a = isfinite(a) ? a : 0.0f;
        q = 0.0f;
#else
        return;
#endif
    }
    if (fabs(pivot) >= FORWARD_CLEAR || q >= FORWARD_CLEAR * FORWARD_CLEAR)
        sums->flags |= FLAG_CLEAR;
    else if (pivot != 0.0f || q != 0.0f)
        sums->flags |= FLAG_FAINT;
    const term p = term_of(pivot), rest = term_of(a);
    add(sums->first, FORWARD_LOW1, count_times(n, p));
    add(sums->first, FORWARD_LOW1, rest);
    add(sums->second, FORWARD_LOW2, count_times(n, times(p, p)));
    add(sums->second, FORWARD_LOW2, twice(times(p, rest)));
    add(sums->second, FORWARD_LOW2, term_of(q));
}

static void store_forward(private const forward_sums *sums, global long *out)
{
    out = store_digits(sums->first, FORWARD_DIGITS1, out);
    out = store_digits(sums->second, FORWARD_DIGITS2, out);
    *out = sums->flags;
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
    forward_sums sums;
    zero_forward(&sums);

    position at = position_of(begin, blocks);
    for (uint number = begin; number < end; ++number, at = next_position(at, blocks)) {
        const uint start = at.block * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        global const float *p = x + x_offset + ((ulong)at.sample * channels + c) * plane + start;
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
                const real d = load_edge(p + i, left(i, n), pivot) - pivot;
                a[v] += d;
                q[v] = fma(d, d, q[v]);
            }
        const float sum = fold_lanes(a, scratch);
        const float squares = fold_lanes(q, scratch);
        if (get_local_id(0) == 0)
            add_forward(&sums, n, pivot, sum, squares);
    }
    if (get_local_id(0) == 0)
        store_forward(&sums, partial + ((ulong)slice * channels + c) * FORWARD_WORDS);
}

/* Channels last: group (strip of channels, slice). */
kernel __attribute__((reqd_work_group_size(LAST_ITEMS, LAST_ROWS, 1)))
void forward_reduce_last(global const float *restrict x, ulong x_offset, uint channels, uint plane,
                         uint blocks, uint numbers, uint per_slice, float last_reciprocal,
                         global long *restrict partial)
{
    local float scratch[LAST_ITEMS * LAST_ROWS];
    const uint c = get_global_id(0) * WIDTH, slice = get_group_id(1), row = get_local_id(1);
    const uint count = left(c, channels);
    const uint begin = slice * per_slice, end = min(numbers, begin + per_slice);
    forward_sums sums[WIDTH];
    for (uint j = 0; j < WIDTH; ++j)
        zero_forward(&sums[j]);

    position at = position_of(begin, blocks);
    for (uint number = begin; number < end; ++number, at = next_position(at, blocks)) {
        const uint start = at.block * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        const uint live = live_lanes(n);
        global const float *p = x + x_offset + ((ulong)at.sample * plane + start) * channels + c;
        const real pivots = pivots_of_strip(p, channels, count, n,
                                            reciprocal(n, last_reciprocal), live, scratch);

        real a[PER_ITEM], q[PER_ITEM];
        zero_strip(a, live);
        zero_strip(q, live);
        for (uint k = row; k < n; k += LANES)
            for (uint r = 0, i = k; r < live && i < n; ++r, i += LAST_ROWS) {
                const real d = load_edge(p + (ulong)i * channels, count, 0.0f) - pivots;
                a[r] += d;
                q[r] = fma(d, d, q[r]);
            }
        float pivot[WIDTH], sum[WIDTH], squares[WIDTH];
        spread(pivots, pivot);
        spread(fold_strip(a, live, scratch), sum);
        spread(fold_strip(q, live, scratch), squares);
        for (uint j = 0; j < min(count, (uint)WIDTH) && row == 0; ++j)
            add_forward(&sums[j], n, pivot[j], sum[j], squares[j]);
    }
    for (uint j = 0; j < min(count, (uint)WIDTH) && row == 0; ++j)
        store_forward(&sums[j], partial + ((ulong)slice * channels + c + j) * FORWARD_WORDS);
}
