/*
 * GPU form, step 1: the flags of a block that may have elements that are not finite. Those of each
 * element, joined, equal those of the block's mean (flags_of in accumulator.cl), and need no order.
 */
static int flags_of_elements(private const pass_tensors *tensors, block_place block, uint n,
                             pass_line line)
{
    int flags = 0;
    for (uint i = 0; i < n; ++i) {
        const float v = pass_summed(tensors, block, i, line);
        if (!isfinite(v))
            flags |= flags_of(v);
    }
    return flags ? flags : FLAG_OVERFLOW;
}
