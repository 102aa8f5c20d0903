/*
 * Batch normalisation with the sums in whatever order is fast, to compare the
 * library's exact sums with. One pass over the tensor for both sums, about a
 * shift that is the channel's first element:
 *
 *   forward   s = sum (x - shift), q = sum (x - shift)^2
 *   backward  s = sum dy,          q = sum dy (x - mean)
 *
 * `partial` has C values of s and C of q for each slice of the batch. The finish kernels, with a
 * work-item per channel, add the slices and compute what the apply kernels need,
 * y = a x + b and dx = p dy + q x + r, in arrays of C floats (`table`), after `saved`: mean and
 * invstd.
 *
 * Planes are channels first, of `plane` elements; rows are channels last, or
 * planes of one element.
 */
#pragma OPENCL FP_CONTRACT ON

/* A channel's coefficients from its sums. */
static void forward_numbers(ulong c, float s, float q, float shift, ulong channels, float n,
                            float eps, global const float *weight, global const float *bias,
                            int affine, global float *saved, global float *table)
{
    const float d = s / n;
    const float mean = shift + d, invstd = 1 / sqrt(max(q / n - d * d, 0.0f) + eps);
    const float a = (affine ? weight[c] : 1) * invstd;
    saved[c] = mean;
    saved[channels + c] = invstd;
    table[c] = a;
    table[channels + c] = (affine ? bias[c] : 0) - a * mean;
}

static void backward_numbers(ulong c, float s, float q, ulong channels, float n,
                             global const float *weight, int affine, global const float *saved,
                             global float *weight_grad, global float *bias_grad,
                             global float *table)
{
    const float mean = saved[c], invstd = saved[channels + c];
    const float p = (affine ? weight[c] : 1) * invstd, k = p * invstd * invstd * q / n;
    if (affine) {
        weight_grad[c] = invstd * q;
        bias_grad[c] = s;
    }
    table[c] = p;
    table[channels + c] = -k;
    table[2 * channels + c] = k * mean - p * s / n;
}

kernel void finish_forward(global const float *restrict partial, ulong slices,
                           global const float *restrict x, ulong first, ulong channels, float n,
                           float eps, global const float *restrict weight,
                           global const float *restrict bias, int affine,
                           global float *restrict saved, global float *restrict table)
{
    const ulong c = get_global_id(0);
    float s = 0, q = 0;
    if (c >= channels)
        return;
    for (ulong i = 0; i < slices; ++i) {
        s += partial[2 * i * channels + c];
        q += partial[(2 * i + 1) * channels + c];
    }
    forward_numbers(c, s, q, x[c * first], channels, n, eps, weight, bias, affine, saved, table);
}

kernel void finish_backward(global const float *restrict partial, ulong slices, ulong channels,
                            float n, global const float *restrict weight, int affine,
                            global const float *restrict saved,
                            global float *restrict weight_grad, global float *restrict bias_grad,
                            global float *restrict table)
{
    const ulong c = get_global_id(0);
    float s = 0, q = 0;
    if (c >= channels)
        return;
    for (ulong i = 0; i < slices; ++i) {
        s += partial[2 * i * channels + c];
        q += partial[(2 * i + 1) * channels + c];
    }
    backward_numbers(c, s, q, channels, n, weight, affine, saved, weight_grad, bias_grad, table);
}
