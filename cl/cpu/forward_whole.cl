/*
 * CPU form: a whole forward pass in one launch, for a group of one replica. A work-item reduces,
 * combines and applies a strip of channels over all samples, so that it reads x the second time
 * from its core's cache. There is a kernel for channels first and one for channels last.
 *
 * With `tracks` it also updates the running statistics. For the arguments see batches.cl,
 * combine.cl and walk_forward.cl; `accumulators` has room for all channels.
 */
#if COMBINES
#define FORWARD_WHOLE_PARAMETERS \
    PARAMETERS(FORWARD_TENSOR_ARGUMENTS), PARAMETERS(WHOLE_ARGUMENTS), \
        PARAMETERS(FORWARD_STEP_2_ARGUMENTS) FORWARD_FUSION_PARAMETERS

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void forward_whole_nchw(FORWARD_WHOLE_PARAMETERS)
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
    for (ulong s = samples; s > 0; --s) {
        const ulong run = (s - 1) * row + (ulong)c * plane, size = (ulong)width * plane;
        FORWARD_FUSION_OF(run)
        forward_apply_run(x + x_offset + run + (s - 1) * x_gap,
                          y + y_offset + run + (s - 1) * y_gap, 0, size, size, 0, 0, width, plane,
                          coefficients + c, channels, weights + weight_offset + c,
                          biases + bias_offset + c, affine, 0, non_temporal FUSION);
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void forward_whole_nhwc(FORWARD_WHOLE_PARAMETERS)
{
    ROOM_OF_ITEM;
    const uint c = get_group_id(0) * strip, width = min(strip, channels - c);
    const pass_tensors tensors = PASS_TENSORS(channels, count);
    sum_strip(&tensors, channels, plane, blocks, c, width, 0, samples * blocks, last_reciprocal,
              accumulators + (ulong)c * PASS_LENGTH, wide, thin);
    COMBINE_SUMS(accumulators, room, c, c + width);
    FORWARD_FUSION_OF(0)
    forward_apply_tile(x + x_offset, x_gap, y + y_offset, y_gap, 0, count, c, width, coefficients,
                       weights + weight_offset, biases + bias_offset, affine, 0, channels, 1,
                       non_temporal FUSION);
}
#endif
