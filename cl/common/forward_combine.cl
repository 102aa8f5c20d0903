/*
 * Step 2 of a forward pass on a device: a work-item combines COMBINE_SPAN channels. combine.cl
 * describes the arguments. The wide format is combined last. With `tracks` the running statistics
 * are updated then, each by the work-item that may just have repeated the channel.
 */
#if COMBINES
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1)))
void forward_combine(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint channels,
                     global uchar *restrict repeat, ulong count, number eps, uint clamps,
                     global float *restrict coefficients, global number *moments,
                     TRACKING)
{
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    combine_forward(from0, slices0, from1, slices1, from2, slices2, from3, slices3, begin, end,
                    channels, repeat, count, eps, clamps, coefficients, moments);
    if (begin < channels)
        track(begin, end - begin, channels, moments, means, means_offset, vars, vars_offset,
              layers, tracks, counts, weight, unbiased, batches);
}
#endif
