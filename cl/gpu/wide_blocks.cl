/*
 * GPU form, step 1: a block that does not fit the narrow format is summed again by one work-item,
 * around the mean of all its elements, and added to its channel's wide accumulator. The mean cannot
 * overflow: it is finite if and only if all elements are.
 *
 * Sums come one after the other, each from all elements: what a work-item keeps for this adds to
 * the registers of the main loop. Lanes come in the order 0, 8, 4, 12, 2, ..., so that a lane's sum
 * is folded with its neighbour's as soon as both are there, and four of them wait at most.
 */
/* Not by shifts of t, of which clang makes an intrinsic that Oclgrind 21.10 does not know. */
static uint lane_in_turn(uint t)
{
    return (uint)(0xf7b3d591e6a2c480UL >> 4 * t) & 15;
}

/* The folded sum of the products that pass_factors gives: `which` of them, 0 for the mean. */
static float sum_of_block(private const pass_tensors *tensors, block_place block, uint n,
                          uint which, float pivot, float share, pass_line line)
{
    float waits0 = 0.0f, waits1 = 0.0f, waits2 = 0.0f, waits3 = 0.0f, sum = 0.0f;
    ONE_BY_ONE for (uint t = 0; t < LANES; ++t)
    {
        sum = 0.0f;
        ONE_BY_ONE for (uint i = lane_in_turn(t); i < n; i += LANES)
        {
            float a, b;
            pass_elements one;
#if MASKED
            line.bit = mask_bit_of((uint)pass_bit(tensors, block, i));
#endif
            pass_load(&one, 0, tensors, block, i);
            pass_factors(which, &one, pivot, share, line, &a, &b);
            sum = fma(a, b, sum);
        }
        const float sum1 = waits0 + sum, sum2 = waits1 + sum1, sum3 = waits2 + sum2;
        const float sum4 = waits3 + sum3;
        waits0 = t & 1 ? waits0 : sum;
        waits1 = (t & 3) == 1 ? sum1 : waits1;
        waits2 = (t & 7) == 3 ? sum2 : waits2;
        waits3 = t == 7 ? sum3 : waits3;
        sum = sum4;
    }
    return sum;
}

/* Returns the block's flags. */
static int add_again(private const pass_tensors *tensors, block_place block, uint n,
                     float last_reciprocal, pass_line line, global long *wide)
{
    float pivot = 0.0f, first = 0.0f, second = 0.0f, third = 0.0f;
    ONE_BY_ONE for (uint which = 0; which <= PASS_WIDE_SUMS; ++which)
    {
        const float sum = sum_of_block(tensors, block, n, which, pivot,
                                       reciprocal(n, last_reciprocal), line);
        pivot = which == 0 ? sum : pivot;
        first = which == 1 ? sum : first;
        second = which == 2 ? sum : second;
        third = which == 3 ? sum : third;
    }
    const int flags = flags_of(pivot);
    return flags ? flags
                 : add_block_wide(wide, n, pivot, pass_mean(line), first, second, third);
}
