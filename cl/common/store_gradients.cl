/*
 * Writes the gradients of weight and bias to the caller's buffers, either of which may be missing:
 * out = gradient, or, with `accumulate`, out += gradient. gradients: rows ROW_WEIGHT_GRAD and
 * ROW_BIAS_GRAD, one float per channel. One work-item per channel.
 */
static void store_gradient(float gradient, global float *out, uint accumulate)
{
    *out = accumulate ? *out + gradient : gradient;
}

/* The same for channels c ... end - 1 of `channels`. */
static void store_gradients_of(uint c, uint end, uint channels, global const float *gradients,
                               global float *weight_grad, uint has_weight_grad,
                               global float *bias_grad, uint has_bias_grad, uint accumulate)
{
    for (; c < end; ++c) {
        if (has_weight_grad)
            store_gradient(gradients[table_row(ROW_WEIGHT_GRAD, channels) + c], weight_grad + c,
                           accumulate);
        if (has_bias_grad)
            store_gradient(gradients[table_row(ROW_BIAS_GRAD, channels) + c], bias_grad + c,
                           accumulate);
    }
}

kernel __attribute__((reqd_work_group_size(ELEMENTWISE_ITEMS, 1, 1)))
void store_gradients(global const float *restrict gradients,
                     global float *restrict weight_grad, ulong weight_grad_offset,
                     uint has_weight_grad, global float *restrict bias_grad,
                     ulong bias_grad_offset, uint has_bias_grad, uint accumulate, uint channels)
{
    const uint c = get_global_id(0);
    if (c < channels)
        store_gradients_of(c, c + 1, channels, gradients, weight_grad + weight_grad_offset,
                           has_weight_grad, bias_grad + bias_grad_offset, has_bias_grad,
                           accumulate);
}
