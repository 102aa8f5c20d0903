/*
 * GPU form, end of step 1: adds the slices of up to four sources. accumulators[i] is the sum of
 * from[s * total + i] over all sources and s < slices; the last int64 of a channel, its flags, is
 * their bitwise or. A work-group adds SLICE_WORDS int64s, with SLICE_PARTS work-items for each;
 * neighbouring work-items read neighbouring int64s. The sums are of integers, so that their order
 * is free. `accumulators` may be a source.
 */
#define SLICE_WORDS (1 << LOG2_SLICE_WORDS)
#define SLICE_PARTS (ITEMS >> LOG2_SLICE_WORDS)
#define SLICES_AT_ONCE 8

static void add_slices_of(private long *sum, private long *flags, global const long *from,
                          uint slices, uint first, ulong at, ulong total)
{
    for (uint s = first; s < slices; s += SLICE_PARTS * SLICES_AT_ONCE) {
        long each[SLICES_AT_ONCE];
        _Pragma("unroll") for (uint k = 0; k < SLICES_AT_ONCE; ++k)
            each[k] = from[min(s + k * SLICE_PARTS, slices - 1) * total + at];
        _Pragma("unroll") for (uint k = 0; k < SLICES_AT_ONCE; ++k)
            if (s + k * SLICE_PARTS < slices) {
                *sum += each[k];
                *flags |= each[k];
            }
    }
}

/* Whether an int64 of a work-group is a channel's last: in 32 bits, which hold the group's number. */
static bool is_last_word(uint group, uint word, uint per_channel)
{
    const uint before = group - quotient(group, per_channel) * per_channel;
    const uint end = before * SLICE_WORDS + word + 1;
    return quotient(end, per_channel) * per_channel == end;
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void add_slices(PARAMETERS(SLICE_SOURCES_ARGUMENTS), PARAMETERS(ADD_SLICES_ARGUMENTS))
{
    local long sums[ITEMS], all_flags[ITEMS];
    const uint item = get_local_id(0);
    const ulong i = (ulong)get_group_id(0) * SLICE_WORDS + (item & (SLICE_WORDS - 1));
    long sum = 0, flags = 0;
    const uint first = item >> LOG2_SLICE_WORDS;
    /* What is past the end must not be read: a work-item may be replacing the last int64. */
    if (i < total) {
        add_slices_of(&sum, &flags, from0, slices0, first, i, total);
        add_slices_of(&sum, &flags, from1, slices1, first, i, total);
        add_slices_of(&sum, &flags, from2, slices2, first, i, total);
        add_slices_of(&sum, &flags, from3, slices3, first, i, total);
    }
    sums[item] = sum;
    all_flags[item] = flags;
    for (uint apart = ITEMS >> 1; apart >= SLICE_WORDS; apart >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < apart) {
            sums[item] += sums[item + apart];
            all_flags[item] |= all_flags[item + apart];
        }
    }
    if (item < SLICE_WORDS && i < total)
        accumulators[i] = is_last_word((uint)get_group_id(0), item, per_channel) ? all_flags[item]
                                                                                 : sums[item];
}
