/*
 * The unordered sums and their apply on planes, channels first, for CPUs: one work-item per
 * work-group, vectors of 16, several accumulators, non-temporal stores if y is aligned.
 */
#ifndef GPU_FORM

static float total(floats v)
{
    const float8 a = v.lo + v.hi;
    const float4 b = a.lo + a.hi;
    return b.x + b.y + b.z + b.w;
}

#define LANES (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

/*
 * Sums over planes: an item takes `block` channels of `slice` samples, sample
 * by sample, so that it reads runs of block planes.
 */
#define MAX_BLOCK 64

#define SUM_PLANES(c0, c1, n0, n1, TERMS, TAIL_TERMS, ONE) \
    floats ss[MAX_BLOCK], qs[MAX_BLOCK]; \
    for (int c = 0; c < MAX_BLOCK; ++c) \
        ss[c] = qs[c] = 0; \
    for (ulong n = n0; n < n1; ++n) \
        for (ulong c = c0; c < c1; ++c) { \
            const ulong at = (n * channels + c) * plane; \
            floats s0 = 0, s1 = 0, s2 = 0, s3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0; \
            CHANNEL; \
            ulong i = 0; \
            for (; i + 64 <= plane; i += 64) { \
                TERMS(s0, q0, i); \
                TERMS(s1, q1, i + 16); \
                TERMS(s2, q2, i + 32); \
                TERMS(s3, q3, i + 48); \
            } \
            for (; i + 16 <= plane; i += 16) \
                TERMS(s0, q0, i); \
            if (i < plane && plane >= 16) { \
                /* the last 16 again, without those already added */ \
                const int16 in = LANES >= (int16)(int)(16 - (plane - i)); \
                TAIL_TERMS(s1, q1, plane - 16); \
            } else \
                for (; i < plane; ++i) \
                    ONE(s0.s0, q0.s0, i); \
            ss[c - c0] += (s0 + s1) + (s2 + s3); \
            qs[c - c0] += (q0 + q1) + (q2 + q3); \
        }

#define PLANES(TERMS, TAIL_TERMS, ONE) \
    const ulong blocks = (channels + block - 1) / block; \
    const ulong c0 = get_global_id(0) % blocks * block, c1 = min(c0 + block, channels); \
    const ulong k = get_global_id(0) / blocks, n1 = min((k + 1) * slice, samples); \
    SUM_PLANES(c0, c1, k * slice, n1, TERMS, TAIL_TERMS, ONE) \
    for (ulong c = c0; c < c1; ++c) { \
        partial[2 * k * channels + c] = total(ss[c - c0]); \
        partial[(2 * k + 1) * channels + c] = total(qs[c - c0]); \
    }

#define X_TERMS(s, q, i) \
    { \
        const floats d = LOAD(x + at + (i)) - shift; \
        s += d; \
        q = fma(d, d, q); \
    }
#define X_TAIL(s, q, i) \
    { \
        const floats d = select((floats)0, LOAD(x + at + (i)) - shift, in); \
        s += d; \
        q = fma(d, d, q); \
    }
#define X_ONE(s, q, i) \
    { \
        const float d = x[at + (i)] - shift; \
        s += d; \
        q = fma(d, d, q); \
    }
#define CHANNEL const float shift = x[c * plane]

kernel void planes_forward(global const float *restrict x, ulong samples, ulong channels,
                           ulong plane, ulong block, ulong slice, global float *restrict partial)
{
    PLANES(X_TERMS, X_TAIL, X_ONE)
}

#define DY_TERMS(s, q, i) \
    { \
        const floats g = LOAD(dy + at + (i)); \
        s += g; \
        q = fma(g, LOAD(x + at + (i)) - mean, q); \
    }
#define DY_TAIL(s, q, i) \
    { \
        const floats g = select((floats)0, LOAD(dy + at + (i)), in); \
        s += g; \
        q = fma(g, LOAD(x + at + (i)) - mean, q); \
    }
#define DY_ONE(s, q, i) \
    { \
        const float g = dy[at + (i)]; \
        s += g; \
        q = fma(g, x[at + (i)] - mean, q); \
    }
#undef CHANNEL
#define CHANNEL const float mean = saved[c]

