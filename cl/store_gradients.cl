/*
 * Writes the gradients of weight and bias to the caller's buffers, of which either may be missing:
 * out = gradient, or out += gradient. gradients: rows ROW_WEIGHT_GRAD and ROW_BIAS_GRAD of a float
 * per channel. One work-item per channel.
 */
static void store_gradient(float gradient, global float *out, uint accumulate)
{
    *out = accumulate ? *out + gradient : gradient;
}

kernel void store_gradients(global const float *restrict gradients,
                            global float *restrict weight_grad, ulong weight_grad_offset,
                            uint has_weight_grad, global float *restrict bias_grad,
                            ulong bias_grad_offset, uint has_bias_grad, uint accumulate)
{
    const uint c = get_global_id(0), channels = get_global_size(0);
    if (has_weight_grad)
        store_gradient(gradients[table_row(ROW_WEIGHT_GRAD, channels) + c],
                       weight_grad + weight_grad_offset + c, accumulate);
    if (has_bias_grad)
        store_gradient(gradients[table_row(ROW_BIAS_GRAD, channels) + c],
                       bias_grad + bias_grad_offset + c, accumulate);
}
