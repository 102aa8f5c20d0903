/*
 * Channels last, planes of one element, as behind a dense layer: each row is a
 * block of one. Its pivot is the element, so that what is left of forward.cl's
 * terms is x and x^2, and of backward's dy and dy (x - mean).
 *
 * CPU form with doubles: some rows of WIDTH channels are summed as
 * integers of fewer limbs than the format has, while all lie in a range that
 * these hold exactly. The words are the same as by add_forward and add_backward.
 */
#if CPU_FORM
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

/*
 * 0 and nothing done if an element is out of range: 2^-17 to 2^7. Doubles add as many as
 * ONES_AT_ONCE of these exactly: x in units of 2^-40, of x^2 each limb, at most 2^53 of its units.
 */
static int add_forward_ones(private wides *sums, private ints *flags, global const float *p,
                            uint rows, uint stride, global const float *end)
{
    const double splitter = SPLITTER(FORWARD_LOW2, 1);
    double16 x_sum = 0, high_sum = 0, low_sum = 0;
    ints stray = 0;
    for (uint i = 0; i < rows; ++i) {
        const real x = load_row(p + (ulong)i * stride, end);
        const double16 wide_x = convert_double16(x);
        const double16 high = fma(wide_x, wide_x, splitter) - splitter;
        x_sum += wide_x;
        high_sum += high;
        low_sum += fma(wide_x, wide_x, -high);
        stray |= strays(magnitude_of(x), -17, 7);
    }
    if (any(stray))
        return 0;
    add_integers(sums, FORWARD_LOW1 - 40, in_units(x_sum, 40));
    add_integers(sums + FORWARD_LIMBS1, 0, in_units(low_sum, FORWARD_LOW2));
    add_integers(sums + FORWARD_LIMBS1 + 1, 0, in_units(high_sum, FORWARD_LOW2 - LIMB_BITS));
    *flags |= convert_int16(high_sum + low_sum > 0.0) & FLAG_CLEAR;
    return 1;
}

/* The same: dy from 2^-55, dy (x - mean) from 2^-50 (its bits reach 46 lower) to 2^7. */
static int add_backward_ones(private wides *sums, private ints *flags, real mean,
                             global const float *px, global const float *pdy, uint rows,
                             uint stride, global const float *end, global const float *end_dy)
{
    /* Units of 2^4 of limb 1, so that more fits. */
    const double high = SPLITTER(BACKWARD_LOW1 - LIMB_BITS - 4, 0);
    const double low = SPLITTER(BACKWARD_LOW1, 0);
    uwides first_high = 0, first_low = 0, second_high = 0, second_low = 0;
    ints stray = 0, some = 0;
    for (uint i = 0; i < rows; ++i) {
        const real g = load_row(pdy + (ulong)i * stride, end_dy);
        const real d = load_row(px + (ulong)i * stride, end) - mean;
        const double16 wide_g = convert_double16(g), wide_d = convert_double16(d);
        const double16 sum1 = wide_g + high, sum2 = fma(wide_g, wide_d, high);
        first_high += as_ulong16(sum1);
        first_low += as_ulong16((wide_g - (sum1 - high)) + low);
        second_high += as_ulong16(sum2);
        second_low += as_ulong16(fma(wide_g, wide_d, -(sum2 - high)) + low);
        const uints size_g = magnitude_of(g), size_d = magnitude_of(d);
        /* Halves of sums of logarithms, as floats' bits are; a sum of two may carry one up. */
        const uints size = (size_g >> 1) + (size_d >> 1);
        stray |= strays(size_g, -55, 7) | strays(size_d, -100, 20) |
                 ((size - (205u << 22) >= (55u << 22)) & (size_g != 0) & (size_d != 0));
        some |= g != 0.0f;
    }
    if (any(stray))
        return 0;
    /* What `rows` splitters have added. */
    const ulong highs = rows * as_ulong(high), lows = rows * as_ulong(low);
    add_integers(sums, 0, as_long16(first_low - lows));
    add_integers(sums + 1, 4, as_long16(first_high - highs));
    add_integers(sums + BACKWARD_LIMBS1, 0, as_long16(second_low - lows));
    add_integers(sums + BACKWARD_LIMBS1 + 1, 4, as_long16(second_high - highs));
    *flags |= some & FLAG_CLEAR;
    return 1;
}
#endif

/*
 * Rows that stay in a core's first two caches while they are summed, and no more than
 * add_forward_ones holds.
 */
#define ONES_AT_ONCE 64

/* A look at each cache line of `count` rows in the order of memory, which the hardware foresees. */
static void look_ahead(global const float *p, uint count, uint width, uint stride)
{
    for (uint row = 0; row < count; ++row)
        for (uint i = 0; i < width; i += WIDTH)
            (void)*(volatile global const float *)(p + (ulong)row * stride + i);
}

/* Adds `rows` rows of `width` channels from p on. */
static void sum_forward_ones(private wides *sums, private ints *flags, global const float *p,
                             uint rows, uint width, uint stride, global const float *end)
{
    for (uint row = 0; row < rows; row += ONES_AT_ONCE) {
        global const float *from = p + (ulong)row * stride;
        const uint count = min((uint)ONES_AT_ONCE, rows - row);
        look_ahead(from, count, width, stride);
        for (uint v = 0; v * WIDTH < width; ++v) {
            private wides *own = sums + v * FORWARD_LIMBS;
            int added = 0;
#if DOUBLES
            added = add_forward_ones(own, flags + v, from + v * WIDTH, count, stride, end);
#endif
            for (uint i = 0; i < count && !added; ++i) {
                global const float *one = from + (ulong)i * stride + v * WIDTH;
                const real x = load_row(one, end);
                const ints unknown = add_forward(own, flags + v, 1, x, x - x, 0.0f);
                if (ANY(unknown))
                    flags[v] |= flags_of_rows(unknown, one, 1, stride, 1.0f, end);
            }
            carry_sums(own, FORWARD_LIMBS1, FORWARD_LIMBS2);
        }
    }
}

static void sum_backward_ones(private wides *sums, private ints *flags, private const real *means,
                              global const float *px, global const float *pdy, uint rows,
                              uint width, uint stride, global const float *end,
                              global const float *end_dy)
{
    for (uint row = 0; row < rows; row += ONES_AT_ONCE) {
        const ulong place = (ulong)row * stride;
        const uint count = min((uint)ONES_AT_ONCE, rows - row);
        look_ahead(px + place, count, width, stride);
        look_ahead(pdy + place, count, width, stride);
        for (uint v = 0; v * WIDTH < width; ++v) {
            global const float *x = px + place + v * WIDTH, *dy = pdy + place + v * WIDTH;
            private wides *own = sums + v * BACKWARD_LIMBS;
            int added = 0;
#if DOUBLES
            added = add_backward_ones(own, flags + v, means[v], x, dy, count, stride, end, end_dy);
#endif
            for (uint i = 0; i < count && !added; ++i) {
                const real g = load_row(dy + (ulong)i * stride, end_dy), e = g - g;
                const real d = load_row(x + (ulong)i * stride, end) - means[v];
                const ints unknown =
                    add_backward(own, flags + v, 1, g, means[v], e, d, e * d, fabs(e));
                if (ANY(unknown))
                    flags[v] |= flags_of_rows(unknown, dy + (ulong)i * stride, 1, stride, 1.0f,
                                              end_dy);
            }
            carry_sums(own, BACKWARD_LIMBS1, BACKWARD_LIMBS2);
        }
    }
}
#endif
