/*
 * CPU form, step 1: its kernels, for channels first (reduce_nchw.cl) and last (reduce_nhwc.cl). The
 * pass's file has the arithmetic.
 */
/* forward_reduce_nchw, backward_reduce_nchw */
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void PASS_KERNEL(reduce_nchw)(TENSOR_PARAMETERS, SLICE_PARAMETERS)
{
    const pass_tensors tensors = PASS_TENSORS((ulong)channels * plane, samples);
    reduce_nchw(&tensors, SLICE);
}

/* forward_reduce_nhwc, backward_reduce_nhwc */
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void PASS_KERNEL(reduce_nhwc)(TENSOR_PARAMETERS, SLICE_PARAMETERS)
{
    const pass_tensors tensors = PASS_TENSORS((ulong)channels, (ulong)samples * plane);
    reduce_nhwc(&tensors, SLICE);
}
