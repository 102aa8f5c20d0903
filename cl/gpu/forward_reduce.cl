/*
 * GPU form, step 1 of the forward pass: its kernels. They have the same arguments and differ in how
 * work-items map to the tensor's blocks, which the file of each body says: reduce_planes.cl, and
 * reduce_rows.cl for planes of one element. Columns are planes whose channels come last.
 * sums_forward.cl has the arithmetic, of rows in pass_add_run.
 */
#define TENSOR_PARAMETERS PARAMETERS(FORWARD_REDUCE_ARGUMENTS)
#define TENSORS(stride, rows) {{stride, rows}, x + x_offset, GAP(x_gap)}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void forward_reduce_large_planes(TENSOR_PARAMETERS, TAIL_PARAMETERS, SLICE_PARAMETERS)
{
    local long shared[SHARED_SIZE];
    local float pivot_rows[PIVOTS_SIZE(0)], pivots[TASKS], folded[PASS_SUMS * TASKS];
    local int all_flags[SLOTS];
    local int poor[TASKS], some_poor;
    const pass_tensors tensors = TENSORS(1, 0);
    reduce_large_planes(&tensors, SLICE, shared, pivot_rows, pivots, folded, all_flags, poor,
                        &some_poor);
#ifndef LARGE_PLANES_ALONE
    TAIL(shared);
#endif
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void forward_reduce_small_planes(TENSOR_PARAMETERS, TAIL_PARAMETERS, SLICE_PARAMETERS)
{
    local long shared[SHARED_SIZE];
    local float pivot_rows[PIVOTS_SIZE(LOG2_SMALL_PLANES)], pivots[TASKS],
        folded[PASS_SUMS * TASKS];
    local int all_flags[SLOTS];
    local int poor[TASKS], some_poor;
    const pass_tensors tensors = TENSORS(1, 0);
    reduce_small_planes(&tensors, SLICE, shared, pivot_rows, pivots, folded, all_flags, poor,
                        &some_poor);
    TAIL(shared);
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void forward_reduce_large_columns(TENSOR_PARAMETERS, TAIL_PARAMETERS, SLICE_PARAMETERS)
{
    local long shared[SHARED_SIZE];
    local float pivot_rows[PIVOTS_SIZE(0)], pivots[TASKS], folded[PASS_SUMS * TASKS];
    local int all_flags[SLOTS];
    local int poor[TASKS], some_poor;
    const pass_tensors tensors = TENSORS(channels, 1);
    reduce_large_columns(&tensors, SLICE, shared, pivot_rows, pivots, folded, all_flags, poor,
                        &some_poor);
#ifndef LARGE_PLANES_ALONE
    TAIL(shared);
#endif
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void forward_reduce_small_columns(TENSOR_PARAMETERS, TAIL_PARAMETERS, SLICE_PARAMETERS)
{
    local long shared[SHARED_SIZE];
    local float pivot_rows[PIVOTS_SIZE(LOG2_SMALL_PLANES)], pivots[TASKS],
        folded[PASS_SUMS * TASKS];
    local int all_flags[SLOTS];
    local int poor[TASKS], some_poor;
    const pass_tensors tensors = TENSORS(channels, 1);
    reduce_small_columns(&tensors, SLICE, shared, pivot_rows, pivots, folded, all_flags, poor,
                        &some_poor);
    TAIL(shared);
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void forward_reduce_rows(TENSOR_PARAMETERS, TAIL_PARAMETERS, SLICE_PARAMETERS)
{
    local long words[WORDS_SIZE];
    local int all_flags[ITEMS];
    const pass_tensors tensors = TENSORS(channels, 1);
    reduce_rows(&tensors, SLICE, words, all_flags);
    TAIL(words);
}
