/*
 * CPU form, step 1: pivots of blocks, and flags of blocks with elements that are not finite.
 */

/*
 * The mean of a block, in lane order. It cannot overflow: it is finite if and only if all elements
 * are. Its elements are `rows_apart` rows apart.
 */
static float mean_of_block(private const pass_tensors *tensors, ulong place, uint n,
                           ulong stride, uint rows_apart, float reciprocal, pass_line line)
{
    pass_tensors own = *tensors;
    float s[LANES];
    for (uint l = 0; l < LANES; ++l)
        s[l] = 0.0f;
    for (uint i = 0; i < n; ++i, pass_skip(&own, rows_apart))
        s[i & (LANES - 1)] = fma(pass_summed_one(&own, place + i * stride, line), reciprocal,
                                 s[i & (LANES - 1)]);
    for (uint half_way = LANES >> 1; half_way > 0; half_way >>= 1)
        for (uint l = 0; l < half_way; ++l)
            s[l] += s[l + half_way];
    return s[0];
}

/* --- channels first: reduce_nchw.cl --- */

/*
 * A block's pivot, from its first LANES elements, or from all of them in the wide format. It is
 * computed just before the block is summed, so that memory is read sequentially.
 */
static float pivot_of(private const pass_tensors *tensors, ulong place, uint n,
                      float last_reciprocal, pass_line line, private float *pivot)
{
#if WIDE
    *pivot = mean_of_block(tensors, place, n, 1, 0, reciprocal(n, last_reciprocal), line);
#else
    const real lanes = pass_summed_edge(tensors, place, 0, n, 0.0f, line) *
                       pivot_reciprocal(n, last_reciprocal);
    const float8 eight = lanes.lo + lanes.hi;
    const float4 four = eight.lo + eight.hi;
    const float2 two = four.lo + four.hi;
    *pivot = two.lo + two.hi;
#endif
    return *pivot;
}

/*
 * Flags of the blocks under the mask, whose elements may not be finite. They begin with block t,
 * and belong to channels as in sum_batch.
 */
static ints flags_of_batch(ints unknown, private const pass_tensors *tensors, uint t, uint c,
                           uint blocks, float last_reciprocal, private const ulong *places,
                           private const uint *sizes)
{
    int each[WIDTH];
    spread_ints(unknown, each);
    for (uint j = 0; j < WIDTH; ++j) {
        if (!each[j])
            continue;
        pass_line line;
        pass_line_of(tensors, blocks ? c + quotient(t + j, blocks) : c, &line);
        pass_tensors own = *tensors;
        if (own.row != 0)
            pass_skip(&own, quotient_long(places[j], own.row));
        each[j] = flags_of(mean_of_block(&own, places[j], sizes[j], 1, 0,
                                         reciprocal(sizes[j], last_reciprocal), line));
    }
    return gather_ints(each);
}

/* --- channels last: reduce_nhwc.cl --- */

/* Whether the block of n rows has channel j within the tensor; and its mean there. */
static bool has_column(private const pass_tensors *tensors, ulong place, uint n, uint stride,
                       uint j)
{
    return tensors->summed + place + (n - 1) * (stride + tensors->summed_gap) + j <
           tensors->summed_end;
}

static float mean_of_column(private const pass_tensors *tensors, ulong place, uint n,
                            uint stride, float last_reciprocal, pass_line line, uint j)
{
    pass_line_at(&line, j);
    return mean_of_block(tensors, place + j, n, stride, 1, reciprocal(n, last_reciprocal),
                         line);
}

/* The pivots of WIDTH channels. */
static real pivot_of_rows(private const pass_tensors *tensors, ulong place, uint n,
                          uint stride, float last_reciprocal, pass_line line)
{
#if WIDE
    float means[WIDTH];
    for (uint j = 0; j < WIDTH; ++j)
        means[j] = has_column(tensors, place, n, stride, j)
                       ? mean_of_column(tensors, place, n, stride, last_reciprocal, line, j)
                       : 0.0f;
    return vload16(0, means);
#else
    real s[LANES];
    for (uint l = 0; l < LANES; ++l)
        s[l] = 0.0f;
    pass_tensors own = *tensors;
    for (uint l = 0; l < LANES && l < n; ++l, pass_skip(&own, 1))
        s[l] = pass_summed_row(&own, place + (ulong)l * stride, line) *
               pivot_reciprocal(n, last_reciprocal);
    return fold_column(s);
#endif
}

/* Flags of the channels under the mask, whose elements may not be finite. */
static ints flags_of_rows(ints unknown, private const pass_tensors *tensors, ulong place,
                          uint n, uint stride, float last_reciprocal, pass_line line)
{
    int each[WIDTH];
    spread_ints(unknown, each);
    for (uint j = 0; j < WIDTH; ++j)
        if (each[j])
            each[j] = has_column(tensors, place, n, stride, j)
                          ? flags_of(mean_of_column(tensors, place, n, stride,
                                                    last_reciprocal, line, j))
                          : 0;
    return gather_ints(each);
}
