/*
 * CPU form, step 1 of the backward pass: its kernels, for channels first (reduce_nchw.cl) and last
 * (reduce_nhwc.cl). sums_backward.cl has the arithmetic.
 */
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void backward_reduce_nchw(TENSOR_PARAMETERS, SLICE_PARAMETERS)
{
    const pass_tensors tensors = PASS_TENSORS((ulong)channels * plane, samples);
    reduce_nchw(&tensors, SLICE);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void backward_reduce_nhwc(TENSOR_PARAMETERS, SLICE_PARAMETERS)
{
    const pass_tensors tensors = PASS_TENSORS((ulong)channels, (ulong)samples * plane);
    reduce_nhwc(&tensors, SLICE);
}
