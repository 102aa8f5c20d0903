/*
 * Batch normalisation for CPUs with the sums in whatever order is fast, to compare the library's exact
 * sums with. One pass over the tensor for both sums, about a shift that is the channel's first element:
 *
 *   forward   s = sum (x - shift), q = sum (x - shift)^2
 *   backward  s = sum dy,          q = sum dy (x - mean)
 *
 * From these come `saved`, mean and invstd of each channel, and `table`, with what the results need:
 * y = f x + q and dx = f dy + q x + r. Both are arrays of C floats for each number. A work-group is one
 * work-item, which has vectors, several accumulators, and non-temporal stores where the compiler has them.
 */
#ifndef GPU_FORM
#pragma OPENCL FP_CONTRACT ON

/*
 * Of all kernels: `to` is y or dx, `rows` samples and positions together; an item has `block` channels of
 * planes, or `block` rows.
 */
#define ARGUMENTS \
    global const float *restrict x, global const float *restrict dy, global float *restrict to, \
        global const float *restrict weight, global const float *restrict bias, \
        global float *restrict weight_grad, global float *restrict bias_grad, \
        global float *restrict saved, global float *restrict table, \
        global float *restrict partial, ulong samples, ulong channels, ulong plane, ulong rows, \
        ulong block, ulong slices, float values, float eps, int affine, int streams

/* Adds elements to the sums, `type` by `type`; of a vector those that `kept` keeps. */
#define ADD_X(type, load, kept, s, q, at, shift) \
    { \
        const type d = kept(load(x + (at)) - (shift)); \
        s += d; \
        q = fma(d, d, q); \
    }
#define ADD_DY(type, load, kept, s, q, at, mean) \
    { \
        const type g = kept(load(dy + (at))); \
        s += g; \
        q = fma(g, load(x + (at)) - (mean), q); \
    }
#define ALL(v) (v)

/* Results from the numbers of the table. */
#define Y(load, i, f, q, r) fma(f, load(x + (i)), q)
#define DX(load, i, f, q, r) fma(f, load(dy + (i)), fma(q, load(x + (i)), r))

/* A channel's numbers from its sums. */
static void forward_numbers(ulong c, float s, float q, float shift, ulong channels, float n,
                            float eps, global const float *weight, global const float *bias,
                            int affine, global float *saved, global float *table)
{
    const float d = s / n;
    const float mean = shift + d, invstd = 1 / sqrt(max(q / n - d * d, 0.0f) + eps);
    const float f = (affine ? weight[c] : 1) * invstd;
    saved[c] = mean;
    saved[channels + c] = invstd;
    table[c] = f;
    table[channels + c] = (affine ? bias[c] : 0) - f * mean;
}

static void backward_numbers(ulong c, float s, float q, ulong channels, float n,
                             global const float *weight, int affine, global const float *saved,
                             global float *weight_grad, global float *bias_grad,
                             global float *table)
{
    const float mean = saved[c], invstd = saved[channels + c];
    const float f = (affine ? weight[c] : 1) * invstd, k = f * invstd * invstd * q / n;
    if (affine) {
        weight_grad[c] = invstd * q;
        bias_grad[c] = s;
    }
    table[c] = f;
    table[channels + c] = -k;
    table[2 * channels + c] = k * mean - f * s / n;
}
#endif
