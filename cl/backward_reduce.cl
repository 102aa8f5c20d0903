/*
 * Backward, step 1: x, dy, mean -> words of sum dy and sum dy (x - mean).
 *
 * Per block of n elements: pivot g = sum of dy / n in lane order, e = dy - g,
 * d = x - mean, E = sum e, D = sum d, X = sum e d by fma. Then, without
 * rounding,
 *
 *   sum dy            += n g + E
 *   sum dy (x - mean) += X + g D
 *
 * Here mean is its upper float; the host takes off mean_low sum dy. The
 * largest |e| tells how far above the window's bottom the block lies: the sums
 * themselves may cancel.
 *
 * Work: as in forward_reduce.cl.
 */

static void add_backward(private long *sums, uint n, float pivot, float mean, float e,
                         float d, float product, float largest)
{
    if (!isfinite(pivot)) {
        sums[BACKWARD_FLAGS] |= flags_of(pivot);
        return;
    }
    /* With a mean that is not finite the second sum is lost anyway, and no reason to repeat. */
    if (!isfinite(mean))
        d = product = 0.0f;
    if (!(fabs(pivot) < BACKWARD_LIMIT_PIVOT && fabs(e) < BACKWARD_LIMIT_SUM &&
          fabs(product) < BACKWARD_LIMIT_SECOND &&
          fabs(pivot * d) < BACKWARD_LIMIT_SECOND)) {
        sums[BACKWARD_FLAGS] |= FLAG_OVER;
#if WIDE
        e = isfinite(e) ? e : 0.0f;
        d = product = 0.0f;
#else
        return;
#endif
    }
    if (fabs(pivot) >= BACKWARD_CLEAR || largest >= BACKWARD_CLEAR)
        sums[BACKWARD_FLAGS] |= FLAG_CLEAR;
    else if (pivot != 0.0f || largest != 0.0f)
        sums[BACKWARD_FLAGS] |= FLAG_FAINT;
    add_product(sums, 0, BACKWARD_LOW1, n, pivot, 1.0f);
    add_product(sums, 0, BACKWARD_LOW1, 1, e, 1.0f);
    add_product(sums, BACKWARD_SECOND, BACKWARD_LOW2, 1, product, 1.0f);
    add_product(sums, BACKWARD_SECOND, BACKWARD_LOW2, 1, pivot, d);
}

/* Channels first: group (channel, slice). */
kernel __attribute__((reqd_work_group_size(FIRST_ITEMS, 1, 1)))
void backward_reduce_first(global const float *restrict x, ulong x_offset,
                           global const float *restrict dy, ulong dy_offset,
                           global const float *restrict means, uint channels, uint plane,
                           uint blocks, uint numbers, uint per_slice, float last_reciprocal,
                           global long *restrict partial)
{
    local float scratch[FIRST_ITEMS];
    const uint c = get_group_id(0), slice = get_group_id(1);
    const uint begin = slice * per_slice, end = min(numbers, begin + per_slice);
    const float mean = means[c];
    long sums[BACKWARD_SUMS];
    zero_sums(sums, BACKWARD_SUMS);

    uint sample = quotient(begin, blocks), block = begin - sample * blocks;
    for (uint number = begin; number < end; ++number) {
        const uint start = block * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        const ulong place = ((ulong)sample * channels + c) * plane + start;
        global const float *px = x + x_offset + place;
        global const float *pdy = dy + dy_offset + place;
        const float pivot = pivot_of_block(pdy, n, reciprocal(n, last_reciprocal), scratch);

        real es[VECTORS], ds[VECTORS], products[VECTORS], largest[VECTORS];
        zero_lanes(es);
        zero_lanes(ds);
        zero_lanes(products);
        zero_lanes(largest);
        for (uint k = 0; k < n; k += LANES)
            for (uint v = 0; v < VECTORS; ++v) {
                const uint i = k + lane_of(v);
                const real e = load_edge(pdy, i, n, pivot) - pivot;
                const real d = load_edge(px, i, n, mean) - mean;
                es[v] += e;
                ds[v] += d;
                products[v] = fma(e, d, products[v]);
                largest[v] = max(largest[v], fabs(e));
            }
        const float e = fold_lanes(es, scratch);
        const float d = fold_lanes(ds, scratch);
        const float product = fold_lanes(products, scratch);
        const float most = largest_lane(largest, scratch);
        if (get_local_id(0) == 0)
            add_backward(sums, n, pivot, mean, e, d, product, most);
        if (++block == blocks) {
            block = 0;
            ++sample;
        }
    }
    if (get_local_id(0) == 0)
        store_sums(sums, BACKWARD_DIGITS1, BACKWARD_DIGITS2,
                   partial + ((ulong)slice * channels + c) * BACKWARD_WORDS);
}

