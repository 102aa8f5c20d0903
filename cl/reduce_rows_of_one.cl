/*
 * Channels last, planes of one element, as behind a dense layer: each row of a tensor is a block of
 * one. Its pivot is the element itself, so that of a block's terms only x and x^2 are left, or dy
 * and dy (x - mean).
 *
 * CPU form with doubles: some rows of WIDTH channels are summed as integers of fewer limbs than the
 * format has, while all elements lie in a range that these hold exactly (forward_add_ones,
 * backward_add_ones). The accumulators are the same as by a block's terms one by one.
 */
/*
 * Rows that stay in a core's first two caches while they are summed, and no more than the sums in
 * doubles hold.
 */
#define ONES_AT_ONCE 64

/* Reads each cache line of `count` rows once, in the order of memory, which hardware foresees. */
static void touch_lines(global const stored *p, uint count, uint width, uint stride)
{
    for (uint row = 0; row < count; ++row)
        for (uint i = 0; i < width; i += LINE)
            (void)*(volatile global const stored *)(p + (ulong)row * stride + i);
}

#if DOUBLES
/* Whether a value is neither 0 nor from 2^least to below 2^most. */
static ints strays(uints magnitude, int least, int most)
{
    const uint from = (uint)(least + 127) << 23, to = (uint)(most + 127) << 23;
    return (magnitude - from >= to - from) & (magnitude != 0);
}

static uints magnitude_of(real v)
{
    return AS(uint, v) & 0x7fffffffu;
}

/* Adds `sum` in units of 2^shift of limb 0, below 2^63, to limbs that stay below their bound. */
static void add_integers(private wides *limbs, int shift, wides sum)
{
    limbs[0] += (sum << shift) & LIMB_MASK;
    limbs[1] += sum >> (LIMB_BITS - shift);
}

/* A double that is an integer in units of 2^-low. */
static wides in_units(double16 v, int low)
{
    return convert_long16(v * as_double((1023L + low) << 52));
}
#endif
