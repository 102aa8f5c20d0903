/*
 * Unordered sums and their apply in one launch, on planes: an item takes `block` channels of all
 * samples, so that it reads them again from its core's own cache. `streams`: non-temporal stores,
 * if y is aligned. For CPUs, as unordered_planes.cl.
 */
#ifndef GPU_FORM

#define WHOLE_CHANNELS \
    const ulong c0 = get_global_id(0) * block, c1 = min(c0 + block, channels);

#define WHOLE_SAMPLE const ulong p0 = n * channels + c0, p1 = n * channels + c1;

#ifndef STREAM
#define STREAM(v, at) STORE(v, at)
#endif
#define Y_STREAM(i) STREAM(Y(i), y + (i))
#define Y_STORE(i) STORE(Y(i), y + (i))
#define Y_MIXED_NUMBERS \
    const floats as = select((floats)a, (floats)table[c], next), \
                 bs = select((floats)b, (floats)table[channels + c], next);
#define Y_MIXED_STREAM Y_MIXED_NUMBERS STREAM(fma(as, LOAD(x + i), bs), y + i)
#define Y_MIXED_STORE Y_MIXED_NUMBERS STORE(fma(as, LOAD(x + i), bs), y + i)
#undef CHANNEL
#define CHANNEL const float shift = x[c * plane]

kernel void whole_forward(global const float *restrict x, ulong samples, ulong channels,
                          ulong plane, ulong block, float n, float eps,
                          global const float *restrict weight, global const float *restrict bias,
                          int affine, global float *restrict saved, global float *restrict table,
                          int streams, global float *restrict y)
{
    WHOLE_CHANNELS
    {
        SUM_PLANES(c0, c1, 0, samples, X_TERMS, X_TAIL, X_ONE)
        for (ulong c = c0; c < c1; ++c)
            forward_numbers(c, total(ss[c - c0]), total(qs[c - c0]), x[c * plane], channels, n, eps,
                            weight, bias, affine, saved, table);
    }
    /* The sample that was read last is still in the cache. */
    for (ulong n = samples; n-- > 0;) {
        WHOLE_SAMPLE
        if (streams && ALIGNED(y + p0 * plane)) {
            WALK(p0, p1, Y_STREAM, Y_NUMBERS, Y_MIXED_STREAM, Y_ONE)
        } else {
            WALK(p0, p1, Y_STORE, Y_NUMBERS, Y_MIXED_STORE, Y_ONE)
        }
    }
}

#define DX_STREAM(i) STREAM(DX(i), dx + (i))
#define DX_STORE(i) STORE(DX(i), dx + (i))
#define DX_MIXED_NUMBERS \
    const floats fs = select((floats)f, (floats)table[c], next), \
                 qs = select((floats)q, (floats)table[channels + c], next), \
                 rs = select((floats)r, (floats)table[2 * channels + c], next);
#define DX_MIXED_STREAM \
    DX_MIXED_NUMBERS STREAM(fma(fs, LOAD(dy + i), fma(qs, LOAD(x + i), rs)), dx + i)
#define DX_MIXED_STORE \
    DX_MIXED_NUMBERS STORE(fma(fs, LOAD(dy + i), fma(qs, LOAD(x + i), rs)), dx + i)
#undef CHANNEL
#define CHANNEL const float mean = saved[c]

kernel void whole_backward(global const float *restrict x, global const float *restrict dy,
                           ulong samples, ulong channels, ulong plane, ulong block, float n,
                           global const float *restrict weight, int affine,
                           global const float *restrict saved, global float *restrict weight_grad,
                           global float *restrict bias_grad, global float *restrict table,
                           int streams, global float *restrict dx)
{
    WHOLE_CHANNELS
    {
        SUM_PLANES(c0, c1, 0, samples, DY_TERMS, DY_TAIL, DY_ONE)
        for (ulong c = c0; c < c1; ++c)
            backward_numbers(c, total(ss[c - c0]), total(qs[c - c0]), channels, n, weight, affine,
                             saved, weight_grad, bias_grad, table);
    }
    for (ulong n = samples; n-- > 0;) {
        WHOLE_SAMPLE
        if (streams && ALIGNED(dx + p0 * plane)) {
            WALK(p0, p1, DX_STREAM, DX_NUMBERS, DX_MIXED_STREAM, DX_ONE)
        } else {
            WALK(p0, p1, DX_STORE, DX_NUMBERS, DX_MIXED_STORE, DX_ONE)
        }
    }
}

#endif