kernel void planes_backward(global const float *restrict x, global const float *restrict dy,
                            global const float *restrict saved, ulong samples, ulong channels,
                            ulong plane, ulong block, ulong slice, global float *restrict partial)
{
    PLANES(DY_TERMS, DY_TAIL, DY_ONE)
}

/*
 * Applying to planes: a work-item takes `run` planes, which begin at a multiple of the vector size,
 * in whole vectors. A vector across two planes uses the coefficients of both.
 */
/* The planes of an item. */
#define FIRST_OF_RUN (get_global_id(0) * run)
#define END_OF_RUN min((get_global_id(0) + 1) * run, samples * channels)

#define WALK(p0, p1, PUT, NUMBERS, MIXED, ONE) \
    ulong p = p0, i = p * plane, left = plane, c = p % channels; \
    while (p < (p1)) { \
        NUMBERS; \
        for (; left >= 16; left -= 16, i += 16) \
            PUT(i); \
        ++p; \
        c = c + 1 == channels ? 0 : c + 1; \
        if (left && p < (p1) && plane >= 16) { \
            const int16 next = LANES >= (int16)(int)left; \
            MIXED; \
            i += 16; \
            left = plane - (16 - left); \
        } else { \
            for (; left; --left, ++i) \
                ONE(i); \
            left = plane; \
        } \
    }

#define Y(i) fma((floats)a, LOAD(x + (i)), (floats)b)
#define Y_ONE(i) y[i] = fma(a, x[i], b)
#define Y_NUMBERS const float a = table[c], b = table[channels + c]
#define Y_MIXED \
    const floats as = select((floats)a, (floats)table[c], next), \
                 bs = select((floats)b, (floats)table[channels + c], next); \
    Y_PUT(fma(as, LOAD(x + i), bs), i)

kernel void planes_y(global const float *restrict x, global const float *restrict table,
                     ulong samples, ulong channels, ulong plane, ulong run,
                     global float *restrict y)
{
#ifdef STREAM
    if (ALIGNED(y)) {
#define Y_PUT(v, i) STREAM(v, y + (i))
#define PUT(i) Y_PUT(Y(i), i)
        WALK(FIRST_OF_RUN, END_OF_RUN, PUT, Y_NUMBERS, Y_MIXED, Y_ONE)
#undef PUT
#undef Y_PUT
        return;
    }
#endif
#define Y_PUT(v, i) STORE(v, y + (i))
#define PUT(i) Y_PUT(Y(i), i)
    WALK(FIRST_OF_RUN, END_OF_RUN, PUT, Y_NUMBERS, Y_MIXED, Y_ONE)
#undef PUT
#undef Y_PUT
}

#define DX(i) fma((floats)f, LOAD(dy + (i)), fma((floats)q, LOAD(x + (i)), (floats)r))
#define DX_ONE(i) dx[i] = fma(f, dy[i], fma(q, x[i], r))
#define DX_NUMBERS \
    const float f = table[c], q = table[channels + c], r = table[2 * channels + c]
#define DX_MIXED \
    const floats fs = select((floats)f, (floats)table[c], next), \
                 qs = select((floats)q, (floats)table[channels + c], next), \
                 rs = select((floats)r, (floats)table[2 * channels + c], next); \
    DX_PUT(fma(fs, LOAD(dy + i), fma(qs, LOAD(x + i), rs)), i)

kernel void planes_dx(global const float *restrict x, global const float *restrict dy,
                      global const float *restrict table, ulong samples, ulong channels,
                      ulong plane, ulong run, global float *restrict dx)
{
#ifdef STREAM
    if (ALIGNED(dx)) {
#define DX_PUT(v, i) STREAM(v, dx + (i))
#define PUT(i) DX_PUT(DX(i), i)
        WALK(FIRST_OF_RUN, END_OF_RUN, PUT, DX_NUMBERS, DX_MIXED, DX_ONE)
#undef PUT
#undef DX_PUT
        return;
    }
#endif
#define DX_PUT(v, i) STORE(v, dx + (i))
#define PUT(i) DX_PUT(DX(i), i)
    WALK(FIRST_OF_RUN, END_OF_RUN, PUT, DX_NUMBERS, DX_MIXED, DX_ONE)
#undef PUT
#undef DX_PUT
}

#endif
