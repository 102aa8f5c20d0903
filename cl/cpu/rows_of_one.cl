/*
 * CPU form, channels last, planes of one element, as after a dense layer: each element is a block.
 * Its pivot is the element itself, so that only the terms x and x^2 are left, or dy and
 * dy (x - mean).
 *
 * With doubles, ONES_AT_ONCE rows of WIDTH channels are summed as integers of fewer limbs than the
 * format has, if all elements lie in a range in which this is exact (forward_add_ones,
 * backward_add_ones). The accumulators are the same.
 */
/*
 * So few rows that they stay in the L2 cache while they are summed, and that doubles hold the sums.
 */
#define ONES_AT_ONCE 64

/*
 * Reads each cache line of `count` rows once, in the order of memory, so that hardware prefetches.
 */
static void touch_lines(global const stored *p, uint count, uint width, ulong stride)
{
    for (uint row = 0; row < count; ++row)
        for (uint i = 0; i < width; i += LINE)
            (void)*(volatile global const stored *)(p + row * stride + i);
}

#if SUMS_DOUBLES
/* Whether a magnitude is neither 0 nor in [2^least, 2^most). */
static ints strays(uints magnitude, int least, int most)
{
    const uint from = (uint)(least + 127) << 23, to = (uint)(most + 127) << 23;
    return (magnitude - from >= to - from) & (magnitude != 0);
}

/* Adds `sum`, in units of 2^shift of limb 0, to the two lowest limbs. */
static void add_integers(private wides *limbs, int shift, wides sum)
{
    limbs[0] += (sum << shift) & LIMB_MASK;
    limbs[1] += sum >> (LIMB_BITS - shift);
}

/* A double that is a multiple of 2^-low, as a number of these. */
static wides in_units(double16 v, int low)
{
    return convert_long16(v * as_double((1023L + low) << 52));
}
#endif
