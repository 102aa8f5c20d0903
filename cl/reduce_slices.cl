/*
 * Step 1, last: adds slices, of one replica or of up to four. accumulators[i] = the sum over
 * s < slices and all sources of from[s * total + i]; the last int64 of a channel, its flags, by or.
 * Global size (int64s per channel, channels), a work-item for each. Sums of integers: any order will
 * do. `accumulators` may be a source.
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
