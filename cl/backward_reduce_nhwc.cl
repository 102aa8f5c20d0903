/*
 * Backward, step 1, channels last: x, dy, mean -> words of sum dy and sum dy (x - mean).
 * `means` is the upper float of each channel's.
 *
 * Group (strip of STRIP channels, slice), a slice being `per_slice` of the
 * samples x blocks blocks (rows.cl). The words of channel c go to
 * partial[(slice * channels + c) * BACKWARD_LENGTH]; fold.cl adds the slices.
 */
#if CPU_FORM
/* The lanes of two vectors of channels, over the rows of a block. */
static void add_backward_rows(global const float *tensor, global const float *tensor_dy,
                              ulong place, uint n, uint stride, global const float *end,
                              global const float *end_dy, private const real *pivots,
                              private const real *means, private real *es, private real *ds,
                              private real *products, private real *largests,
                              private block_lines *ahead, uint width)
{
    for (uint l = 0; l < LANES; ++l)
        for (uint w = 0; w < 2; ++w) {
            real e_sum = 0.0f, d_sum = 0.0f, product = 0.0f, largest = 0.0f;
            for (uint i = l; i < n; i += LANES) {
                const ulong at = place + (ulong)i * stride + w * WIDTH;
                const ulong line = next_line(ahead, width, stride);
                FETCH(tensor_dy + line);
                FETCH(tensor + line);
                const real e = load_row(tensor_dy + at, end_dy) - pivots[w];
                const real d = load_row(tensor + at, end) - means[w];
                e_sum += e;
                d_sum += d;
                product = fma(e, d, product);
                largest = larger(largest, fabs(e));
            }
            es[w * LANES + l] = e_sum;
            ds[w * LANES + l] = d_sum;
            products[w * LANES + l] = product;
            largests[w * LANES + l] = largest;
        }
}

