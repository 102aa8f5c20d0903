/*
 * GPU form, the end of step 1 of the forward pass. A work-group that has all blocks of its channels, of
 * a replica that is alone, does step 2 of them, too, with `combines`: a work-item takes a channel.
 * combine.cl describes the arguments.
 *
 * `memory`: WORDS_SIZE int64s of local memory, which nothing else uses any more.
 */
#define TAIL_PARAMETERS \
    PARAMETERS(TAIL_ARGUMENTS), PARAMETERS(COMBINE_ARGUMENTS), \
        PARAMETERS(FORWARD_COMBINE_ARGUMENTS), PARAMETERS(TRACKING_ARGUMENTS)
#define TAIL(memory) \
    combine_strip(memory, log2_strip, channels, partial, wide, combines, count, eps, clamps, \
                  coefficients, moments, means, means_offset, vars, vars_offset, layers, tracks, \
                  counts, weight, unbiased, batches)

static INLINED void combine_strip(local long *memory, uint log2_strip, uint channels,
                                  global const long *partial, global long *wide, TAIL_PARAMETERS)
{
    const uint item = get_local_id(0), c = (get_group_id(0) << log2_strip) + item;
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    if (!combines || item >> log2_strip != 0 || c >= channels)
        return;
    combine_forward(partial, 1, wide, partial, 0, wide, partial, 0, wide, partial, 0, wide, wide, 1,
                    channels, memory + item * WIDE_ROOM, c, c + 1, count, eps, clamps, coefficients,
                    moments);
    track(c, 1, channels, moments, means, means_offset, vars, vars_offset, layers, tracks, counts,
          weight, unbiased, batches);
}
