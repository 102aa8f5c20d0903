/*
 * Hands the gradients of weight and bias to the caller's buffers, of which either may be missing:
 * out = sums, or out += sums. sums: weight_grads, bias_grads, [channels] each, from an offset.
 * One work-item per channel.
 */
static void store_gradient(float sum, global float *out, uint accumulate)
{
    *out = accumulate ? *out + sum : sum;
}

kernel void store_gradients(global const float *restrict sums, ulong sums_offset,
                            global float *restrict weight_grad, ulong weight_grad_offset,
                            uint has_weight_grad, global float *restrict bias_grad,
                            ulong bias_grad_offset, uint has_bias_grad, uint accumulate)
{
    const uint c = get_global_id(0), channels = get_global_size(0);
    global const float *of_channel = sums + sums_offset + c;
    if (has_weight_grad)
        store_gradient(of_channel[0], weight_grad + weight_grad_offset + c, accumulate);
    if (has_bias_grad)
        store_gradient(of_channel[channels], bias_grad + bias_grad_offset + c, accumulate);
}
