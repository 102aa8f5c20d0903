/*
 * CPU form: a whole backward pass in one launch, for a group of one replica; see forward_whole.cl.
 * dx may be written over dy; dx and the gradients of weight and bias are optional (has_*).
 */
#if COMBINES
#define BACKWARD_WHOLE_PARAMETERS \
    PARAMETERS(BACKWARD_TENSOR_ARGUMENTS), PARAMETERS(WHOLE_ARGUMENTS), \
        PARAMETERS(BACKWARD_STEP_2_ARGUMENTS), PARAMETERS(BACKWARD_WHOLE_ARGUMENTS) \
            BACKWARD_FUSION_PARAMETERS

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void backward_whole_nchw(BACKWARD_WHOLE_PARAMETERS)
{
    ROOM_OF_ITEM;
    const uint c = get_group_id(0) * strip, width = min(strip, channels - c);
    const ulong row = (ulong)channels * plane;
    const pass_tensors tensors = PASS_TENSORS(row, samples);
    sum_planes(&tensors, c, width, channels, plane, blocks, strip == 1, 0,
               strip == 1 ? samples * blocks : samples, last_reciprocal,
               accumulators + (ulong)c * PASS_LENGTH, wide, thin);
    COMBINE_SUMS(accumulators, room, c, c + width);
    /* The sample that was read last is still in the cache. */
    for (ulong s = has_dx ? samples : 0; s > 0; --s) {
        const ulong run = (s - 1) * row + (ulong)c * plane, size = (ulong)width * plane;
        BACKWARD_FUSION_OF(run, c)
        backward_apply_run(x + x_offset + run + (s - 1) * x_gap,
                           dy + dy_offset + run + (s - 1) * dy_gap,
                           dx + dx_offset + run + (s - 1) * dx_gap, 0, size, size, 0, 0, width,
                           plane, coefficients + c, gradients + c, channels,
                           weights + weight_offset + c, affine, non_temporal OWN_FUSION);
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void backward_whole_nhwc(BACKWARD_WHOLE_PARAMETERS)
{
    ROOM_OF_ITEM;
    const uint c = get_group_id(0) * strip, width = min(strip, channels - c);
    const pass_tensors tensors = PASS_TENSORS(channels, count);
    sum_strip(&tensors, channels, plane, blocks, c, width, 0, samples * blocks, last_reciprocal,
              accumulators + (ulong)c * PASS_LENGTH, wide, thin);
    COMBINE_SUMS(accumulators, room, c, c + width);
    if (has_dx) {
        BACKWARD_FUSION_OF(0, 0)
        backward_apply_tile(x + x_offset, x_gap, dy + dy_offset, dy_gap, dx + dx_offset, dx_gap, 0,
                            count, c, width, coefficients, gradients, weights + weight_offset,
                            affine, channels, 1, non_temporal OWN_FUSION);
    }
}
#endif
