/*
 * Step 2 of a forward pass on a device: a work-item combines COMBINE_SPAN channels. combine.cl
 * describes the arguments. With `tracks` the running statistics are updated, too.
 */
#if COMBINES
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1)))
void forward_combine(PARAMETERS(SOURCE_ARGUMENTS), PARAMETERS(OWN_WIDE_ARGUMENTS),
                     PARAMETERS(COMBINE_ARGUMENTS),
                     PARAMETERS(FORWARD_COMBINE_ARGUMENTS), PARAMETERS(TRACKING_ARGUMENTS))
{
    ROOM_OF_ITEM;
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    combine_forward(from0, slices0, wide0, from1, slices1, wide1, from2, slices2, wide2, from3,
                    slices3, wide3, own_wide, owns, channels, room, begin, end, count, eps, clamps,
                    coefficients, moments);
    if (begin < channels)
        track(begin, end - begin, channels, moments, means, means_offset, vars, vars_offset,
              layers, tracks, counts, weight, unbiased, batches);
}
#endif
