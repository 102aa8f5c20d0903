/*
 * As tail_forward.cl, for a backward pass: the gradients of weight and bias are stored, too
 * (gradients.cl).
 */
#if COMBINES
#define TAIL_ARGUMENTS \
    , uint combines, ulong count, double eps, uint clamps, global const double *moments, \
        global float *gradients, global float *weight_grad, ulong weight_grad_offset, \
        uint has_weight_grad, global float *bias_grad, ulong bias_grad_offset, \
        uint has_bias_grad, uint accumulate
#define TAIL \
    combine_strip(get_group_id(0) << log2_strip, 1u << log2_strip, channels, partial, wide, \
                  combines, count, eps, clamps, moments, gradients, \
                  weight_grad + weight_grad_offset, has_weight_grad, \
                  bias_grad + bias_grad_offset, has_bias_grad, accumulate)

static INLINED void combine_strip(uint first, uint strip, uint channels, global const long *partial,
                          global long *wide, uint combines, ulong count, double eps, uint clamps,
                          global const double *moments, global float *gradients,
                          global float *weight_grad, uint has_weight_grad,
                          global float *bias_grad, uint has_bias_grad, uint accumulate)
{
    const uint item = get_local_id(0), c = first + item;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (!combines || item >= strip || c >= channels)
        return;
    combine_backward(partial, 1, wide, partial, 0, wide, partial, 0, wide, partial, 0, wide, wide,
                     1, c, c + 1, channels, count, eps, clamps, moments, gradients, partial, 0, 0);
    store_gradients_of(c, c + 1, channels, gradients, weight_grad, has_weight_grad, bias_grad,
                       has_bias_grad, accumulate);
}
#else
#define TAIL_ARGUMENTS
#define TAIL
#endif
