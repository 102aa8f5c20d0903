/*
 * GPU form, step 1: a block that does not fit the narrow format is summed again by one work-item, around the mean of
 * all its elements (mean_of_halves, pivots.cl), and added to its channel's wide accumulator.
 *
 * A work-item remembers which blocks of a *sweep* did not fit, one bit for each of its batches, and sums them again
 * behind the sweep's loops, which have no registers to spare. Limbs are carried there, too.
 *
 * Sums come one after the other, each from all elements, which takes few registers. Lanes come in the order 0, 8, 4,
 * 12, 2, ..., so that a lane's sum is folded with its neighbour's as soon as both are there, and four of them wait at
 * most. Lanes and elements are one loop, whose trips no compiler can count: Intel's unrolls two loops, whatever it is
 * told.
 */
#ifndef SWEEP /* a test has shorter ones */
#define SWEEP 32
#endif

/* Not by shifts of t, of which clang makes an intrinsic that Oclgrind 21.10 does not know. */
static uint lane_in_turn(uint t)
{
    return (uint)(0xf7b3d591e6a2c480UL >> (4 * t)) & 15;
}

/* The folded sum of the products that pass_factors gives: `which` of them, 0 for the mean. */
static INLINED float sum_of_block(private const pass_tensors *tensors, block_place block, uint n,
                                  uint which, float pivot, float share, pass_line line)
{
    float waits0 = 0.0f, waits1 = 0.0f, waits2 = 0.0f, waits3 = 0.0f, lane = 0.0f, sum = 0.0f;
    for (uint t = 0, i = 0; t < LANES;) {
        if (i < n) {
            float a, b;
            pass_elements one;
#if MASKED
            line.bit = mask_bit_of((uint)pass_bit(tensors, block, i));
#endif
            pass_load(&one, 0, tensors, block, i);
            pass_factors(which, &one, pivot, share, line, &a, &b);
            lane = fma(a, b, lane);
            i += LANES;
        }
        if (i < n)
            continue;
        const float sum1 = waits0 + lane, sum2 = waits1 + sum1, sum3 = waits2 + sum2;
        sum = which == 0 ? mean_of_halves(waits3, sum3) : waits3 + sum3;
        waits0 = t & 1 ? waits0 : lane;
        waits1 = (t & 3) == 1 ? sum1 : waits1;
        waits2 = (t & 7) == 3 ? sum2 : waits2;
        waits3 = t == 7 ? sum3 : waits3;
        lane = 0.0f;
        i = lane_in_turn(++t);
    }
    return sum;
}

/* Returns the block's flags. */
static INLINED int add_again(private const pass_tensors *tensors, block_place block, uint n,
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
    return flags ? flags : add_block_wide(wide, n, pivot, first, second, third);
}
