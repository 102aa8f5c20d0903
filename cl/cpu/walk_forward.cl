/*
 * CPU form, step 3 of the forward pass, evaluation, recomputation and folding: y from x. The
 * formula is in coefficients_forward.cl; how work-items map to elements, in apply_walk.cl.
 */

/*
 * Elements from `begin` to before `end` of a run of `run_length` elements. `coefficients`, `weight`
 * and `bias` point to the run's first channel. Element `begin` is element `within` of a plane of
 * channel `at`.
 */
static void forward_apply_run(global const stored *px, global stored *py, ulong begin, ulong end,
                              ulong run_length, uint at, uint within, uint channels, uint plane,
                              global const float *coefficients, uint total,
                              global const float *weight, global const float *bias, uint affine,
                              uint scale_only, uint non_temporal FORWARD_FUSION)
{
    const uint skips_caches = is_non_temporal(py + begin, non_temporal);
    float mean = apply_mean(coefficients, scale_only, total, at);
    float a = forward_scale(coefficients, weight, affine, total, at);
    float b = forward_shift(coefficients, bias, affine, scale_only, total, at, a);
    ulong i = begin, plane_end = begin + (plane - within);
    for (uint c = at; i < end;) {
        const ulong stop = min(end, plane_end);
        if (skips_caches)
            for (; i + WIDTH <= stop; i += WIDTH) {
                const real d = load_elements(px + i) - mean;
                STORE_NON_TEMPORAL(FINISHED(fma((real)a, d, (real)b), i, WIDTH), py + i);
            }
        else
            for (; i + WIDTH <= stop; i += WIDTH) {
                const real d = load_elements(px + i) - mean;
                store_elements(FINISHED(fma((real)a, d, (real)b), i, WIDTH), py + i);
            }
        const uint left = (uint)(stop - i);
        const float mean_before = mean, a_before = a, b_before = b;
        c = c + 1 < channels ? c + 1 : 0;
        mean = apply_mean(coefficients, scale_only, total, c);
        a = forward_scale(coefficients, weight, affine, total, c);
        b = forward_shift(coefficients, bias, affine, scale_only, total, c, a);
        plane_end += plane;
        if (left == 0)
            continue;
        const ints before = EACH < left;
        const real m = select((real)mean, (real)mean_before, before);
        const real scale = select((real)a, (real)a_before, before);
        const real shift = select((real)b, (real)b_before, before);
        const uint count = (uint)min((ulong)WIDTH, end - i);
        const real d = load_edge(px + i, 0, count, px + run_length, 0.0f) - m;
        const real v = FINISHED(fma(scale, d, shift), i, count);
        if (count < WIDTH)
            store_edge(v, py + i, count);
        else if (skips_caches)
            STORE_NON_TEMPORAL(v, py + i);
        else
            store_elements(v, py + i);
        i += count;
    }
}

kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void forward_apply_flat(global const stored *x, ulong x_offset, uint x_gap, global stored *y,
                        ulong y_offset, uint y_gap, global const float *restrict coefficients,
                        global const float *restrict weights, ulong weight_offset,
                        global const float *restrict biases, ulong bias_offset, uint affine,
                        uint scale_only FORWARD_FUSION_PARAMETERS,
                        uint channels, uint plane, ulong run_length, uint range,
                        uint non_temporal)
{
    const ulong run = flat_run(channels, plane);
    const ulong begin = flat_begin(range), end = min(run_length, begin + range);
    const ulong planes = quotient_long(begin, plane);
    const uint within = (uint)(begin - planes * plane);
    const uint at = (uint)(planes - quotient_long(planes, channels) * channels);
    global const stored *px = x + x_offset + run + flat_sample() * x_gap;
    global const float *weight = weights + weight_offset, *bias = biases + bias_offset;
    global stored *py = y + y_offset + run + flat_sample() * y_gap;
    FORWARD_FUSION_OF(run)
    forward_apply_run(px, py, begin, end, run_length, at, within, channels, plane, coefficients,
                      channels, weight, bias, affine, scale_only, non_temporal FUSION);
}

/* Of the rows from `begin` to before `end`, the `count` <= TILE elements from `tile` on. */
static void forward_apply_tile(global const stored *x, uint x_gap, global stored *y, uint y_gap,
                               ulong begin, ulong end, ulong tile, uint count,
                               global const float *coefficients,
                               global const float *weight, global const float *bias, uint affine,
                               uint scale_only, uint channels, uint plane,
                               uint non_temporal FORWARD_FUSION)
{
    const ulong width = row_width(channels, plane);
    float means[TILE], as[TILE], bs[TILE];
    uint within, c = channel_of(tile, plane, &within);
    for (uint i = 0; i < count; ++i) {
        means[i] = apply_mean(coefficients, scale_only, channels, c);
        as[i] = forward_scale(coefficients, weight, affine, channels, c);
        bs[i] = forward_shift(coefficients, bias, affine, scale_only, channels, c, as[i]);
        c = next_channel(c, plane, &within);
    }
    for (ulong row = begin; row < end; ++row) {
        const ulong place = row * width + tile;
        global const stored *px = x + place + row * x_gap;
        global stored *py = y + place + row * y_gap;
        uint i = 0;
        const uint skips_caches = is_non_temporal(py, non_temporal);
        for (; i + WIDTH <= count; i += WIDTH) {
            const real d = load_elements(px + i) - LOAD(means + i);
            const real v = FINISHED(fma(LOAD(as + i), d, LOAD(bs + i)), place + i, WIDTH);
            if (skips_caches)
                STORE_NON_TEMPORAL(v, py + i);
            else
                store_elements(v, py + i);
        }
#if FUSED
        if (i < count) {
            const real d = load_edge(px + i, 0, count - i, px + count, 0.0f) - LOAD(means + i);
            store_edge(FINISHED(fma(LOAD(as + i), d, LOAD(bs + i)), place + i, count - i), py + i,
                       count - i);
        }
#else
        for (; i < count; ++i) {
            const float v = fma(as[i], load_element(px, i) - means[i], bs[i]);
            store_element(v == 0.0f ? 0.0f : v, py, i);
        }
#endif
    }
}

kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void forward_apply_rows(global const stored *x, ulong x_offset, uint x_gap, global stored *y,
                        ulong y_offset, uint y_gap, global const float *restrict coefficients,
                        global const float *restrict weights, ulong weight_offset,
                        global const float *restrict biases, ulong bias_offset, uint affine,
                        uint scale_only FORWARD_FUSION_PARAMETERS,
                        uint channels, uint plane, ulong rows, uint rows_per_tile,
                        uint non_temporal)
{
    global const float *weight = weights + weight_offset, *bias = biases + bias_offset;
    const ulong width = row_width(channels, plane), tile = rows_tile();
    const uint count = tile_count(width, tile);
    const ulong begin = rows_begin(rows_per_tile), end = min(rows, begin + rows_per_tile);
    FORWARD_FUSION_OF(0)
    forward_apply_tile(x + x_offset, x_gap, y + y_offset, y_gap, begin, end, tile, count,
                       coefficients, weight,
                       bias, affine, scale_only, channels, plane, non_temporal FUSION);
}
