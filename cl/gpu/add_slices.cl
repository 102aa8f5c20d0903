/*
 * GPU form, end of step 1: adds the slices into the first one. Int64 i of slice s is
 * partial[s * total + i]; the last int64 of a channel, its flags, becomes their bitwise or. A
 * work-group adds SLICE_WORDS int64s, with SLICE_PARTS work-items for each; neighbouring work-items
 * read neighbouring int64s. The sums are of integers, so that their order is free.
 */
#define SLICE_WORDS (1 << LOG2_SLICE_WORDS)
#define SLICE_PARTS (ITEMS >> LOG2_SLICE_WORDS)
#define SLICES_AT_ONCE 8

/* Whether an int64 of a work-group is a channel's last: in 32 bits, which hold the group's number. */
static bool is_last_word(uint group, uint word, uint per_channel)
{
    const uint before = group - quotient(group, per_channel) * per_channel;
    const uint end = before * SLICE_WORDS + word + 1;
    return quotient(end, per_channel) * per_channel == end;
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void add_slices(PARAMETERS(ADD_SLICES_ARGUMENTS))
{
    local long sums[ITEMS], all_flags[ITEMS];
    const uint item = get_local_id(0);
    const ulong i = (ulong)get_group_id(0) * SLICE_WORDS + (item & (SLICE_WORDS - 1));
    long sum = 0, flags = 0;
    const uint first = item >> LOG2_SLICE_WORDS;
    /* What is past the end of the last slice is not the buffer's. */
    for (uint s = first; s < (i < total ? slices : 0); s += SLICE_PARTS * SLICES_AT_ONCE) {
        long each[SLICES_AT_ONCE];
        UNROLL for (uint k = 0; k < SLICES_AT_ONCE; ++k)
            each[k] = partial[min(s + k * SLICE_PARTS, slices - 1) * total + i];
        UNROLL for (uint k = 0; k < SLICES_AT_ONCE; ++k) if (s + k * SLICE_PARTS < slices) {
                sum += each[k];
                flags |= each[k];
            }
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
        partial[i] = is_last_word((uint)get_group_id(0), item, per_channel) ? all_flags[item]
                                                                            : sums[item];
}
