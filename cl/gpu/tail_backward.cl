/*
 * GPU form, the end of step 1 of the backward pass, as tail_forward.cl. The gradients of weight and
 * bias are stored, too.
 */
#define TAIL_PARAMETERS \
    PARAMETERS(TAIL_ARGUMENTS), PARAMETERS(COMBINE_ARGUMENTS), \
        PARAMETERS(BACKWARD_COMBINE_ARGUMENTS), PARAMETERS(STORE_ARGUMENTS)
#define TAIL(memory) \
    combine_strip(memory, log2_strip, channels, partial, wide, NAMES(TAIL_ARGUMENTS), \
                  NAMES(COMBINE_ARGUMENTS), NAMES(BACKWARD_COMBINE_ARGUMENTS), \
                  NAMES(STORE_ARGUMENTS))

static INLINED void combine_strip(local long *memory, uint log2_strip, uint channels,
                                  global long *partial, global long *wide, TAIL_PARAMETERS)
{
    const uint item = anew(get_local_id(0)), c = (anew(get_group_id(0)) << log2_strip) + item;
    if (!is_to_combine(memory, log2_strip, channels, partial, wide, tail))
        return;
    combine_backward(ONE_SOURCE(partial, 1, wide), wide, true, channels, memory + item * WIDE_ROOM,
                     c, c + 1, NAMES(COMBINE_ARGUMENTS), NAMES(BACKWARD_COMBINE_ARGUMENTS), partial,
                     0, 0);
    store_gradients_of(c, c + 1, channels, gradients, NAMES(STORE_ARGUMENTS));
}
