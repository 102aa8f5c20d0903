/*
 * The unordered sums and their apply on rows, channels last, for CPUs: as on
 * planes, in unordered_planes.cl.
 */
#ifndef GPU_FORM

/*
 * Sums over rows: a work-item takes `slice` rows, ROWS_AT_ONCE at a time, 32 channels at a time,
 * with two accumulators for each sum. In between the sums are in `partial`. Remaining rows and
 * channels are added one by one.
 */
#define ROWS_AT_ONCE 16

#define ADD_PAIR(row) \
    ADD(floats, LOAD, s0, q0, row, c); \
    ADD(floats, LOAD, s1, q1, row, c + 16)

#define ROWS \
    const ulong k = get_global_id(0), end = min((k + 1) * slice, rows); \
    global float *restrict ss = partial + 2 * k * channels, *restrict qs = ss + channels; \
    ulong row = k * slice; \
    for (ulong c = 0; c < channels; ++c) \
        ss[c] = qs[c] = 0; \
    for (; row + ROWS_AT_ONCE <= end; row += ROWS_AT_ONCE) { \
        ulong c = 0; \
        for (; c + 32 <= channels; c += 32) { \
            floats s0 = LOAD(ss + c), s1 = LOAD(ss + c + 16); \
            floats q0 = LOAD(qs + c), q1 = LOAD(qs + c + 16); \
            for (ulong r = row; r < row + ROWS_AT_ONCE; r += 4) { \
                ADD_PAIR(r); \
                ADD_PAIR(r + 1); \
                ADD_PAIR(r + 2); \
                ADD_PAIR(r + 3); \
            } \
            STORE(s0, ss + c); \
            STORE(s1, ss + c + 16); \
            STORE(q0, qs + c); \
            STORE(q1, qs + c + 16); \
        } \
        for (ulong r = row; r < row + ROWS_AT_ONCE; ++r) \
            for (ulong e = c; e < channels; ++e) \
                ADD(float, *, ss[e], qs[e], r, e); \
    } \
    for (; row < end; ++row) { \
        ulong c = 0; \
        for (; c + 16 <= channels; c += 16) { \
            floats s = LOAD(ss + c), q = LOAD(qs + c); \
            ADD(floats, LOAD, s, q, row, c); \
            STORE(s, ss + c); \
            STORE(q, qs + c); \
        } \
        for (; c < channels; ++c) \
            ADD(float, *, ss[c], qs[c], row, c); \
    }

#define ADD(type, load, s, q, row, c) \
    { \
        const type d = load(x + (row)*channels + (c)) - load(x + (c)); \
        s += d; \
        q = fma(d, d, q); \
    }

kernel void rows_forward(global const float *restrict x, ulong rows, ulong channels, ulong slice,
                         global float *restrict partial)
{
    ROWS
}

#undef ADD
#define ADD(type, load, s, q, row, c) \
    { \
        const type g = load(dy + (row)*channels + (c)); \
        s += g; \
        q = fma(g, load(x + (row)*channels + (c)) - load(saved + (c)), q); \
    }

kernel void rows_backward(global const float *restrict x, global const float *restrict dy,
                          global const float *restrict saved, ulong rows, ulong channels,
                          ulong slice, global float *restrict partial)
{
    ROWS
}

/* Applying to rows: an item takes `slice` of them. */
kernel void rows_y(global const float *restrict x, global const float *restrict table, ulong rows,
                   ulong channels, ulong slice, global float *restrict y)
{
    const ulong r1 = min((get_global_id(0) + 1) * slice, rows);
    global const float *a = table, *b = table + channels;
#ifdef STREAM
    const int aligned = ALIGNED(y) && channels % 16 == 0;
#endif
    for (ulong row = get_global_id(0) * slice; row < r1; ++row) {
        const ulong at = row * channels;
        ulong c = 0;
#ifdef STREAM
        for (; aligned && c + 16 <= channels; c += 16)
            STREAM(fma(LOAD(a + c), LOAD(x + at + c), LOAD(b + c)), y + at + c);
#endif
        for (; c + 16 <= channels; c += 16)
            STORE(fma(LOAD(a + c), LOAD(x + at + c), LOAD(b + c)), y + at + c);
        for (; c < channels; ++c)
            y[at + c] = fma(a[c], x[at + c], b[c]);
    }
}

kernel void rows_dx(global const float *restrict x, global const float *restrict dy,
                    global const float *restrict table, ulong rows, ulong channels, ulong slice,
                    global float *restrict dx)
{
    const ulong r1 = min((get_global_id(0) + 1) * slice, rows);
    global const float *f = table, *q = table + channels, *r = q + channels;
#ifdef STREAM
    const int aligned = ALIGNED(dx) && channels % 16 == 0;
#endif
    for (ulong row = get_global_id(0) * slice; row < r1; ++row) {
        const ulong at = row * channels;
        ulong c = 0;
#define ROW_DX fma(LOAD(f + c), LOAD(dy + at + c), fma(LOAD(q + c), LOAD(x + at + c), LOAD(r + c)))
#ifdef STREAM
        for (; aligned && c + 16 <= channels; c += 16)
            STREAM(ROW_DX, dx + at + c);
#endif
        for (; c + 16 <= channels; c += 16)
            STORE(ROW_DX, dx + at + c);
        for (; c < channels; ++c)
            dx[at + c] = fma(f[c], dy[at + c], fma(q[c], x[at + c], r[c]));
    }
}

#endif
