/*
 * GPU form, step 1: the flags of a block that may have elements that are not finite. Those of each
 * element, joined, equal those of the block's mean (flags_of in accumulator.cl), and need no order.
 * One text for both passes. The block begins in row `row`, and its elements are `rows_apart` rows
 * apart.
 */
static int PASS(flags_of_elements)(private const PASS(tensors) *tensors, ulong place, ulong row,
                                   uint n, ulong stride, uint rows_apart, PASS(line) line)
{
    int flags = 0;
    for (uint i = 0; i < n; ++i) {
        const float v = PASS(summed)(tensors, place + i * stride, row + i * rows_apart, line);
        if (!isfinite(v))
            flags |= flags_of(v);
    }
    return flags ? flags : FLAG_OVERFLOW;
}
