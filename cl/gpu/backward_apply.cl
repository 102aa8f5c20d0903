/*
 * GPU form, step 3 of the backward pass: dx from x and dy. The formula is in
 * coefficients_backward.cl, the walks in apply.cl.
 */
kernel __attribute__((reqd_work_group_size(APPLY_ITEMS, 1, 1)))
void backward_apply_planes(PARAMETERS(BACKWARD_TENSOR_ARGUMENTS),
                           PARAMETERS(BACKWARD_APPLY_ARGUMENTS) BACKWARD_FUSION_PARAMETERS,
                           PARAMETERS(WALK_ARGUMENTS))
{
    uint c, count;
    const ulong begin = plane_begin(channels, plane, share, &c, &count);
    BACKWARD_FUSION_OF(begin, 0)
    const float mean = BACKWARD_MEAN(channels, c);
    const float g = gradients[table_row(ROW_G_HIGH, channels) + c];
    const float p = forward_scale(coefficients, weights + weight_offset, affine, channels, c);
    const float q = backward_q(gradients, channels, c, p);
    const float r = backward_r(coefficients, gradients, channels, c, p, q);
    const float b = BACKWARD_B(channels, c, p);
    const ulong sample = plane_sample();
    const uint gaps = x_gap | dy_gap | dx_gap;
    global const stored *px = x + x_offset + begin + sample * x_gap;
    global const stored *pdy = dy + dy_offset + begin + sample * dy_gap;
    global stored *pdx = dx + dx_offset + begin + sample * dx_gap;
    if (are_aligned(x_offset | dy_offset | dx_offset | BACKWARD_FUSION_OFFSET | gaps | plane)) {
        uint i = 4 * (uint)get_local_id(0);
        for (; i + (VECTORS - 1) * TILE < count; i += VECTORS * TILE) {
            float4 xs[VECTORS], dys[VECTORS];
            uint passed[VECTORS];
            UNROLL for (uint k = 0; k < VECTORS; ++k)
            {
                xs[k] = load_four(px, i + k * TILE);
                dys[k] = load_four(pdy, i + k * TILE);
                passed[k] = PASSED_FOUR(i + k * TILE);
            }
            UNROLL for (uint k = 0; k < VECTORS; ++k)
                store_four(BACKWARD_FINISHED_FOUR(xs[k], dys[k], passed[k], mean, g, p, q, r, b,
                                                  i + k * TILE),
                           pdx, i + k * TILE);
        }
        for (; i < count; i += TILE)
            store_four(BACKWARD_FINISHED_FOUR(load_four(px, i), load_four(pdy, i), PASSED_FOUR(i),
                                              mean, g, p, q, r, b, i),
                       pdx, i);
        return;
    }
    const uint last = count - 1;
    for (uint i = FIRST_ELEMENT((uint)get_local_id(0)); i < count; i += TILE) {
        float xs[4], dys[4];
        UNROLL for (uint k = 0; k < 4; ++k)
        {
            xs[k] = load_element(px, OWN_ELEMENT(i, k, last));
            dys[k] = load_element(pdy, OWN_ELEMENT(i, k, last));
        }
        UNROLL for (uint k = 0; k < 4; ++k)
            if (i + k * ELEMENT_STEP <= last)
                store_element(BACKWARD_FINISHED(xs[k], dys[k], mean, g, p, q, r, b,
                                                i + k * ELEMENT_STEP, 1),
                              pdx, i + k * ELEMENT_STEP);
    }
}

