/*
 * GPU form, step 1: its kernels. They have the same arguments and differ in how work-items map to the tensor's
 * blocks, which the file of each body says: reduce_planes.cl, and reduce_rows.cl for planes of one element, whose
 * programs are those of channels last. Large planes are the last of planes: Intel's compiler has 2 of 16 loads in
 * flight for those before them. The pass's file has the arithmetic, of rows in pass_add_run.
 */
/* forward_reduce_small_planes, backward_reduce_small_planes */
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void PASS_KERNEL(reduce_small_planes)(TENSOR_PARAMETERS, TAIL_PARAMETERS, SLICE_PARAMETERS)
{
    PLANES_MEMORY_OF(LOG2_SMALL_PLANES);
    const pass_tensors tensors = PASS_TENSORS;
    reduce_small_planes(&tensors, SLICE, PLANES_MEMORY);
    TAIL(shared);
}

/* forward_reduce_large_planes, backward_reduce_large_planes */
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void PASS_KERNEL(reduce_large_planes)(TENSOR_PARAMETERS, TAIL_PARAMETERS, SLICE_PARAMETERS)
{
    PLANES_MEMORY_OF(0);
    const pass_tensors tensors = PASS_TENSORS;
    reduce_large_planes(&tensors, SLICE, PLANES_MEMORY);
    TAIL(shared);
}

#if CHANNELS_LAST
/* forward_reduce_rows, backward_reduce_rows */
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void PASS_KERNEL(reduce_rows)(TENSOR_PARAMETERS, TAIL_PARAMETERS, SLICE_PARAMETERS)
{
    local long words[WORDS_SIZE];
    local int all_flags[ITEMS];
    const pass_tensors tensors = PASS_TENSORS;
    reduce_rows(&tensors, SLICE, words, all_flags);
    TAIL(words);
}
#endif
