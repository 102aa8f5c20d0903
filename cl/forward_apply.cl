/*
 * Forward, step 3, evaluation and recomputation:
 *
 *   y = a (x - mean) + b,  a = weight invstd,  b = bias - a mean_low
 *
 * where mean + mean_low is the mean in two floats. (a x + b would lose the
 * digits of a mean that is large against its spread.)
 *
 * statistics: means[channels], means_low[channels], invstds[channels].
 * Work: tiles.cl.
 */

/* a and b of a channel. */
static float forward_scale(global const float *statistics, global const float *weight, uint affine,
                           uint channels, uint c)
{
    return (affine ? weight[c] : 1.0f) * statistics[2 * channels + c];
}

static float forward_shift(global const float *statistics, global const float *bias, uint affine,
                           uint channels, uint c, float a)
{
    return fma(-a, statistics[channels + c], affine ? bias[c] : 0.0f);
}

kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void forward_apply_flat(global const float *restrict x, ulong x_offset, global float *restrict y,
                        ulong y_offset, global const float *restrict statistics,
                        global const float *restrict weights, ulong weight_offset,
                        global const float *restrict biases, ulong bias_offset, uint affine,
                        uint channels, uint plane, ulong elements, uint range, uint stream)
{
    const ulong begin = flat_begin(range), end = min(elements, begin + range);
    const ulong planes = quotient_long(begin, plane);
    const uint within = (uint)(begin - planes * plane);
    const uint first = (uint)(planes - quotient_long(planes, channels) * channels);
    global const float *px = x + x_offset, *weight = weights + weight_offset;
    global const float *bias = biases + bias_offset;
    global float *py = y + y_offset;
#if CPU_FORM
    const uint past = may_stream(py + begin, stream);
    float mean = statistics[first];
    float a = forward_scale(statistics, weight, affine, channels, first);
    float b = forward_shift(statistics, bias, affine, channels, first, a);
    ulong i = begin, plane_end = begin + (plane - within);
    for (uint c = first; i < end;) {
        const ulong stop = min(end, plane_end);
        if (past)
            for (; i + WIDTH <= stop; i += WIDTH)
                STREAM_STORE(plus_zero(fma((real)a, LOAD(px + i) - mean, (real)b)), py + i);
        else
            for (; i + WIDTH <= stop; i += WIDTH)
                put(plus_zero(fma((real)a, LOAD(px + i) - mean, (real)b)), py + i);
        const uint left = (uint)(stop - i);
        const float mean_before = mean, a_before = a, b_before = b;
        c = c + 1 < channels ? c + 1 : 0;
        mean = statistics[c];
        a = forward_scale(statistics, weight, affine, channels, c);
        b = forward_shift(statistics, bias, affine, channels, c, a);
        plane_end += plane;
        if (left == 0)
            continue;
        const ints before = EACH < left;
        const real m = select((real)mean, (real)mean_before, before);
        const real scale = select((real)a, (real)a_before, before);
        const real shift = select((real)b, (real)b_before, before);
        const uint count = (uint)min((ulong)WIDTH, end - i);
        const real d = load_edge(px + i, 0, count, px + elements, 0.0f) - m;
        const real v = plus_zero(fma(scale, d, shift));
        if (count < WIDTH)
            put_edge(v, py + i, count);
        else if (past)
            STREAM_STORE(v, py + i);
        else
            put(v, py + i);
        i += count;
    }
#else
    for (uint i = get_local_id(0); i < end - begin; i += TILE_ITEMS) {
        const uint further = first + quotient(within + i, plane);
        const uint c = further - quotient(further, channels) * channels;
        const float a = forward_scale(statistics, weight, affine, channels, c);
        const float b = forward_shift(statistics, bias, affine, channels, c, a);
        put(plus_zero(fma(a, px[begin + i] - statistics[c], b)), py + begin + i);
    }
#endif
}

kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void forward_apply_rows(global const float *restrict x, ulong x_offset, global float *restrict y,
                        ulong y_offset, global const float *restrict statistics,
                        global const float *restrict weights, ulong weight_offset,
                        global const float *restrict biases, ulong bias_offset, uint affine,
                        uint channels, uint plane, ulong rows, uint rows_per_tile, uint stream)
{
    const uint width = channels * plane, tile = rows_tile() * TILE;
    const uint count = min((uint)TILE, width - tile);
    float means[TILE_VALUES], as[TILE_VALUES], bs[TILE_VALUES];
    for (uint i = get_local_id(0), k = 0; i < count; i += TILE_ITEMS, ++k) {
        const uint c = quotient(tile + i, plane);
        means[k] = statistics[c];
        as[k] = forward_scale(statistics, weights + weight_offset, affine, channels, c);
        bs[k] = forward_shift(statistics, biases + bias_offset, affine, channels, c, as[k]);
    }
    const ulong begin = rows_begin(rows_per_tile), end = min(rows, begin + rows_per_tile);
    for (ulong row = begin; row < end; ++row) {
        global const float *px = x + x_offset + row * width + tile;
        global float *py = y + y_offset + row * width + tile;
#if CPU_FORM
        uint i = 0;
        if (may_stream(py, stream))
            for (; i + WIDTH <= count; i += WIDTH)
                STREAM_STORE(plus_zero(fma(LOAD(as + i), LOAD(px + i) - LOAD(means + i), LOAD(bs + i))),
                             py + i);
        else
            for (; i + WIDTH <= count; i += WIDTH)
                put(plus_zero(fma(LOAD(as + i), LOAD(px + i) - LOAD(means + i), LOAD(bs + i))), py + i);
        for (; i < count; ++i) {
            const float v = fma(as[i], px[i] - means[i], bs[i]);
            py[i] = v == 0.0f ? 0.0f : v;
        }
#else
        const uint i = get_local_id(0);
        if (i < count)
            put(plus_zero(fma(as[0], px[i] - means[0], bs[0])), py + i);
#endif
    }
}