kernel __attribute__((reqd_work_group_size(APPLY_ITEMS, 1, 1)))
void backward_apply_rows(PARAMETERS(BACKWARD_TENSOR_ARGUMENTS),
                         PARAMETERS(BACKWARD_APPLY_ARGUMENTS) BACKWARD_FUSION_PARAMETERS,
                         PARAMETERS(WALK_ARGUMENTS))
{
    const uint width = channels * plane, tile = get_group_id(0) * TILE;
    const uint gaps = x_gap | dy_gap | dx_gap;
    const bool aligned = are_aligned(x_offset | dy_offset | dx_offset | BACKWARD_FUSION_OFFSET |
                                     gaps | width);
    const uint item = get_local_id(0);
    const uint element = tile + (aligned ? 4 * item : FIRST_ELEMENT(item));
    const ulong begin = first_row(share), end = min(extent, begin + share);
    ulong place = begin * width + element;
    const uint x_pitch = width + x_gap, dy_pitch = width + dy_gap, dx_pitch = width + dx_gap;
    global const stored *px = x + x_offset + place + begin * x_gap;
    global const stored *pdy = dy + dy_offset + place + begin * dy_gap;
    global stored *pdx = dx + dx_offset + place + begin * dx_gap;
    BACKWARD_FUSION_OF(0, 0)
    uint cs[4];
    float means[4], gs[4], ps[4], qs[4], rs[4], bs[4];
    channels_of(element, aligned ? 1 : ELEMENT_STEP, channels, plane, cs);
    UNROLL for (uint k = 0; k < 4; ++k)
    {
        means[k] = BACKWARD_MEAN(channels, cs[k]);
        gs[k] = gradients[table_row(ROW_G_HIGH, channels) + cs[k]];
        ps[k] = forward_scale(coefficients, weights + weight_offset, affine, channels, cs[k]);
        qs[k] = backward_q(gradients, channels, cs[k], ps[k]);
        rs[k] = backward_r(coefficients, gradients, channels, cs[k], ps[k], qs[k]);
        bs[k] = BACKWARD_B(channels, cs[k], ps[k]);
    }
    if (element >= width)
        return;
    uint left = (uint)(end - begin);
    if (aligned) {
        const float4 mean = (float4)(means[0], means[1], means[2], means[3]);
        const float4 g = (float4)(gs[0], gs[1], gs[2], gs[3]);
        const float4 p = (float4)(ps[0], ps[1], ps[2], ps[3]);
        const float4 q = (float4)(qs[0], qs[1], qs[2], qs[3]);
        const float4 r = (float4)(rs[0], rs[1], rs[2], rs[3]);
        const float4 b = (float4)(bs[0], bs[1], bs[2], bs[3]);
        for (; left >= VECTORS; left -= VECTORS) {
            float4 xs[VECTORS], dys[VECTORS];
            uint passed[VECTORS];
            UNROLL for (uint k = 0; k < VECTORS; ++k, px += x_pitch, pdy += dy_pitch)
            {
                xs[k] = load_four(px, 0);
                dys[k] = load_four(pdy, 0);
                passed[k] = PASSED_FOUR(place + k * width);
            }
            UNROLL for (uint k = 0; k < VECTORS; ++k, pdx += dx_pitch, place += width)
                store_four(BACKWARD_FINISHED_FOUR(xs[k], dys[k], passed[k], mean, g, p, q, r, b,
                                                  place),
                           pdx, 0);
        }
        for (; left > 0; --left, px += x_pitch, pdy += dy_pitch, pdx += dx_pitch, place += width)
            store_four(BACKWARD_FINISHED_FOUR(load_four(px, 0), load_four(pdy, 0),
                                              PASSED_FOUR(place), mean, g, p, q, r, b, place),
                       pdx, 0);
        return;
    }
    const uint last = width - 1 - element;
    for (; left > 0; --left, px += x_pitch, pdy += dy_pitch, pdx += dx_pitch, place += width) {
        float xs[4], dys[4];
        UNROLL for (uint k = 0; k < 4; ++k)
        {
            xs[k] = load_element(px, OWN_ELEMENT(0, k, last));
            dys[k] = load_element(pdy, OWN_ELEMENT(0, k, last));
        }
        UNROLL for (uint k = 0; k < 4; ++k)
            if (k * ELEMENT_STEP <= last)
                store_element(BACKWARD_FINISHED(xs[k], dys[k], means[k], gs[k], ps[k], qs[k], rs[k],
                                                bs[k], place + k * ELEMENT_STEP, 1),
                              pdx, k * ELEMENT_STEP);
    }
}
