/*
 * GPU form: tests that the last work-group of a strip sees what the others wrote (last_slice.cl), also where it has
 * read that memory before.
 *
 * Work-group (strip; slice), of SLICES, as large as those that reduce: a fence must do for all its warps. A work-item
 * reads its place in all slices, writes to that of its own, and in the last work-group adds up all slices. The sums are
 * what src/program/self_test.c expects.
 */
#ifdef DEVICE_FENCE
static uint self_test_sum_slices(global const uint *slots, uint at, uint stride)
{
    uint sum = 0;
    for (uint s = 0; s < get_num_groups(1); ++s)
        sum += slots[s * stride + at];
    return sum;
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void self_test_slices(global uint *slots, volatile global uint *arrived, global uint *sums)
{
    local int flag;
    const uint at = get_global_id(0), stride = get_global_size(0), slice = get_group_id(1);
    /* Never as much as that: the reads must stay. */
    const uint none = self_test_sum_slices(slots, at, stride) == 0xffffffffu;
    slots[slice * stride + at] = none ? 0 : (slice + 1) * (at + 1);
    if (is_last_slice(arrived + get_group_id(0), get_num_groups(1), &flag))
        sums[at] = self_test_sum_slices(slots, at, stride);
}
#endif
