/*
 * CPU form, the kernels of step 3: y from x, in the forward pass, evaluation, recomputation and
 * folding. walk_forward.cl has the arithmetic; apply_walk.cl says how work-items map to elements.
 */
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void forward_apply_flat(PARAMETERS(FORWARD_TENSOR_ARGUMENTS),
                        PARAMETERS(FORWARD_APPLY_ARGUMENTS) FORWARD_FUSION_PARAMETERS,
                        PARAMETERS(WALK_ARGUMENTS))
{
    const ulong sample = share_number(1), run = sample * channels * plane; /* 0 if it is one run */
    const ulong begin = share_number(0) * share, end = min(extent, begin + share);
    const ulong planes = quotient_long(begin, plane);
    const uint within = (uint)(begin - planes * plane);
    const uint at = (uint)(planes - quotient_long(planes, channels) * channels);
    global const stored *px = x + x_offset + run + sample * x_gap;
    global const float *weight = weights + weight_offset, *bias = biases + bias_offset;
    global stored *py = y + y_offset + run + sample * y_gap;
    FORWARD_FUSION_OF(run)
    forward_apply_run(px, py, begin, end, extent, at, within, channels, plane, coefficients,
                      channels, weight, bias, affine, scale_only, non_temporal FUSION);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void forward_apply_rows(PARAMETERS(FORWARD_TENSOR_ARGUMENTS),
                        PARAMETERS(FORWARD_APPLY_ARGUMENTS) FORWARD_FUSION_PARAMETERS,
                        PARAMETERS(WALK_ARGUMENTS))
{
    global const float *weight = weights + weight_offset, *bias = biases + bias_offset;
    const ulong width = (ulong)channels * plane, tile = (ulong)get_group_id(0) * TILE;
    const uint count = (uint)min((ulong)TILE, width - tile);
    const ulong begin = share_number(1) * share, end = min(extent, begin + share);
    FORWARD_FUSION_OF(0)
    forward_apply_tile(x + x_offset, x_gap, y + y_offset, y_gap, begin, end, tile, count,
                       coefficients, weight,
                       bias, affine, scale_only, channels, plane, non_temporal FUSION);
}
