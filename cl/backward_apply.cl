/*
 * Backward, step 3:
 *
 *   dx = p (dy - g) + q (x - mean) + r
 *   p = weight invstd,  q = -p k,  r = -(p g_low + q mean_low)
 *
 * where g + g_low is the mean of dy in two floats and
 * k = invstd^2 sum(dy (x - mean)) / n comes from the host.
 *
 * statistics: means, means_low, invstds; gradients: gs, gs_low, ks;
 * [channels] each. Work: tiles.cl.
 */
kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void backward_apply_first(global const float *restrict x, ulong x_offset,
                          global const float *restrict dy, ulong dy_offset,
                          global float *restrict dx, ulong dx_offset,
                          global const float *restrict statistics,
                          global const float *restrict gradients,
                          global const float *restrict weight, ulong weight_offset, uint affine,
                          uint samples, uint channels, uint plane, uint chunk,
                          uint channels_per_group)
{
    const uint first = get_group_id(0) * channels_per_group;
    const uint last = min(channels, first + channels_per_group);
    const uint begin = get_group_id(1) * chunk, end = min(plane, begin + chunk);
    for (uint c = first; c < last; ++c) {
        const float mean = statistics[c], g = gradients[c];
        const float p = (affine ? weight[weight_offset + c] : 1.0f) * statistics[2 * channels + c];
        const float q = -p * gradients[2 * channels + c];
        const float q_low = q * statistics[channels + c];
        const float r = fma(-p, gradients[channels + c], -q_low);
        for (uint n = get_group_id(2); n < samples; n += get_num_groups(2)) {
            const ulong place = ((ulong)n * channels + c) * plane;
            global const float *px = x + x_offset + place;
            global const float *pdy = dy + dy_offset + place;
            global float *pdx = dx + dx_offset + place;
            for (uint i = begin + get_local_id(0) * WIDTH; i < end; i += TILE_STEP) {
                const real d = load_edge(px, i, end, 0.0f) - mean;
                const real e = load_edge(pdy, i, end, 0.0f) - g;
                store_edge(fma((real)p, e, fma((real)q, d, (real)r)), pdx, i, end);
            }
        }
    }
}

kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void backward_apply_last(global const float *restrict x, ulong x_offset,
                         global const float *restrict dy, ulong dy_offset,
                         global float *restrict dx, ulong dx_offset,
                         global const float *restrict statistics,
                         global const float *restrict gradients,
                         global const float *restrict weight, ulong weight_offset, uint affine,
                         uint channels, ulong rows, uint rows_per_tile)
{
    const ulong begin = (ulong)get_group_id(0) * rows_per_tile;
    const ulong end = min(rows, begin + rows_per_tile);
    for (uint c = get_local_id(0) * WIDTH; c < channels; c += TILE_STEP) {
        const real mean = load_edge(statistics, c, channels, 0.0f);
        const real mean_low = load_edge(statistics + channels, c, channels, 0.0f);
        const real invstd = load_edge(statistics + 2 * channels, c, channels, 0.0f);
        const real g = load_edge(gradients, c, channels, 0.0f);
        const real g_low = load_edge(gradients + channels, c, channels, 0.0f);
        const real k = load_edge(gradients + 2 * channels, c, channels, 0.0f);
        real w = 1.0f;
        if (affine)
            w = load_edge(weight + weight_offset, c, channels, 0.0f);
        const real p = w * invstd;
        const real q = -p * k;
        const real q_low = q * mean_low;
        const real r = fma(-p, g_low, -q_low);
        for (ulong row = begin; row < end; ++row) {
            const ulong place = row * channels;
            const real d = load_edge(x + x_offset + place, c, channels, 0.0f) - mean;
            const real e = load_edge(dy + dy_offset + place, c, channels, 0.0f) - g;
            store_edge(fma(p, e, fma(q, d, r)), dx + dx_offset + place, c, channels);
        }
    }
}
