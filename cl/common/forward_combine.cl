/*
 * Step 2 of a forward pass on a device: a work-item combines COMBINE_SPAN channels. combine.cl
 * describes the arguments. With `tracks` the running statistics are updated, too.
 */
#if COMBINES
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1)))
void forward_combine(SOURCES, global long *own_wide, uint owns, uint channels, ulong count,
                     double eps, uint clamps,
                     global float *restrict coefficients, global double *moments,
                     global float *restrict running, uint tracks, double weight, double unbiased,
                     long batches)
{
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    combine_forward(from0, slices0, wide0, from1, slices1, wide1, from2, slices2, wide2, from3,
                    slices3, wide3, own_wide, owns, begin, end, channels, count, eps, clamps,
                    coefficients, moments);
    if (!tracks)
        return;
    if (begin < channels)
        track(begin, end - begin, channels, moments, running, weight, unbiased);
    if (begin == 0)
        *(global long *)(running + 2 * (ulong)channels) = batches;
}
#endif
