/*
 * Forward, step 1, channels last: x -> words of sum x and sum x^2.
 *
 * Group (strip of STRIP channels, slice), a slice being `per_slice` of the
 * samples x blocks blocks (rows.cl). The words of channel c go to
 * partial[(slice * channels + c) * FORWARD_LENGTH]; fold.cl adds the slices.
 */
#if CPU_FORM
/* The lanes of two vectors of channels, over the rows of a block. */
static void add_forward_rows(global const float *tensor, global const float *p, uint n, uint stride,
                             global const float *end, private const real *pivots, private real *a,
                             private real *q, private block_lines *ahead, uint width)
{
    const real m0 = pivots[0], m1 = pivots[1];
    for (uint l = 0; l < LANES; ++l) {
        real a0 = 0.0f, a1 = 0.0f, q0 = 0.0f, q1 = 0.0f;
        for (uint i = l; i < n; i += LANES) {
            global const float *row = p + (ulong)i * stride;
            FETCH(tensor + next_line(ahead, width, stride));
            FETCH(tensor + next_line(ahead, width, stride));
            const real d0 = load_row(row, end) - m0, d1 = load_row(row + WIDTH, end) - m1;
            a0 += d0;
            a1 += d1;
            q0 = fma(d0, d0, q0);
            q1 = fma(d1, d1, q1);
        }
        a[l] = a0;
        a[l + LANES] = a1;
        q[l] = q0;
        q[l + LANES] = q1;
    }
}

kernel __attribute__((reqd_work_group_size(LAST_ITEMS, LAST_ROWS, 1)))
void forward_reduce_nhwc(global const float *restrict x, ulong x_offset, uint samples,
                         uint channels, uint plane, uint blocks, uint strip, uint per_slice,
                         float last_reciprocal, global long *restrict partial)
{
    const uint c = get_group_id(0) * strip, width = min(strip, channels - c);
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(samples * blocks, begin + per_slice);
    global const float *tensor = x + x_offset, *end = tensor + (ulong)samples * plane * channels;
    real a[2 * LANES], q[2 * LANES], pivots[2];
    wides sums[VECTORS * FORWARD_LIMBS];
    ints flags[VECTORS];
    for (uint v = 0; v * WIDTH < width; ++v) {
        zero_sums(sums + v * FORWARD_LIMBS, FORWARD_LIMBS);
        flags[v] = 0;
    }
    if (plane == 1)
        sum_forward_ones(sums, flags, tensor + (ulong)begin * channels + c, stop - begin, width,
                         channels, end);
    for (uint number = begin, added = 0; plane > 1 && number < stop; ++number) {
        const uint sample = quotient(number, blocks), start = (number - sample * blocks) * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        global const float *p = tensor + ((ulong)sample * plane + start) * channels + c;
        block_lines ahead = lines_of(number + 1, stop, blocks, plane, c, width, channels);
        for (uint v = 0; v * WIDTH < width; v += 2) {
            for (uint w = 0; w < 2; ++w)
                pivots[w] = pivot_of_rows(p + (v + w) * WIDTH, n, channels, last_reciprocal, end);
            add_forward_rows(tensor, p + v * WIDTH, n, channels, end, pivots, a, q, &ahead, width);
            for (uint w = 0; w < 2 && (v + w) * WIDTH < width; ++w) {
                const ints unknown = add_forward(sums + (v + w) * FORWARD_LIMBS, flags + v + w, n,
                                                 pivots[w], fold_column(a + w * LANES),
                                                 fold_column(q + w * LANES));
                if (ANY(unknown))
                    flags[v + w] |= flags_of_rows(unknown, p + (v + w) * WIDTH, n, channels,
                                                  last_reciprocal, end);
            }
        }
        if (++added == BATCHES_TO_CARRY) {
            for (uint v = 0; v * WIDTH < width; ++v)
                carry_sums(sums + v * FORWARD_LIMBS, FORWARD_LIMBS1, FORWARD_LIMBS2);
            added = 0;
        }
    }
    global long *out = partial + ((ulong)slice * channels + c) * FORWARD_LENGTH;
    for (uint v = 0; v * WIDTH < width; ++v)
        store_rows(sums + v * FORWARD_LIMBS, flags[v], FORWARD_LIMBS1, FORWARD_LIMBS2,
                   width - v * WIDTH, out + v * WIDTH * FORWARD_LENGTH);
}
#else
kernel __attribute__((reqd_work_group_size(LAST_ITEMS, LAST_ROWS, 1)))
void forward_reduce_nhwc(global const float *restrict x, ulong x_offset, uint samples,
                         uint channels, uint plane, uint blocks, uint strip, uint per_slice,
                         float last_reciprocal, global long *restrict partial)
{
    local float lanes_a[LANES * COLUMN], lanes_q[LANES * COLUMN];
    local long all[LAST_ROWS * LAST_ITEMS];
    const uint c = get_global_id(0), item = get_local_id(0), row = get_local_id(1);
    const bool exists = c < channels;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(samples * blocks, begin + per_slice);
    global const float *tensor = x + x_offset;
    wides sums[FORWARD_LIMBS];
    ints flags = 0;
    zero_sums(sums, FORWARD_LIMBS);
    for (uint batch = begin, added = 0; batch < stop; batch += LAST_ROWS) {
        uint own_n = 0;
        float own_pivot = 0.0f, own_a = 0.0f, own_q = 0.0f;
        global const float *own = tensor;
        for (uint number = batch; number < min(stop, batch + LAST_ROWS); ++number) {
            const uint sample = quotient(number, blocks);
            const uint start = (number - sample * blocks) * BLOCK;
            const uint n = min((uint)BLOCK, plane - start);
            global const float *p = tensor + ((ulong)sample * plane + start) * channels + c;
            const float pivot = pivot_of_rows(p, n, channels, last_reciprocal, exists, lanes_a);
            for (uint l = row; l < LANES; l += LAST_ROWS) {
                const uint steps = exists ? (n + LANES - 1 - l) >> 4 : 0;
                float a = 0.0f, q = 0.0f;
                UNROLL_4
                for (uint step = 0, i = l; step < steps; ++step, i += LANES) {
                    const float d = p[(ulong)i * channels] - pivot;
                    a += d;
                    q = fma(d, d, q);
                }
                lanes_a[l * COLUMN + item] = a;
                lanes_q[l * COLUMN + item] = q;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (exists && number - batch == row) {
                own = p;
                own_n = n;
                own_pivot = pivot;
                own_a = fold_column(lanes_a);
                own_q = fold_column(lanes_q);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (add_forward(sums, &flags, own_n, own_pivot, own_a, own_q))
            flags |= flags_of(mean_of_block(own, own_n, channels,
                                            reciprocal(own_n, last_reciprocal)));
        if (++added == BATCHES_TO_CARRY) {
            carry_sums(sums, FORWARD_LIMBS1, FORWARD_LIMBS2);
            added = 0;
        }
    }
    store_rows(sums, flags, FORWARD_LIMBS1, FORWARD_LIMBS2, exists, all,
               partial + ((ulong)slice * channels + c) * FORWARD_LENGTH);
}
#endif