/* Channels last: group (strip of channels, slice). */
kernel __attribute__((reqd_work_group_size(LAST_ITEMS, LAST_ROWS, 1)))
void backward_reduce_last(global const float *restrict x, ulong x_offset,
                          global const float *restrict dy, ulong dy_offset,
                          global const float *restrict means, uint channels, uint plane,
                          uint blocks, uint numbers, uint per_slice, float last_reciprocal,
                          global long *restrict partial)
{
    local float scratch[LAST_ITEMS * LAST_ROWS];
    const uint c = get_global_id(0) * WIDTH, slice = get_group_id(1), row = get_local_id(1);
    const uint begin = slice * per_slice, end = min(numbers, begin + per_slice);
    const real mean = load_edge(means, c, channels, 0.0f);
    long sums[WIDTH * BACKWARD_SUMS];
    zero_sums(sums, WIDTH * BACKWARD_SUMS);

    uint sample = quotient(begin, blocks), block = begin - sample * blocks;
    for (uint number = begin; number < end; ++number) {
        const uint start = block * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        const uint live = live_lanes(n);
        const ulong place = ((ulong)sample * plane + start) * channels;
        global const float *px = x + x_offset + place;
        global const float *pdy = dy + dy_offset + place;
        const real pivots = pivots_of_strip(pdy, c, channels, n,
                                            reciprocal(n, last_reciprocal), live, scratch);

        real es[PER_ITEM], ds[PER_ITEM], products[PER_ITEM], largest[PER_ITEM];
        zero_strip(es, live);
        zero_strip(ds, live);
        zero_strip(products, live);
        zero_strip(largest, live);
        for (uint k = row; k < n; k += LANES)
            for (uint r = 0, i = k; r < live && i < n; ++r, i += LAST_ROWS) {
                const real e = load_edge(pdy + (ulong)i * channels, c, channels, 0.0f) - pivots;
                const real d = load_edge(px + (ulong)i * channels, c, channels, 0.0f) - mean;
                es[r] += e;
                ds[r] += d;
                products[r] = fma(e, d, products[r]);
                largest[r] = max(largest[r], fabs(e));
            }
        float pivot[WIDTH], m[WIDTH], e[WIDTH], d[WIDTH], product[WIDTH], most[WIDTH];
        spread(pivots, pivot);
        spread(mean, m);
        spread(fold_strip(es, live, scratch), e);
        spread(fold_strip(ds, live, scratch), d);
        spread(fold_strip(products, live, scratch), product);
        spread(largest_of_strip(largest, live, scratch), most);
        for (uint j = 0; j < WIDTH && c + j < channels && row == 0; ++j) {
            add_backward(sums + j * BACKWARD_SUMS, n, pivot[j], m[j], e[j], d[j], product[j],
                         most[j]);
        }
        if (++block == blocks) {
            block = 0;
            ++sample;
        }
    }
    for (uint j = 0; j < WIDTH && c + j < channels && row == 0; ++j)
        store_sums(sums + j * BACKWARD_SUMS, BACKWARD_DIGITS1, BACKWARD_DIGITS2,
                   partial + ((ulong)slice * channels + c + j) * BACKWARD_WORDS);
}