kernel __attribute__((reqd_work_group_size(LAST_ITEMS, LAST_ROWS, 1)))
void backward_reduce_nhwc(global const float *restrict x, ulong x_offset,
                          global const float *restrict dy, ulong dy_offset,
                          global const float *restrict means, uint samples, uint channels,
                          uint plane, uint blocks, uint strip, uint per_slice,
                          float last_reciprocal, global long *restrict partial)
{
    const uint c = get_group_id(0) * strip, width = min(strip, channels - c);
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(samples * blocks, begin + per_slice);
    const ulong elements = (ulong)samples * plane * channels;
    global const float *tensor = x + x_offset, *end = tensor + elements;
    global const float *tensor_dy = dy + dy_offset, *end_dy = tensor_dy + elements;
    real e[2 * LANES], d[2 * LANES], product[2 * LANES], largest[2 * LANES], pivots[2];
    real mean[VECTORS];
    wides sums[VECTORS * BACKWARD_LIMBS];
    ints flags[VECTORS];
    for (uint v = 0; v < VECTORS; ++v)
        mean[v] = 0.0f;
    for (uint v = 0; v * WIDTH < width; ++v) {
        zero_sums(sums + v * BACKWARD_LIMBS, BACKWARD_LIMBS);
        flags[v] = 0;
        mean[v] = load_row(means + c + v * WIDTH, means + channels);
    }
    if (plane == 1)
        sum_backward_ones(sums, flags, mean, tensor + (ulong)begin * channels + c,
                          tensor_dy + (ulong)begin * channels + c, stop - begin, width, channels, end,
                          end_dy);
    for (uint number = begin, added = 0; plane > 1 && number < stop; ++number) {
        const uint sample = quotient(number, blocks), start = (number - sample * blocks) * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        const ulong place = ((ulong)sample * plane + start) * channels + c;
        block_lines ahead = lines_of(number + 1, stop, blocks, plane, c, width, channels);
        for (uint v = 0; v * WIDTH < width; v += 2) {
            for (uint w = 0; w < 2; ++w)
                pivots[w] = pivot_of_rows(tensor_dy + place + (v + w) * WIDTH, n, channels,
                                          last_reciprocal, end_dy);
            add_backward_rows(tensor, tensor_dy, place + v * WIDTH, n, channels, end, end_dy, pivots,
                              mean + v, e, d, product, largest, &ahead, width);
            for (uint w = 0; w < 2 && (v + w) * WIDTH < width; ++w) {
                const ints unknown = add_backward(
                    sums + (v + w) * BACKWARD_LIMBS, flags + v + w, n, pivots[w], mean[v + w],
                    fold_column(e + w * LANES), fold_column(d + w * LANES),
                    fold_column(product + w * LANES), largest_of_column(largest + w * LANES));
                if (ANY(unknown))
                    flags[v + w] |= flags_of_rows(unknown, tensor_dy + place + (v + w) * WIDTH, n,
                                                  channels, last_reciprocal, end_dy);
            }
        }
        if (++added == BATCHES_TO_CARRY) {
            for (uint v = 0; v * WIDTH < width; ++v)
                carry_sums(sums + v * BACKWARD_LIMBS, BACKWARD_LIMBS1, BACKWARD_LIMBS2);
            added = 0;
        }
    }
    global long *out = partial + ((ulong)slice * channels + c) * BACKWARD_LENGTH;
    for (uint v = 0; v * WIDTH < width; ++v)
        store_rows(sums + v * BACKWARD_LIMBS, flags[v], BACKWARD_LIMBS1, BACKWARD_LIMBS2,
                   width - v * WIDTH, out + v * WIDTH * BACKWARD_LENGTH);
}
#else
kernel __attribute__((reqd_work_group_size(LAST_ITEMS, LAST_ROWS, 1)))
void backward_reduce_nhwc(global const float *restrict x, ulong x_offset,
                          global const float *restrict dy, ulong dy_offset,
                          global const float *restrict means, uint samples, uint channels,
                          uint plane, uint blocks, uint strip, uint per_slice,
                          float last_reciprocal, global long *restrict partial)
{
    local float lanes_e[LANES * COLUMN], lanes_d[LANES * COLUMN];
    local float lanes_product[LANES * COLUMN], lanes_largest[LANES * COLUMN];
    local long all[LAST_ROWS * LAST_ITEMS];
    const uint c = get_global_id(0), item = get_local_id(0), row = get_local_id(1);
    const bool exists = c < channels;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(samples * blocks, begin + per_slice);
    const float mean = exists ? means[c] : 0.0f;
    wides sums[BACKWARD_LIMBS];
    ints flags = 0;
    zero_sums(sums, BACKWARD_LIMBS);
    for (uint batch = begin, added = 0; batch < stop; batch += LAST_ROWS) {
        uint own_n = 0;
        float own_pivot = 0.0f, own_e = 0.0f, own_d = 0.0f, own_product = 0.0f, own_largest = 0.0f;
        global const float *own = dy + dy_offset;
        for (uint number = batch; number < min(stop, batch + LAST_ROWS); ++number) {
            const uint sample = quotient(number, blocks);
            const uint start = (number - sample * blocks) * BLOCK;
            const uint n = min((uint)BLOCK, plane - start);
            const ulong place = ((ulong)sample * plane + start) * channels + c;
            global const float *px = x + x_offset + place;
            global const float *pdy = dy + dy_offset + place;
            const float pivot = pivot_of_rows(pdy, n, channels, last_reciprocal, exists, lanes_e);
            for (uint l = row; l < LANES; l += LAST_ROWS) {
                const uint steps = exists ? (n + LANES - 1 - l) >> 4 : 0;
                float e_sum = 0.0f, d_sum = 0.0f, product = 0.0f, largest = 0.0f;
                UNROLL_4
                for (uint step = 0, i = l; step < steps; ++step, i += LANES) {
                    const float e = pdy[(ulong)i * channels] - pivot;
                    const float d = px[(ulong)i * channels] - mean;
                    e_sum += e;
                    d_sum += d;
                    product = fma(e, d, product);
                    largest = larger(largest, fabs(e));
                }
                lanes_e[l * COLUMN + item] = e_sum;
                lanes_d[l * COLUMN + item] = d_sum;
                lanes_product[l * COLUMN + item] = product;
                lanes_largest[l * COLUMN + item] = largest;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (exists && number - batch == row) {
                own = pdy;
                own_n = n;
                own_pivot = pivot;
                own_e = fold_column(lanes_e);
                own_d = fold_column(lanes_d);
                own_product = fold_column(lanes_product);
                own_largest = largest_of_column(lanes_largest);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (add_backward(sums, &flags, own_n, own_pivot, mean, own_e, own_d, own_product,
                         own_largest))
            flags |= flags_of(mean_of_block(own, own_n, channels,
                                            reciprocal(own_n, last_reciprocal)));
        if (++added == BATCHES_TO_CARRY) {
            carry_sums(sums, BACKWARD_LIMBS1, BACKWARD_LIMBS2);
            added = 0;
        }
    }
    store_rows(sums, flags, BACKWARD_LIMBS1, BACKWARD_LIMBS2, exists, all,
               partial + ((ulong)slice * channels + c) * BACKWARD_LENGTH);
}
#endif
