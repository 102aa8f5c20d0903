/*
 * The gradients of weight and bias, which the caller may not want: out = gradient, or, with `accumulate`, out +=
 * gradient. gradients: rows ROW_WEIGHT_GRAD and ROW_BIAS_GRAD, one float per channel.
 */
static void store_gradient(float gradient, global float *out, uint accumulate)
{
    *out = accumulate ? *out + gradient : gradient;
}

/* Writes those of channels c ... end - 1 of `channels`. */
static void store_gradients_of(uint c, uint end, uint channels, global const float *gradients,
                               PARAMETERS(STORE_ARGUMENTS))
{
    for (; c < end; ++c) {
        if (has_weight_grad)
            store_gradient(gradients[table_row(ROW_WEIGHT_GRAD, channels) + c],
                           weight_grad + weight_grad_offset + c, accumulate);
        if (has_bias_grad)
            store_gradient(gradients[table_row(ROW_BIAS_GRAD, channels) + c],
                           bias_grad + bias_grad_offset + c, accumulate);
    }
}
