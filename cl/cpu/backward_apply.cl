/*
 * CPU form, the kernels of step 3 of the backward pass: dx from x and dy. walk_backward.cl has the
 * arithmetic; apply_walk.cl says how work-items map to elements.
 */
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void backward_apply_flat(PARAMETERS(BACKWARD_TENSOR_ARGUMENTS),
                         PARAMETERS(BACKWARD_APPLY_ARGUMENTS) BACKWARD_FUSION_PARAMETERS,
                         PARAMETERS(WALK_ARGUMENTS))
{
    const ulong sample = share_number(1), run = sample * channels * plane; /* 0 if it is one run */
    const ulong begin = share_number(0) * share, end = min(extent, begin + share);
    const ulong planes = quotient_long(begin, plane);
    const uint within = (uint)(begin - planes * plane);
    const uint at = (uint)(planes - quotient_long(planes, channels) * channels);
    global const stored *px = x + x_offset + run + sample * x_gap;
    global const stored *pdy = dy + dy_offset + run + sample * dy_gap;
    global const float *weight = weights + weight_offset;
    global stored *pdx = dx + dx_offset + run + sample * dx_gap;
    BACKWARD_FUSION_OF(run, 0)
    backward_apply_run(px, pdy, pdx, begin, end, extent, at, within, channels, plane,
                       coefficients, gradients, channels, weight, affine,
                       non_temporal OWN_FUSION);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void backward_apply_rows(PARAMETERS(BACKWARD_TENSOR_ARGUMENTS),
                         PARAMETERS(BACKWARD_APPLY_ARGUMENTS) BACKWARD_FUSION_PARAMETERS,
                         PARAMETERS(WALK_ARGUMENTS))
{
    global const float *weight = weights + weight_offset;
    const ulong width = (ulong)channels * plane, tile = (ulong)get_group_id(0) * TILE;
    const uint count = (uint)min((ulong)TILE, width - tile);
    const ulong begin = share_number(1) * share, end = min(extent, begin + share);
    BACKWARD_FUSION_OF(0, 0)
    backward_apply_tile(x + x_offset, x_gap, dy + dy_offset, dy_gap, dx + dx_offset, dx_gap,
                        begin, end, tile, count,
                        coefficients, gradients, weight, affine, channels, plane,
                        non_temporal OWN_FUSION);
}
