/* Step 2 of a forward pass on a device: combine.cl and combine_forward.cl describe the arguments. */
#if COMBINES
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1)))
void forward_combine(PARAMETERS(SOURCE_ARGUMENTS), PARAMETERS(OWN_WIDE_ARGUMENTS),
                     PARAMETERS(FORWARD_STEP_2_ARGUMENTS))
{
    ROOM_OF_ITEM;
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    combine_forward(NAMES(SOURCE_ARGUMENTS), NAMES(OWN_WIDE_ARGUMENTS), room, begin, end,
                    NAMES(FORWARD_STEP_2_ARGUMENTS));
}
#endif
