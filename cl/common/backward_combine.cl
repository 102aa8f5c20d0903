/* Step 2 of a backward pass on a device: combine.cl and combine_backward.cl describe the arguments. */
#if COMBINES
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1)))
void backward_combine(PARAMETERS(SOURCE_ARGUMENTS), PARAMETERS(OWN_WIDE_ARGUMENTS),
                      PARAMETERS(BACKWARD_STEP_2_ARGUMENTS), PARAMETERS(OWN_ARGUMENTS))
{
    ROOM_OF_ITEM;
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    combine_backward(NAMES(SOURCE_ARGUMENTS), NAMES(OWN_WIDE_ARGUMENTS), room, begin, end,
                     NAMES(COMBINE_ARGUMENTS), NAMES(BACKWARD_COMBINE_ARGUMENTS),
                     NAMES(OWN_ARGUMENTS));
    store_gradients_of(begin, end, channels, gradients, NAMES(STORE_ARGUMENTS));
}
#endif
