/*
 * GPU form, step 3 of the forward pass, evaluation, recomputation and folding: y from x. The
 * formula is in coefficients_forward.cl, the walks in apply.cl.
 */
static float4 forward_vector(float4 x, float4 mean, float4 a, float4 b)
{
    const float4 d = x - mean;
    return (float4)(fma(a.x, d.x, b.x), fma(a.y, d.y, b.y), fma(a.z, d.z, b.z), fma(a.w, d.w, b.w));
}

kernel __attribute__((reqd_work_group_size(APPLY_ITEMS, 1, 1)))
void forward_apply_planes(PARAMETERS(FORWARD_TENSOR_ARGUMENTS),
                          PARAMETERS(FORWARD_APPLY_ARGUMENTS) FORWARD_FUSION_PARAMETERS,
                          PARAMETERS(WALK_ARGUMENTS))
{
    uint c, count;
    const ulong begin = plane_begin(channels, plane, share, &c, &count);
    const float mean = apply_mean(coefficients, scale_only, channels, c);
    const float a = forward_scale(coefficients, weights + weight_offset, affine, channels, c);
    const float b = forward_shift(coefficients, biases + bias_offset, affine, scale_only, channels,
                                  c, a);
    global const stored *px = x + x_offset + begin + plane_sample() * x_gap;
    global stored *py = y + y_offset + begin + plane_sample() * y_gap;
    FORWARD_FUSION_OF(begin)
    if (are_aligned(x_offset | x_gap | y_offset | y_gap | FORWARD_FUSION_OFFSET | plane)) {
        uint i = 4 * (uint)get_local_id(0);
        for (; i + (VECTORS - 1) * TILE < count; i += VECTORS * TILE) {
            float4 each[VECTORS], residuals[VECTORS];
            UNROLL for (uint k = 0; k < VECTORS; ++k)
            {
                each[k] = load_four(px, i + k * TILE);
                residuals[k] = RESIDUAL_FOUR(i + k * TILE);
            }
            UNROLL for (uint k = 0; k < VECTORS; ++k)
                store_four(FINISHED_FOUR(forward_vector(each[k], mean, a, b), residuals[k],
                                         i + k * TILE),
                           py, i + k * TILE);
        }
        for (; i < count; i += TILE)
            store_four(FINISHED_FOUR(forward_vector(load_four(px, i), mean, a, b), RESIDUAL_FOUR(i),
                                     i),
                       py, i);
        return;
    }
    const uint last = count - 1;
    for (uint i = FIRST_ELEMENT((uint)get_local_id(0)); i < count; i += TILE) {
        float each[4];
        uint bits = 0;
        UNROLL for (uint k = 0; k < 4; ++k) each[k] = load_element(px, OWN_ELEMENT(i, k, last));
        UNROLL for (uint k = 0; k < 4; ++k)
            if (i + k * ELEMENT_STEP <= last)
                store_element(FINISHED_ONE(fma(a, each[k] - mean, b), i + k * ELEMENT_STEP, k), py,
                              i + k * ELEMENT_STEP);
        KEEP_MASK(i);
    }
}

kernel __attribute__((reqd_work_group_size(APPLY_ITEMS, 1, 1)))
void forward_apply_rows(PARAMETERS(FORWARD_TENSOR_ARGUMENTS),
                        PARAMETERS(FORWARD_APPLY_ARGUMENTS) FORWARD_FUSION_PARAMETERS,
                        PARAMETERS(WALK_ARGUMENTS))
{
    const uint width = channels * plane, tile = get_group_id(0) * TILE;
    const bool aligned = are_aligned(x_offset | x_gap | y_offset | y_gap | FORWARD_FUSION_OFFSET |
                                     width);
    const uint item = get_local_id(0);
    const uint element = tile + (aligned ? 4 * item : FIRST_ELEMENT(item));
    const ulong begin = first_row(share), end = min(extent, begin + share);
    ulong place = begin * width + element;
    const uint x_pitch = width + x_gap, y_pitch = width + y_gap;
    global const stored *px = x + x_offset + begin * x_pitch + element;
    global stored *py = y + y_offset + begin * y_pitch + element;
    FORWARD_FUSION_OF(0)
    uint cs[4];
    float means[4], as[4], bs[4];
    channels_of(element, aligned ? 1 : ELEMENT_STEP, channels, plane, cs);
    UNROLL for (uint k = 0; k < 4; ++k)
    {
        means[k] = apply_mean(coefficients, scale_only, channels, cs[k]);
        as[k] = forward_scale(coefficients, weights + weight_offset, affine, channels, cs[k]);
        bs[k] = forward_shift(coefficients, biases + bias_offset, affine, scale_only, channels,
                              cs[k], as[k]);
    }
    if (element >= width)
        return;
    ulong row = begin;
    if (aligned) {
        const float4 mean = (float4)(means[0], means[1], means[2], means[3]);
        const float4 a = (float4)(as[0], as[1], as[2], as[3]);
        const float4 b = (float4)(bs[0], bs[1], bs[2], bs[3]);
        for (; row + VECTORS <= end; row += VECTORS) {
            float4 each[VECTORS], residuals[VECTORS];
            UNROLL for (uint k = 0; k < VECTORS; ++k, px += x_pitch)
            {
                each[k] = load_four(px, 0);
                residuals[k] = RESIDUAL_FOUR(place + k * width);
            }
            UNROLL for (uint k = 0; k < VECTORS; ++k, py += y_pitch, place += width)
                store_four(FINISHED_FOUR(forward_vector(each[k], mean, a, b), residuals[k], place),
                           py, 0);
        }
        for (; row < end; ++row, px += x_pitch, py += y_pitch, place += width)
            store_four(FINISHED_FOUR(forward_vector(load_four(px, 0), mean, a, b),
                                     RESIDUAL_FOUR(place), place),
                       py, 0);
        return;
    }
    const uint last = width - 1 - element;
    for (; row < end; ++row, px += x_pitch, py += y_pitch, place += width) {
        float each[4];
        uint bits = 0;
        UNROLL for (uint k = 0; k < 4; ++k) each[k] = load_element(px, OWN_ELEMENT(0, k, last));
        UNROLL for (uint k = 0; k < 4; ++k)
            if (k * ELEMENT_STEP <= last)
                store_element(FINISHED_ONE(fma(as[k], each[k] - means[k], bs[k]),
                                           place + k * ELEMENT_STEP, k),
                              py, k * ELEMENT_STEP);
        KEEP_MASK(place);
    }
}
