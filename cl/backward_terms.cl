/*
 * Backward, step 1, what a block adds: of n elements, pivot g = the mean of the
 * first LANES of dy (narrow format; of all in the wide one), e = dy - g,
 * d = x - mean, E = sum e, D = sum d, X = sum e d by fma. Then, without
 * rounding,
 *
 *   sum dy            += n g + E
 *   sum dy (x - mean) += X + g D
 *
 * Here mean is its upper float; the host takes off mean_low sum dy. The
 * largest |e| tells how far above the format's bottom the block lies: the sums
 * themselves may cancel.
 */

#if DOUBLES
static void add_backward_doubles(private wides *sums, uints n, real pivot, real e, real d,
                                 real product)
{
    private wides *second = sums + BACKWARD_LIMBS1;
    const double16 g = convert_double16(pivot);
    add_double(sums, BACKWARD_LOW1, 3, convert_double16(n) * g);
    add_double(sums, BACKWARD_LOW1, 3, convert_double16(e));
    add_double(second, BACKWARD_LOW2, 3, convert_double16(product));
    add_double(second, BACKWARD_LOW2, 3, g * convert_double16(d));
}

static bool backward_fits_doubles(real pivot, real e, real d, real product)
{
    const ints low_pivot = lowest_bit(pivot);
    return !any((low_pivot < -BACKWARD_LOW1) | (lowest_bit(e) < -BACKWARD_LOW1) |
                (lowest_bit(product) < -BACKWARD_LOW2) |
                (low_pivot + lowest_bit(d) < -BACKWARD_LOW2));
}
#endif

/* As add_forward. */
static ints add_backward(private wides *sums, private ints *flags, uints n, real pivot, real mean,
                         real e, real d, real product, real largest)
{
    /* With a mean that is not finite the second sum is lost anyway, and no reason to repeat. */
    const ints lost = reaches(mean, INFINITY);
    d = zero_where(d, lost);
    product = zero_where(product, lost);
    const ints over = reaches(pivot, BACKWARD_LIMIT_PIVOT) | reaches(e, BACKWARD_LIMIT_SUM) |
                      reaches(product, BACKWARD_LIMIT_SECOND) |
                      reaches(pivot * d, BACKWARD_LIMIT_SECOND);
    ints unknown = 0;
    if (ANY(over)) {
        unknown = reaches(pivot, INFINITY);
#if WIDE
        e = zero_where(e, unknown | reaches(e, INFINITY));
        pivot = zero_where(pivot, unknown);
#else
        unknown |= reaches(e, INFINITY);
        e = zero_where(e, over);
        pivot = zero_where(pivot, over);
#endif
        d = zero_where(d, over);
        product = zero_where(product, over);
        largest = zero_where(largest, over);
        *flags |= select(over & FLAG_OVERFLOW, (ints)0, unknown);
    }
    const ints clear = reaches(pivot, BACKWARD_CLEAR) | reaches(largest, BACKWARD_CLEAR);
    const ints some = MASK(pivot != 0.0f) | MASK(largest != 0.0f);
    *flags |= select(some & FLAG_FAINT, (ints)FLAG_CLEAR, clear);
#if DOUBLES
    if (backward_fits_doubles(pivot, e, d, product)) {
        add_backward_doubles(sums, n, pivot, e, d, product);
        return unknown;
    }
#endif
    private wides *second = sums + BACKWARD_LIMBS1;
    add_term(sums, BACKWARD_TERM_LIMBS1, BACKWARD_LOW1, n, pivot);
    add_term(sums, BACKWARD_TERM_LIMBS1, BACKWARD_LOW1, 1, e);
    add_term(second, BACKWARD_TERM_LIMBS2, BACKWARD_LOW2, 1, product);
    add_product(second, BACKWARD_TERM_LIMBS2, BACKWARD_LOW2, 1, pivot, d);
    return unknown;
}
