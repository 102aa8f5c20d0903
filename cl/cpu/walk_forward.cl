/*
 * CPU form, step 3 of the forward pass, evaluation, recomputation and folding: y from x, an fma with
 * the coefficients of coefficients_forward.cl. How work-items map to elements is in apply_walk.cl.
 */

/*
 * Elements from `begin` to before `end` of a run of `extent` elements. `coefficients`, `weight` and `bias` point to
 * the run's first channel. Element `begin` is element `within` of a plane of channel `at`.
 */
static void forward_apply_run(global const stored *px, global stored *py, ulong begin, ulong end,
                              ulong extent, uint at, uint within, uint channels, uint plane,
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
        const real d = load_edge(px + i, 0, count, px + extent, 0.0f) - m;
        const real v = FINISHED(fma(scale, d, shift), i, count);
        store_result(v, py + i, count, skips_caches);
        i += count;
    }
}

/* Of the rows from `begin` to before `end`, the `count` <= TILE elements from `tile` on. */
static void forward_apply_tile(global const stored *x, uint x_gap, global stored *y, uint y_gap,
                               ulong begin, ulong end, ulong tile, uint count,
                               global const float *coefficients,
                               global const float *weight, global const float *bias, uint affine,
                               uint scale_only, uint channels, uint plane,
                               uint non_temporal FORWARD_FUSION)
{
    const ulong width = (ulong)channels * plane;
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
            store_result(v, py + i, WIDTH, skips_caches);
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
