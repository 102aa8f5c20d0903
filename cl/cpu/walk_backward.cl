/*
 * CPU form, step 3 of the backward pass: dx from x and dy. The formula is in
 * coefficients_backward.cl; how work-items map to elements, in apply_walk.cl.
 */

/* As forward_apply_run; `gradients` also begins at the run's first channel. */
static void backward_apply_run(global const stored *px, global const stored *pdy,
                               global stored *pdx, ulong begin, ulong end, ulong run_length,
                               uint at, uint within, uint channels, uint plane,
                               global const float *coefficients, global const float *gradients,
                               uint total, global const float *weight, uint affine,
                               uint non_temporal BACKWARD_FUSION)
{
    const uint skips_caches = is_non_temporal(pdx + begin, non_temporal);
    float mean = BACKWARD_MEAN(total, at);
    float g = gradients[table_row(ROW_G_HIGH, total) + at];
    float p = backward_p(coefficients, weight, affine, total, at);
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
        p = backward_p(coefficients, weight, affine, total, c);
        q = backward_q(gradients, total, c, p);
        r = backward_r(coefficients, gradients, total, c, p, q);
        b = BACKWARD_B(total, c, p);
        plane_end += plane;
        if (left == 0)
            continue;
        const ints before = EACH < left;
        const uint count = (uint)min((ulong)WIDTH, end - i);
        const real v =
            BACKWARD_FINISHED(load_edge(px + i, 0, count, px + run_length, 0.0f),
                              load_edge(pdy + i, 0, count, pdy + run_length, 0.0f),
                              select((real)mean, (real)mean_before, before),
                              select((real)g, (real)g_before, before),
                              select((real)p, (real)p_before, before),
                              select((real)q, (real)q_before, before),
                              select((real)r, (real)r_before, before),
                              select((real)b, (real)b_before, before), i, count);
        if (count < WIDTH)
            store_edge(v, pdx + i, count);
        else if (skips_caches)
            STORE_NON_TEMPORAL(v, pdx + i);
        else
            store_elements(v, pdx + i);
        i += count;
    }
}

kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void backward_apply_flat(global const stored *restrict x, ulong x_offset, uint x_gap,
                         global const stored *dy, ulong dy_offset, uint dy_gap,
                         global stored *dx, ulong dx_offset, uint dx_gap,
                         global const float *restrict coefficients,
                         global const float *restrict gradients,
                         global const float *restrict weights, ulong weight_offset,
                           uint affine BACKWARD_FUSION_PARAMETERS,
                         uint channels, uint plane, ulong run_length, uint range,
                         uint non_temporal)
{
    const ulong run = flat_run(channels, plane);
    const ulong begin = flat_begin(range), end = min(run_length, begin + range);
    const ulong planes = quotient_long(begin, plane);
    const uint within = (uint)(begin - planes * plane);
    const uint at = (uint)(planes - quotient_long(planes, channels) * channels);
    global const stored *px = x + x_offset + run + flat_sample() * x_gap;
    global const stored *pdy = dy + dy_offset + run + flat_sample() * dy_gap;
    global const float *weight = weights + weight_offset;
    global stored *pdx = dx + dx_offset + run + flat_sample() * dx_gap;
    BACKWARD_FUSION_OF(run, 0)
    backward_apply_run(px, pdy, pdx, begin, end, run_length, at, within, channels, plane,
                       coefficients, gradients, channels, weight, affine,
                       non_temporal OWN_FUSION);
}

/* As forward_apply_tile. */
static void backward_apply_tile(global const stored *x, uint x_gap, global const stored *dy,
                                uint dy_gap, global stored *dx, uint dx_gap, ulong begin,
                                ulong end, ulong tile, uint count,
                                global const float *coefficients, global const float *gradients,
                                global const float *weight, uint affine, uint channels, uint plane,
                                uint non_temporal BACKWARD_FUSION)
{
    const ulong width = row_width(channels, plane);
    float means[TILE], gs[TILE], ps[TILE], qs[TILE], rs[TILE];
#if FUSED_BACKWARD
    float bs[TILE];
#endif
    uint within, c = channel_of(tile, plane, &within);
    for (uint i = 0; i < count; ++i) {
        means[i] = BACKWARD_MEAN(channels, c);
        gs[i] = gradients[table_row(ROW_G_HIGH, channels) + c];
        ps[i] = backward_p(coefficients, weight, affine, channels, c);
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
            if (skips_caches)
                STORE_NON_TEMPORAL(v, pdx + i);
            else
                store_elements(v, pdx + i);
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

kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void backward_apply_rows(global const stored *restrict x, ulong x_offset, uint x_gap,
                         global const stored *dy, ulong dy_offset, uint dy_gap,
                         global stored *dx, ulong dx_offset, uint dx_gap,
                         global const float *restrict coefficients,
                         global const float *restrict gradients,
                         global const float *restrict weights, ulong weight_offset,
                           uint affine BACKWARD_FUSION_PARAMETERS,
                         uint channels, uint plane, ulong rows, uint rows_per_tile,
                         uint non_temporal)
{
    global const float *weight = weights + weight_offset;
    const ulong width = row_width(channels, plane), tile = rows_tile();
    const uint count = tile_count(width, tile);
    const ulong begin = rows_begin(rows_per_tile), end = min(rows, begin + rows_per_tile);
    BACKWARD_FUSION_OF(0, 0)
    backward_apply_tile(x + x_offset, x_gap, dy + dy_offset, dy_gap, dx + dx_offset, dx_gap,
                        begin, end, tile, count,
                        coefficients, gradients, weight, affine, channels, plane,
                        non_temporal OWN_FUSION);
}
