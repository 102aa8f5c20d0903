/*
 * CPU form, channels last, planes of one element, as after a dense layer: each element is a block. Its pivot is the
 * element itself, so that only the terms x and x^2 are left, or dy and dy (x - mean).
 *
 * With doubles, ONES_AT_ONCE rows of WIDTH channels are summed as integers of fewer limbs than the format has, if all
 * elements lie in a range in which this is exact (pass_add_ones). Otherwise each channel's range is moved below its
 * largest element in the rows that are left, where all numbers fit the narrow format or none, and the rows that lie in
 * the ranges are summed; that twice, and then the others one by one. The accumulators are the same.
 */
/* As many as a mask has bits, and so few that they stay in the L2 cache, and that doubles hold the sums. */
#define ONES_AT_ONCE 64

/* Reads each cache line of `count` rows once, in the order of memory, so that hardware prefetches. */
static void touch_lines(global const stored *p, uint count, uint width, ulong stride)
{
    for (uint row = 0; row < count; ++row)
        for (uint i = 0; i < width; i += LINE)
            (void)*(volatile global const stored *)(p + row * stride + i);
}

#if SUMS_DOUBLES
/* Whether a magnitude is neither 0 nor a number in [2^least, 2^most). */
static ints strays(uints magnitude, ints least, ints most)
{
    const uints to = AS(uint, (min(most, (ints)128) + 127) << 23);
    const uints from = min(AS(uint, (least + 127) << 23), to);
    return (magnitude - from >= to - from) & (magnitude != 0);
}

/*
 * Each channel's ranges are 2^first and 2^second times as large. Masks: the channels that there are, as others'
 * elements beside a view are to cost nothing; and those all of whose elements are added to wide limbs: those that do
 * not fit the narrow format, and such as neither format cuts. `limbs` are WIDE_LIMBS.
 */
typedef struct ones_ranges {
    ints present, mask, first, second;
    private wides *limbs;
} ones_ranges;

/*
 * Adds integers in units of 2^shift of limb 0 to the two lowest limbs; those under the mask to wide limbs, in units of
 * 2^place.
 */
static void add_integers(private wides *limbs, ints shift, ints mask, private wides *wide,
                         int count, ints place, wides sum)
{
    const wides is_wide = convert_long16(mask), own = sum & ~is_wide, sign = sum >> 63;
    limbs[0] += (own << convert_ulong16(shift)) & LIMB_MASK;
    limbs[1] += own >> convert_ulong16(LIMB_BITS - shift);
    if (ANY(mask))
        add_digits(wide, count, as_ulong16((sum ^ sign) - sign) & as_ulong16(is_wide), place, sign);
}

/* v 2^n, both of which are normal. */
static double16 scaled_double(double v, ints n)
{
    return as_double16(as_long(v) + (convert_long16(n) << 52));
}

/* A double that is a multiple of 2^(scale - low), as a number of these. */
static wides in_units(double16 v, int low, ints scale)
{
    return convert_long16(v * scaled_double(1.0, low - scale));
}
#endif
