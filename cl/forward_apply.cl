/*
 * Forward, step 3, evaluation and recomputation:
 *
 *   y = a (x - mean) + b,  a = weight invstd,  b = bias - a mean_low
 *
 * where mean + mean_low is the mean in two floats. (a x + b would lose the
 * digits of a mean that is large against its spread.)
 *
 * statistics: means[channels], means_low[channels], invstds[channels].
 * Work: tiles.cl.
 */
kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void forward_apply_first(global const float *restrict x, ulong x_offset, global float *restrict y,
                         ulong y_offset, global const float *restrict statistics,
                         global const float *restrict weight, ulong weight_offset,
                         global const float *restrict bias, ulong bias_offset, uint affine,
                         uint samples, uint channels, uint plane, uint chunk,
                         uint channels_per_group)
{
    const uint first = get_group_id(0) * channels_per_group;
    const uint last = min(channels, first + channels_per_group);
    const uint begin = get_group_id(1) * chunk, end = min(plane, begin + chunk);
    for (uint c = first; c < last; ++c) {
        const float mean = statistics[c];
        const float a = (affine ? weight[weight_offset + c] : 1.0f) * statistics[2 * channels + c];
        const float b = fma(-a, statistics[channels + c], affine ? bias[bias_offset + c] : 0.0f);
        for (uint n = get_group_id(2); n < samples; n += get_num_groups(2)) {
            const ulong place = ((ulong)n * channels + c) * plane;
            global const float *px = x + x_offset + place;
            global float *py = y + y_offset + place;
            for (uint i = begin + get_local_id(0) * WIDTH; i < end; i += TILE_STEP) {
                const real d = load_edge(px, i, end, 0.0f) - mean;
                store_edge(fma((real)a, d, (real)b), py, i, end);
            }
        }
    }
}

kernel __attribute__((reqd_work_group_size(TILE_ITEMS, 1, 1)))
void forward_apply_last(global const float *restrict x, ulong x_offset, global float *restrict y,
                        ulong y_offset, global const float *restrict statistics,
                        global const float *restrict weight, ulong weight_offset,
                        global const float *restrict bias, ulong bias_offset, uint affine,
                        uint channels, ulong rows, uint rows_per_tile)
{
    const ulong begin = (ulong)get_group_id(0) * rows_per_tile;
    const ulong end = min(rows, begin + rows_per_tile);
    for (uint c = get_local_id(0) * WIDTH; c < channels; c += TILE_STEP) {
        const real mean = load_edge(statistics, c, channels, 0.0f);
        const real mean_low = load_edge(statistics + channels, c, channels, 0.0f);
        const real invstd = load_edge(statistics + 2 * channels, c, channels, 0.0f);
        real w = 1.0f, b = 0.0f;
        if (affine) {
            w = load_edge(weight + weight_offset, c, channels, 0.0f);
            b = load_edge(bias + bias_offset, c, channels, 0.0f);
        }
        const real a = w * invstd;
        b = fma(-a, mean_low, b);
        for (ulong row = begin; row < end; ++row) {
            const ulong place = row * channels;
            const real d = load_edge(x + x_offset + place, c, channels, 0.0f) - mean;
            store_edge(fma(a, d, b), y + y_offset + place, c, channels);
        }
    }
}
