/*
 * Step 3 of the backward pass: dx from x and dy,
 *
 *   dx = p (dy - g) + q (x - mean) + r
 *   p = weight invstd,  q = -p k,  r = -(p g_low + q mean_low)
 *
 * where g + g_low is the mean of dy in two floats and k = invstd^2 sum(dy (x - mean)) / n. Step 2 computes mean,
 * invstd, g, g_low and k. From the output (inversion.cl) z stands for x, the bias for the mean, and
 *
 *   q = -k,  r = -p g_low
 *
 * coefficients: rows of ROW_MEAN_HIGH, ROW_MEAN_LOW and ROW_INVSTD; gradients: rows of ROW_G_HIGH,
 * ROW_G_LOW and ROW_K; `total` floats each.
 */

/* q and r of a channel; p is forward_scale. */
static float backward_q(global const float *gradients, uint total, uint c, float p)
{
#if FROM_OUTPUT
    return -gradients[table_row(ROW_K, total) + c];
#else
    return -p * gradients[table_row(ROW_K, total) + c];
#endif
}

static float backward_r(global const float *coefficients, global const float *gradients,
                        uint total, uint c, float p, float q)
{
#if FROM_OUTPUT
    return -p * gradients[table_row(ROW_G_LOW, total) + c];
#else
    const float q_low = q * coefficients[table_row(ROW_MEAN_LOW, total) + c];
    return fma(-p, gradients[table_row(ROW_G_LOW, total) + c], -q_low);
#endif
}

static real backward_value(real x, real dy, real mean, real g, real p, real q, real r)
{
    return plus_zero(fma(p, dy - g, fma(q, x - mean, r)));
}

#if !CPU_FORM
static float4 backward_four(float4 x, float4 dy, float4 mean, float4 g, float4 p, float4 q,
                            float4 r)
{
    return (float4)(backward_value(x.x, dy.x, mean.x, g.x, p.x, q.x, r.x),
                    backward_value(x.y, dy.y, mean.y, g.y, p.y, q.y, r.y),
                    backward_value(x.z, dy.z, mean.z, g.z, p.z, q.z, r.z),
                    backward_value(x.w, dy.w, mean.w, g.w, p.w, q.w, r.w));
}
#endif
