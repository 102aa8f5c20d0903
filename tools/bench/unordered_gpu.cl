/*
 * The unordered sums and their apply for GPUs: the kernels of unordered_planes.cl and
 * unordered_rows.cl with work-groups of GROUP and a tree in local memory. The apply has a work-item
 * per element.
 */
#ifdef GPU_FORM
#define GROUP 256

/* Adds the pairs of all work-items a multiple of `step` apart; the first `step` get the sums. */
static float2 fold(float2 mine, local float2 *pairs, uint step)
{
    const uint l = get_local_id(0);
    pairs[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_way = GROUP / 2; half_way >= step; half_way /= 2) {
        if (l < half_way)
            pairs[l] += pairs[l + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return pairs[l];
}

/* A group takes `slice` of a channel's samples * plane elements. */
#define PLANES(TERMS) \
    local float2 pairs[GROUP]; \
    const ulong group = get_group_id(0), c = group % channels, k = group / channels; \
    const ulong end = min((k + 1) * slice, samples * plane); \
    ulong e = k * slice + get_local_id(0), n = e / plane, i = e % plane; \
    float2 sums = 0; \
    CHANNEL; \
    for (; e < end; e += GROUP) { \
        const ulong at = (n * channels + c) * plane + i; \
        TERMS; \
        for (i += GROUP; i >= plane; i -= plane) \
            ++n; \
    } \
    sums = fold(sums, pairs, 1); \
    if (get_local_id(0) == 0) { \
        partial[2 * k * channels + c] = sums.x; \
        partial[(2 * k + 1) * channels + c] = sums.y; \
    }

/* A group takes 64 channels of `slice` rows, four rows at once. */
#define ROWS(TERMS) \
    local float2 pairs[GROUP]; \
    const ulong blocks = (channels + 63) / 64, group = get_group_id(0); \
    const ulong c = group % blocks * 64 + get_local_id(0) % 64, k = group / blocks; \
    const ulong end = min((k + 1) * slice, rows); \
    float2 sums = 0; \
    if (c < channels) { \
        CHANNEL; \
        for (ulong row = k * slice + get_local_id(0) / 64; row < end; row += 4) { \
            const ulong at = row * channels + c; \
            TERMS; \
        } \
    } \
    sums = fold(sums, pairs, 64); \
    if (get_local_id(0) < 64 && c < channels) { \
        partial[2 * k * channels + c] = sums.x; \
        partial[(2 * k + 1) * channels + c] = sums.y; \
    }

#define X_TERMS \
    const float d = x[at] - shift; \
    sums += (float2)(d, d * d)
#define DY_TERMS sums += (float2)(dy[at], dy[at] * (x[at] - mean))

#define CHANNEL const float shift = x[c * plane]
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
planes_forward(global const float *restrict x, ulong samples, ulong channels, ulong plane,
               ulong block, ulong slice, global float *restrict partial)
{
    PLANES(X_TERMS)
}

#undef CHANNEL
#define CHANNEL const float shift = x[c]
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rows_forward(global const float *restrict x, ulong rows, ulong channels, ulong slice,
             global float *restrict partial)
{
    ROWS(X_TERMS)
}

#undef CHANNEL
#define CHANNEL const float mean = saved[c]
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
planes_backward(global const float *restrict x, global const float *restrict dy,
                global const float *restrict saved, ulong samples, ulong channels, ulong plane,
                ulong block, ulong slice, global float *restrict partial)
{
    PLANES(DY_TERMS)
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rows_backward(global const float *restrict x, global const float *restrict dy,
              global const float *restrict saved, ulong rows, ulong channels, ulong slice,
              global float *restrict partial)
{
    ROWS(DY_TERMS)
}

kernel void planes_y(global const float *restrict x, global const float *restrict table,
                     ulong samples, ulong channels, ulong plane, ulong run,
                     global float *restrict y)
{
    const ulong i = get_global_id(0);
    if (i < samples * channels * plane) {
        const ulong c = i / plane % channels;
        y[i] = fma(table[c], x[i], table[channels + c]);
    }
}

kernel void rows_y(global const float *restrict x, global const float *restrict table, ulong rows,
                   ulong channels, ulong slice, global float *restrict y)
{
    const ulong i = get_global_id(0);
    if (i < rows * channels) {
        const ulong c = i % channels;
        y[i] = fma(table[c], x[i], table[channels + c]);
    }
}

kernel void planes_dx(global const float *restrict x, global const float *restrict dy,
                      global const float *restrict table, ulong samples, ulong channels,
                      ulong plane, ulong run, global float *restrict dx)
{
    const ulong i = get_global_id(0);
    if (i < samples * channels * plane) {
        const ulong c = i / plane % channels;
        dx[i] = fma(table[c], dy[i], fma(table[channels + c], x[i], table[2 * channels + c]));
    }
}

kernel void rows_dx(global const float *restrict x, global const float *restrict dy,
                    global const float *restrict table, ulong rows, ulong channels, ulong slice,
                    global float *restrict dx)
{
    const ulong i = get_global_id(0);
    if (i < rows * channels) {
        const ulong c = i % channels;
        dx[i] = fma(table[c], dy[i], fma(table[channels + c], x[i], table[2 * channels + c]));
    }
}

#endif
