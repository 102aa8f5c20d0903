/*
 * CPU form, channels last, planes of one element, as after a dense layer: each element is a block. Its pivot is the
 * element itself, so that only the terms x and x^2 are left, or dy and dy (x - mean).
 *
 * With doubles, ONES_AT_ONCE rows of WIDTH channels are summed as integers of fewer limbs than the format has, if all
 * elements lie in a range in which this is exact (pass_add_ones). Otherwise the terms that fit the narrow format are
 * split into limbs row by row, and the others, window after window of powers of two below each channel's largest, into
 * digits that go to the wide limbs. The accumulators are the same.
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

/* Rows of WIDTH channels, of which those under a mask exist. */
typedef struct ones_rows {
    private const pass_tensors *tensors;
    ulong place;
    uint count, stride, thin;
    ints present;
    pass_line line;
    real faint;
} ones_rows;

#if SUMS_DOUBLES
/*
 * A row's terms; which of them do not fit the narrow format; and which are not for doubles: of Inf, NaN and subnormal
 * numbers, which a device may flush.
 */
typedef struct ones_terms {
    double16 first, second;
    ints out, odd;
} ones_terms;

/* Whether a magnitude is neither 0 nor a number in [2^least, 2^most). */
static ints strays(uints magnitude, int least, int most)
{
    const uints from = (uint)(least + 127) << 23, to = (uint)(most + 127) << 23;
    return (magnitude - from >= to - from) & (magnitude != 0);
}

/* v, and 0 where the mask is not set. */
static double16 where(wides mask, double16 v)
{
    return as_double16(as_long16(v) & mask);
}

/* Without the bits below 2^-low. */
static double16 without_bits(double16 v, int low)
{
    const wides below = (1075 - low) - (as_long16(v) >> 52 & 0x7ff);
    return where((wides)(-1) << shift_by(below) & (below < 53), v);
}

static double16 larger_double(double16 a, double16 b)
{
    return a > b ? a : b;
}

static double16 power_of_two(ints n)
{
    return as_double16(convert_long16(n + 1023) << 52);
}

/*
 * A window: digits of DIGIT_BITS of the terms whose exponents lie at most a range below `top`, in units of 2^top. The
 * first is below 2^50; below the last no term has bits: the first sum's have mantissas of 24, the second's of 48.
 */
#define DIGIT_BITS 50
#define DIGIT_SPLITTER(k) as_double((1026L - DIGIT_BITS * (k)) << 52 | 0x8000000000000L)
#define DIGITS_END(count) (DIGIT_BITS * (count) - 1)
#define RANGE1 (DIGITS_END(PASS_DIGITS1) - 23)
#define RANGE2 (DIGITS_END(PASS_DIGITS2) - 47)

/* The top of a window: the largest term's exponent, or less than any term's. */
static ints top_of(double16 largest)
{
    return max(convert_int16(as_long16(largest) >> 52), (ints)600) - 1023;
}

/*
 * Adds digits, and their splitters. The largest of what lies below the window goes to `below`; what lies above it has
 * been added.
 */
static void split(private uwides *sums, int count, double16 v, int range, private double16 *below)
{
    const double16 size = fabs(v), from = as_double((1023L - range) << 52);
    *below = larger_double(*below, where(size < from, size));
    v = where((size >= from) & (size < 2.0), v);
#pragma unroll
    for (int k = 0; k < count; ++k) {
        const double16 sum = v + DIGIT_SPLITTER(k);
        sums[k] += as_ulong16(sum);
        v -= sum - DIGIT_SPLITTER(k);
    }
}

/* Adds the digits of so many rows to wide limbs. `place`: of 2^top. */
static void add_split(private wides *wide, int limbs, private const uwides *sums, int count,
                      ulong rows, ints place)
{
    for (int k = 0; k < count; ++k) {
        const wides digit = as_long16(sums[k] - rows * as_ulong(DIGIT_SPLITTER(k)));
        const wides sign = digit >> 63;
        add_digits(wide, limbs, as_ulong16((digit ^ sign) - sign), place - DIGITS_END(k + 1), sign);
    }
}
#endif
