/*
 * CPU form, end of step 1: adds the slices of up to four sources. accumulators[i] is the sum of
 * from[s * total + i] over all sources and s < slices; the last int64 of a channel, its flags, is
 * their bitwise or. One work-item per int64. The sums are of integers, so that their order is
 * free. `accumulators` may be a source.
 */
static void add_slices_of(private long *sum, private long *flags, global const long *from,
                          uint slices, ulong i, ulong total)
{
    for (uint s = 0; s < slices; ++s) {
        *sum += from[s * total + i];
        *flags |= from[s * total + i];
    }
}

kernel __attribute__((reqd_work_group_size(ELEMENTWISE_ITEMS, 1, 1)))
void add_slices(PARAMETERS(SLICE_SOURCES_ARGUMENTS), PARAMETERS(ADD_SLICES_ARGUMENTS))
{
    const ulong i = get_global_id(0);
    long sum = 0, flags = 0;
    if (i >= total)
        return;
    add_slices_of(&sum, &flags, from0, slices0, i, total);
    add_slices_of(&sum, &flags, from1, slices1, i, total);
    add_slices_of(&sum, &flags, from2, slices2, i, total);
    add_slices_of(&sum, &flags, from3, slices3, i, total);
    const ulong end = i + 1;
    accumulators[i] = quotient_long(end, per_channel) * per_channel == end ? flags : sum;
}
