/*
 * Step 1, last: adds the slices. accumulators[i] = sum over s of partial[s * total + i]; the last
 * int64 of a channel, its flags, by or. Global size (int64s per channel, channels), a work-item for
 * each. Sums of integers: any order will do.
 */
kernel void add_slices(global const long *restrict partial, uint slices,
                       global long *restrict accumulators)
{
    const uint k = get_global_id(0), per_channel = get_global_size(0);
    const ulong total = (ulong)per_channel * get_global_size(1);
    const ulong i = (ulong)get_global_id(1) * per_channel + k;
    long sum = 0, flags = 0;
    for (uint s = 0; s < slices; ++s) {
        sum += partial[s * total + i];
        flags |= partial[s * total + i];
    }
    accumulators[i] = k + 1 == per_channel ? flags : sum;
}
