/*
 * Unordered sums and what follows in one launch, channels first: an item takes `block` channels of all
 * samples, so that it reads them again from its core's own cache. `streams`: non-temporal stores, if the
 * result is aligned.
 */
#ifndef GPU_FORM

#define MAX_BLOCK 64
#define LANES (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define IN(v) select((floats)0, v, in)

static float total(floats v)
{
    const float8 a = v.lo + v.hi;
    const float4 b = a.lo + a.hi;
    return b.x + b.y + b.z + b.w;
}

/* The item's channels are c0 to c1; ss and qs become their sums. SHIFT is of a channel. */
#define SUM_PLANES(ADD, SHIFT) \
    const ulong c0 = get_global_id(0) * block, c1 = min(c0 + block, channels); \
    floats ss[MAX_BLOCK], qs[MAX_BLOCK]; \
    for (int c = 0; c < MAX_BLOCK; ++c) \
        ss[c] = qs[c] = 0; \
    for (ulong n = 0; n < samples; ++n) \
        for (ulong c = c0; c < c1; ++c) { \
            const ulong at = (n * channels + c) * plane; \
            const float shift = SHIFT; \
            floats s0 = 0, s1 = 0, s2 = 0, s3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0; \
            ulong i = 0; \
            for (; i + 64 <= plane; i += 64) { \
                ADD(floats, LOAD, ALL, s0, q0, at + i, shift) \
                ADD(floats, LOAD, ALL, s1, q1, at + i + 16, shift) \
                ADD(floats, LOAD, ALL, s2, q2, at + i + 32, shift) \
                ADD(floats, LOAD, ALL, s3, q3, at + i + 48, shift) \
            } \
            for (; i + 16 <= plane; i += 16) \
                ADD(floats, LOAD, ALL, s0, q0, at + i, shift) \
            if (i < plane) { \
                /* the last 16 again, without those already added */ \
                const int16 in = LANES >= (int16)(int)(16 - (plane - i)); \
                ADD(floats, LOAD, IN, s1, q1, at + plane - 16, shift) \
            } \
            ss[c - c0] += (s0 + s1) + (s2 + s3); \
            qs[c - c0] += (q0 + q1) + (q2 + q3); \
        }

/*
 * Writes the planes of a sample, in whole vectors: one across two planes has the numbers of both. A plane
 * has 16 elements at least.
 */
#define WRITE_SAMPLE(OF, PUT) \
    ulong i = (n * channels + c0) * plane, left = plane; \
    for (ulong c = c0; c < c1;) { \
        const float f = table[c], q = table[channels + c], r = table[2 * channels + c]; \
        for (; left >= 16; left -= 16, i += 16) \
            PUT(OF(LOAD, i, (floats)f, (floats)q, (floats)r), to + i); \
        ++c; \
        if (left && c < c1) { \
            const int16 next = LANES >= (int16)(int)left; \
            PUT(OF(LOAD, i, select((floats)f, (floats)table[c], next), \
                   select((floats)q, (floats)table[channels + c], next), \
                   select((floats)r, (floats)table[2 * channels + c], next)), \
                to + i); \
            i += 16; \
            left = plane - (16 - left); \
        } else { \
            for (; left; --left, ++i) \
                to[i] = OF(*, i, f, q, r); \
            left = plane; \
        } \
    }

/* The sample that was read last is still in the cache. */
#define WRITE_PLANES(OF) \
    for (ulong n = samples; n-- > 0;) { \
        if (streams && ALIGNED(to + (n * channels + c0) * plane)) { \
            WRITE_SAMPLE(OF, STREAM) \
        } else { \
            WRITE_SAMPLE(OF, STORE) \
        } \
    }

kernel void planes_forward(ARGUMENTS)
{
    SUM_PLANES(ADD_X, x[c * plane])
    for (ulong c = c0; c < c1; ++c)
        forward_numbers(c, total(ss[c - c0]), total(qs[c - c0]), x[c * plane], channels, values, eps,
                        weight, bias, affine, saved, table);
    WRITE_PLANES(Y)
}

kernel void planes_backward(ARGUMENTS)
{
    SUM_PLANES(ADD_DY, saved[c])
    for (ulong c = c0; c < c1; ++c)
        backward_numbers(c, total(ss[c - c0]), total(qs[c - c0]), channels, values, weight, affine,
                         saved, weight_grad, bias_grad, table);
    WRITE_PLANES(DX)
}
#endif
