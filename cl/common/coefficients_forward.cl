/*
 * Step 3 of the forward pass, evaluation, recomputation and folding: y from x,
 *
 *   y = a (x - mean) + b,  a = weight invstd,  b = bias - a mean_low
 *
 * where mean + mean_low is the mean in two floats. (a x + b would lose the digits of a mean that is large against its
 * spread.) With `scale_only` mean and bias count as 0: dx of constant statistics from dy, and folded weights.
 *
 * coefficients: rows ROW_MEAN_HIGH, ROW_MEAN_LOW and ROW_INVSTD of `total` floats each.
 */

/* mean, a and b of a channel. */
static float apply_mean(global const float *coefficients, uint scale_only, uint total, uint c)
{
    return scale_only ? 0.0f : coefficients[table_row(ROW_MEAN_HIGH, total) + c];
}

static float forward_scale(global const float *coefficients, global const float *weight,
                           uint affine, uint total, uint c)
{
    return (affine ? weight[c] : 1.0f) * coefficients[table_row(ROW_INVSTD, total) + c];
}

static float forward_shift(global const float *coefficients, global const float *bias, uint affine,
                           uint scale_only, uint total, uint c, float a)
{
    const float mean_low = scale_only ? 0.0f : coefficients[table_row(ROW_MEAN_LOW, total) + c];
    return fma(-a, mean_low, affine && !scale_only ? bias[c] : 0.0f);
}
