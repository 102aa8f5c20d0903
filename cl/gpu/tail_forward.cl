/*
 * GPU form, the end of step 1 of the forward pass: step 2, with a `tail` of 2, where the work-group is the
 * last of its channels (tail.cl). A work-item takes a channel. combine.cl describes the arguments.
 */
#define TAIL_PARAMETERS \
    PARAMETERS(TAIL_ARGUMENTS), PARAMETERS(COMBINE_ARGUMENTS), \
        PARAMETERS(FORWARD_COMBINE_ARGUMENTS), PARAMETERS(TRACKING_ARGUMENTS)
#define TAIL(memory) \
    combine_strip(memory, log2_strip, channels, partial, wide, NAMES(TAIL_ARGUMENTS), \
                  NAMES(COMBINE_ARGUMENTS), NAMES(FORWARD_COMBINE_ARGUMENTS), \
                  NAMES(TRACKING_ARGUMENTS))

static INLINED void combine_strip(local long *memory, uint log2_strip, uint channels,
                                  global long *partial, global long *wide, TAIL_PARAMETERS)
{
    const uint item = anew(get_local_id(0)), c = (anew(get_group_id(0)) << log2_strip) + item;
    if (!is_to_combine(memory, log2_strip, channels, partial, wide, tail))
        return;
    combine_forward(ONE_SOURCE(partial, 1, wide), wide, true, channels, memory + item * WIDE_ROOM,
                    c, c + 1, NAMES(COMBINE_ARGUMENTS), NAMES(FORWARD_COMBINE_ARGUMENTS));
    track(c, c + 1, channels, moments, NAMES(TRACKING_ARGUMENTS));
}
