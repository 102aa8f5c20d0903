/*
 * CPU form, end of step 1: adds the slices into the first one. Int64 i of slice s is
 * partial[s * total + i]; the last int64 of a channel, its flags, becomes their bitwise or. One
 * work-item per int64. The sums are of integers, so that their order is free.
 */
kernel __attribute__((reqd_work_group_size(ELEMENTWISE_ITEMS, 1, 1)))
void add_slices(PARAMETERS(ADD_SLICES_ARGUMENTS))
{
    const ulong i = get_global_id(0);
    long sum = 0, flags = 0;
    if (i >= total)
        return;
    for (uint s = 0; s < slices; ++s) {
        sum += partial[s * total + i];
        flags |= partial[s * total + i];
    }
    const ulong end = i + 1;
    partial[i] = quotient_long(end, per_channel) * per_channel == end ? flags : sum;
}
