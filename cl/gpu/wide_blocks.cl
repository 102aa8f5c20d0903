/*
 * GPU form, step 1: a block that does not fit the narrow format is summed again by one work-item, around
 * the mean of all its elements, and added to its channel's wide accumulator. The mean cannot
 * overflow: it is finite if and only if all elements are.
 *
 * Lanes come in the order 0, 8, 4, 12, 2, ..., so that a sum of lanes is folded with its neighbour as
 * soon as both are there, and four of them wait at most.
 */
#define FOLD_LANE(t, sums, join)                                                                   \
    do {                                                                                           \
        if (!((t) & 1))                                                                            \
            waits0 = sums;                                                                         \
        else {                                                                                     \
            join(&sums, &waits0);                                                                  \
            if (!((t) & 2))                                                                        \
                waits1 = sums;                                                                     \
            else {                                                                                 \
                join(&sums, &waits1);                                                              \
                if (!((t) & 4))                                                                    \
                    waits2 = sums;                                                                 \
                else {                                                                             \
                    join(&sums, &waits2);                                                          \
                    if (!((t) & 8))                                                                \
                        waits3 = sums;                                                             \
                    else                                                                           \
                        join(&sums, &waits3);                                                      \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static uint lane_in_turn(uint t)
{
    return (t & 1) << 3 | (t & 2) << 1 | (t & 4) >> 1 | t >> 3;
}

static void join_means(private float *sum, private const float *other)
{
    *sum = *other + *sum;
}

static float mean_of_block(private const pass_tensors *tensors, block_place block, uint n,
                           float last_reciprocal, pass_line line)
{
    const float share = reciprocal(n, last_reciprocal);
    float sum = 0.0f, waits0 = 0.0f, waits1 = 0.0f, waits2 = 0.0f, waits3 = 0.0f;
    _Pragma("unroll 1") for (uint t = 0; t < LANES; ++t)
    {
        sum = 0.0f;
        _Pragma("unroll 1") for (uint i = lane_in_turn(t); i < n; i += LANES)
            sum = fma(pass_summed(tensors, block, i, line), share, sum);
        FOLD_LANE(t, sum, join_means);
    }
    return sum;
}

/* Returns the block's flags. */
static int add_again(private const pass_tensors *tensors, block_place block, uint n,
                     float last_reciprocal, pass_line line, global long *wide)
{
    const float pivot = mean_of_block(tensors, block, n, last_reciprocal, line);
    const int flags = flags_of(pivot);
    if (flags)
        return flags;
    float largest = 0.0f;
    pass_elements one;
    pass_sums sums, waits0, waits1, waits2, waits3;
    pass_clear(&waits0);
    waits1 = waits2 = waits3 = waits0;
    _Pragma("unroll 1") for (uint t = 0; t < LANES; ++t)
    {
        pass_clear(&sums);
        _Pragma("unroll 1") for (uint i = lane_in_turn(t); i < n; i += LANES)
        {
#if MASKED
            line.bit = mask_bit_of((uint)pass_bit(tensors, block, i));
#endif
            pass_load(&one, 0, tensors, block, i);
            pass_add(&sums, &largest, &one, 0, true, pivot, line);
        }
        FOLD_LANE(t, sums, pass_join);
    }
    return pass_add_wide(wide, n, pivot, pass_mean(line), &sums);
}
