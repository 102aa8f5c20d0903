/*
 * CPU form, end of step 1: adds the slices of up to four sources. accumulators[i] is the sum of
 * from[s * total + i] over all sources and s < slices; the last int64 of a channel, its flags, is
 * their bitwise or. Global size (int64s per channel, channels), one work-item each. The sums are of
 * integers, so that their order is free. `accumulators` may be a source.
 */
static void add_slices_of(private long *sum, private long *flags, global const long *from,
                          uint slices, ulong i, ulong total)
{
    for (uint s = 0; s < slices; ++s) {
        *sum += from[s * total + i];
        *flags |= from[s * total + i];
    }
}

kernel void add_slices(global const long *from0, uint slices0, global const long *from1,
                       uint slices1, global const long *from2, uint slices2,
                       global const long *from3, uint slices3, global long *accumulators)
{
    const uint k = get_global_id(0), per_channel = get_global_size(0);
    const ulong total = (ulong)per_channel * get_global_size(1);
    const ulong i = (ulong)get_global_id(1) * per_channel + k;
    long sum = 0, flags = 0;
    add_slices_of(&sum, &flags, from0, slices0, i, total);
    add_slices_of(&sum, &flags, from1, slices1, i, total);
    add_slices_of(&sum, &flags, from2, slices2, i, total);
    add_slices_of(&sum, &flags, from3, slices3, i, total);
    accumulators[i] = k + 1 == per_channel ? flags : sum;
}
