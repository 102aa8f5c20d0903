/*
 * Forward, step 1, what a block adds: of n elements, pivot p = the mean of its
 * first LANES elements (narrow format; of all in the wide one), d = x - p,
 * A = sum d, Q = sum d^2 by fma. Then, without rounding,
 *
 *   sum x   += n p + A
 *   sum x^2 += n p^2 + 2 p A + Q
 *
 * with the same A in both, so that its rounding nearly cancels in the variance.
 * Why so few elements will do for a pivot: doc/order.md.
 */

#if DOUBLES
static void add_forward_doubles(private wides *sums, uints n, real pivot, real a, real q)
{
    private wides *second = sums + FORWARD_LIMBS1;
    const double16 p = convert_double16(pivot), wide_a = convert_double16(a);
    const double16 np = convert_double16(n) * p, square = np * p;
    add_double(sums, FORWARD_LOW1, 2, np);
    add_double(sums, FORWARD_LOW1, 2, wide_a);
    add_double(second, FORWARD_LOW2, 3, square);
    /* n p^2 may have 56 bits. */
    add_double(second, FORWARD_LOW2, 2, fma(np, p, -square));
    add_double(second, FORWARD_LOW2, 3, 2 * p * wide_a);
    add_double(second, FORWARD_LOW2, 3, convert_double16(q));
}

/* Whether no term has bits below the format. */
static bool forward_fits_doubles(real pivot, real a, real q)
{
    const ints low_pivot = lowest_bit(pivot), low_a = lowest_bit(a);
    return !any((2 * low_pivot < -FORWARD_LOW2) | (low_a < -FORWARD_LOW1) |
                (low_pivot + low_a + 1 < -FORWARD_LOW2) | (lowest_bit(q) < -FORWARD_LOW2));
}
#endif

/*
 * Adds a block to each component; n is 0 where there is none. Gives a mask of
 * those whose elements, or only their sum, may not be finite: they are left
 * out, and the caller finds out.
 */
static ints add_forward(private wides *sums, private ints *flags, uints n, real pivot, real a,
                        real q)
{
    const ints over = reaches(pivot, FORWARD_LIMIT_PIVOT) | reaches(a, FORWARD_LIMIT_SUM) |
                      reaches(q, FORWARD_LIMIT_SECOND);
    ints unknown = 0;
    if (ANY(over)) {
        unknown = reaches(pivot, INFINITY);
#if WIDE
        /* Squares overflow a float: the variance is +Inf, the mean as good as the pivots. */
        a = zero_where(a, unknown | reaches(a, INFINITY));
        pivot = zero_where(pivot, unknown);
#else
        unknown |= reaches(a, INFINITY);
        a = zero_where(a, over);
        pivot = zero_where(pivot, over);
#endif
        q = zero_where(q, over);
        *flags |= select(over & FLAG_OVERFLOW, (ints)0, unknown);
    }
    const ints clear = reaches(pivot, FORWARD_CLEAR) | reaches(q, FORWARD_CLEAR * FORWARD_CLEAR);
    /* d^2 may have underflowed */
    const ints some = MASK(pivot != 0.0f) | MASK(a != 0.0f) | MASK(q != 0.0f);
    *flags |= select(some & FLAG_FAINT, (ints)FLAG_CLEAR, clear);
#if DOUBLES
    if (forward_fits_doubles(pivot, a, q)) {
        add_forward_doubles(sums, n, pivot, a, q);
        return unknown;
    }
#endif
    private wides *second = sums + FORWARD_LIMBS1;
    add_term(sums, FORWARD_TERM_LIMBS1, FORWARD_LOW1, n, pivot);
    add_term(sums, FORWARD_TERM_LIMBS1, FORWARD_LOW1, 1, a);
    add_product(second, FORWARD_TERM_LIMBS2, FORWARD_LOW2, n, pivot, pivot);
    add_product(second, FORWARD_TERM_LIMBS2, FORWARD_LOW2, 2, pivot, a);
    add_term(second, FORWARD_TERM_LIMBS2, FORWARD_LOW2, 1, q);
    return unknown;
}
