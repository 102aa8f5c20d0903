/*
 * Unordered sums and what follows in three launches, on rows: channels last, or planes of one element.
 * Items sum `block` rows each, into C values of s and C of q in `partial`; items with a channel each add
 * these and find the channel's numbers; items write `block` rows each.
 */
#ifndef GPU_FORM

#define ROWS_AT_ONCE 16
#define ADD_PAIR(ADD, from, row) \
    ADD(floats, LOAD, ALL, s0, q0, (row)*channels + c, LOAD(from + c)) \
    ADD(floats, LOAD, ALL, s1, q1, (row)*channels + c + 16, LOAD(from + c + 16))

/*
 * ROWS_AT_ONCE rows of 32 channels at a time, with two accumulators for each sum; in between the sums are
 * in `partial`. Remaining rows and channels are added one by one. The shifts are `from` here.
 */
#define SUM_ROWS(ADD, from) \
    const ulong k = get_global_id(0), end = min((k + 1) * block, rows); \
    global float *restrict ss = partial + 2 * k * channels, *restrict qs = ss + channels; \
    ulong row = k * block; \
    for (ulong c = 0; c < channels; ++c) \
        ss[c] = qs[c] = 0; \
    for (; row + ROWS_AT_ONCE <= end; row += ROWS_AT_ONCE) { \
        ulong c = 0; \
        for (; c + 32 <= channels; c += 32) { \
            floats s0 = LOAD(ss + c), s1 = LOAD(ss + c + 16); \
            floats q0 = LOAD(qs + c), q1 = LOAD(qs + c + 16); \
            for (ulong r = row; r < row + ROWS_AT_ONCE; r += 4) { \
                ADD_PAIR(ADD, from, r) \
                ADD_PAIR(ADD, from, r + 1) \
                ADD_PAIR(ADD, from, r + 2) \
                ADD_PAIR(ADD, from, r + 3) \
            } \
            STORE(s0, ss + c); \
            STORE(s1, ss + c + 16); \
            STORE(q0, qs + c); \
            STORE(q1, qs + c + 16); \
        } \
        for (ulong r = row; r < row + ROWS_AT_ONCE; ++r) \
            for (ulong e = c; e < channels; ++e) \
                ADD(float, *, ALL, ss[e], qs[e], r * channels + e, from[e]) \
    } \
    for (; row < end; ++row) { \
        ulong c = 0; \
        for (; c + 16 <= channels; c += 16) { \
            floats s = LOAD(ss + c), q = LOAD(qs + c); \
            ADD(floats, LOAD, ALL, s, q, row * channels + c, LOAD(from + c)) \
            STORE(s, ss + c); \
            STORE(q, qs + c); \
        } \
        for (; c < channels; ++c) \
            ADD(float, *, ALL, ss[c], qs[c], row * channels + c, from[c]) \
    }

kernel void rows_forward(ARGUMENTS)
{
    SUM_ROWS(ADD_X, x)
}

kernel void rows_backward(ARGUMENTS)
{
    SUM_ROWS(ADD_DY, saved)
}

/* A channel's sums over all slices. */
static float2 sums_of(global const float *restrict partial, ulong slices, ulong channels, ulong c)
{
    float2 sums = 0;
    for (ulong i = 0; i < slices; ++i)
        sums += (float2)(partial[2 * i * channels + c], partial[(2 * i + 1) * channels + c]);
    return sums;
}

kernel void finish_forward(ARGUMENTS)
{
    const ulong c = get_global_id(0);
    if (c < channels) {
        const float2 sums = sums_of(partial, slices, channels, c);
        forward_numbers(c, sums.x, sums.y, x[c], channels, values, eps, weight, bias, affine, saved,
                        table);
    }
}

kernel void finish_backward(ARGUMENTS)
{
    const ulong c = get_global_id(0);
    if (c < channels) {
        const float2 sums = sums_of(partial, slices, channels, c);
        backward_numbers(c, sums.x, sums.y, channels, values, weight, affine, saved, weight_grad,
                         bias_grad, table);
    }
}

#define ROW_OF(OF) \
    OF(LOAD, at + c, LOAD(table + c), LOAD(table + channels + c), LOAD(table + 2 * channels + c))
#define WRITE_ROWS(OF) \
    const ulong end = min((get_global_id(0) + 1) * block, rows); \
    const int aligned = ALIGNED(to) && channels % 16 == 0; \
    for (ulong row = get_global_id(0) * block; row < end; ++row) { \
        const ulong at = row * channels; \
        ulong c = 0; \
        for (; aligned && c + 16 <= channels; c += 16) \
            STREAM(ROW_OF(OF), to + at + c); \
        for (; c + 16 <= channels; c += 16) \
            STORE(ROW_OF(OF), to + at + c); \
        for (; c < channels; ++c) \
            to[at + c] = OF(*, at + c, table[c], table[channels + c], table[2 * channels + c]); \
    }

kernel void rows_y(ARGUMENTS)
{
    WRITE_ROWS(Y)
}

kernel void rows_dx(ARGUMENTS)
{
    WRITE_ROWS(DX)
}
#endif
