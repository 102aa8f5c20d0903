/*
 * CPU form, step 3 of the backward pass: dx from x and dy. The formula is in
 * coefficients_backward.cl; how work-items map to elements, in apply_walk.cl.
 */

/* As forward_apply_run; `gradients` also begins at the run's first channel. */
static void backward_apply_run(global const stored *px, global const stored *pdy,
                               global stored *pdx, ulong begin, ulong end, ulong extent,
                               uint at, uint within, uint channels, uint plane,
                               global const float *coefficients, global const float *gradients,
                               uint total, global const float *weight, uint affine,
                               uint non_temporal BACKWARD_FUSION)
{
    const uint skips_caches = is_non_temporal(pdx + begin, non_temporal);
    float mean = BACKWARD_MEAN(total, at);
    float g = gradients[table_row(ROW_G_HIGH, total) + at];
    float p = forward_scale(coefficients, weight, affine, total, at);
    float q = backward_q(gradients, total, at, p);
    float r = backward_r(coefficients, gradients, total, at, p, q);
    float b = BACKWARD_B(total, at, p);
    ulong i = begin, plane_end = begin + (plane - within);
    for (uint c = at; i < end;) {
        const ulong stop = min(end, plane_end);
        if (skips_caches)
            for (; i + WIDTH <= stop; i += WIDTH) {
                const real x = load_elements(px + i), dy = load_elements(pdy + i);
                const real v = BACKWARD_FINISHED(x, dy, mean, g, p, q, r, b, i, WIDTH);
                STORE_NON_TEMPORAL(v, pdx + i);
            }
        else
            for (; i + WIDTH <= stop; i += WIDTH) {
                const real x = load_elements(px + i), dy = load_elements(pdy + i);
                store_elements(BACKWARD_FINISHED(x, dy, mean, g, p, q, r, b, i, WIDTH), pdx + i);
            }
        const uint left = (uint)(stop - i);
        const float mean_before = mean, g_before = g, p_before = p, q_before = q, r_before = r;
        const float b_before = b;
        c = c + 1 < channels ? c + 1 : 0;
        mean = BACKWARD_MEAN(total, c);
        g = gradients[table_row(ROW_G_HIGH, total) + c];
        p = forward_scale(coefficients, weight, affine, total, c);
        q = backward_q(gradients, total, c, p);
        r = backward_r(coefficients, gradients, total, c, p, q);
        b = BACKWARD_B(total, c, p);
        plane_end += plane;
        if (left == 0)
            continue;
        const ints before = EACH < left;
        const uint count = (uint)min((ulong)WIDTH, end - i);
        const real v =
            BACKWARD_FINISHED(load_edge(px + i, 0, count, px + extent, 0.0f),
                              load_edge(pdy + i, 0, count, pdy + extent, 0.0f),
                              select((real)mean, (real)mean_before, before),
                              select((real)g, (real)g_before, before),
                              select((real)p, (real)p_before, before),
                              select((real)q, (real)q_before, before),
                              select((real)r, (real)r_before, before),
                              select((real)b, (real)b_before, before), i, count);
        store_result(v, pdx + i, count, skips_caches);
        i += count;
    }
}

/* As forward_apply_tile. */
static void backward_apply_tile(global const stored *x, uint x_gap, global const stored *dy,
                                uint dy_gap, global stored *dx, uint dx_gap, ulong begin,
                                ulong end, ulong tile, uint count,
                                global const float *coefficients, global const float *gradients,
                                global const float *weight, uint affine, uint channels, uint plane,
                                uint non_temporal BACKWARD_FUSION)
{
    const ulong width = (ulong)channels * plane;
    float means[TILE], gs[TILE], ps[TILE], qs[TILE], rs[TILE];
#if FUSED_BACKWARD
    float bs[TILE];
#endif
    uint within, c = channel_of(tile, plane, &within);
    for (uint i = 0; i < count; ++i) {
        means[i] = BACKWARD_MEAN(channels, c);
        gs[i] = gradients[table_row(ROW_G_HIGH, channels) + c];
        ps[i] = forward_scale(coefficients, weight, affine, channels, c);
        qs[i] = backward_q(gradients, channels, c, ps[i]);
        rs[i] = backward_r(coefficients, gradients, channels, c, ps[i], qs[i]);
#if FUSED_BACKWARD
        bs[i] = BACKWARD_B(channels, c, ps[i]);
#endif
        c = next_channel(c, plane, &within);
    }
    for (ulong row = begin; row < end; ++row) {
        const ulong place = row * width + tile;
        global const stored *px = x + place + row * x_gap, *pdy = dy + place + row * dy_gap;
        global stored *pdx = dx + place + row * dx_gap;
        const uint skips_caches = is_non_temporal(pdx, non_temporal);
        uint i = 0;
        for (; i + WIDTH <= count; i += WIDTH) {
            const real v = BACKWARD_FINISHED(load_elements(px + i), load_elements(pdy + i),
                                             LOAD(means + i), LOAD(gs + i), LOAD(ps + i),
                                             LOAD(qs + i), LOAD(rs + i), LOAD(bs + i), place + i,
                                             WIDTH);
            store_result(v, pdx + i, WIDTH, skips_caches);
        }
#if FUSED_BACKWARD
        if (i < count) {
            const real v =
                BACKWARD_FINISHED(load_edge(px + i, 0, count - i, px + count, 0.0f),
                                  load_edge(pdy + i, 0, count - i, pdy + count, 0.0f),
                                  LOAD(means + i), LOAD(gs + i), LOAD(ps + i), LOAD(qs + i),
                                  LOAD(rs + i), LOAD(bs + i), place + i, count - i);
            store_edge(v, pdx + i, count - i);
        }
#else
        for (; i < count; ++i) {
            const float d = load_element(px, i) - means[i];
            const float v = fma(ps[i], load_element(pdy, i) - gs[i], fma(qs[i], d, rs[i]));
            store_element(v == 0.0f ? 0.0f : v, pdx, i);
        }
#endif
    }
}
