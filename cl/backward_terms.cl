/*
 * Backward, step 1, what a block adds: of n elements, pivot g = the mean of the
 * first LANES of dy (narrow window; of all in the wide one), e = dy - g,
 * d = x - mean, E = sum e, D = sum d, X = sum e d by fma. Then, without
 * rounding,
 *
 *   sum dy            += n g + E
 *   sum dy (x - mean) += X + g D
 *
 * Here mean is its upper float; the host takes off mean_low sum dy. The
 * largest |e| tells how far above the window's bottom the block lies: the sums
 * themselves may cancel.
 */

/* As add_forward. */
static ints add_backward(private wides *sums, private ints *flags, uints n, real pivot, real mean,
                         real e, real d, real product, real largest)
{
    /* With a mean that is not finite the second sum is lost anyway, and no reason to repeat. */
    const ints lost = ~MASK(isfinite(mean));
    d = zero_where(d, lost);
    product = zero_where(product, lost);
    const ints fits = MASK(fabs(pivot) < BACKWARD_LIMIT_PIVOT) & MASK(fabs(e) < BACKWARD_LIMIT_SUM) &
                      MASK(fabs(product) < BACKWARD_LIMIT_SECOND) &
                      MASK(fabs(pivot * d) < BACKWARD_LIMIT_SECOND);
    ints unknown = 0;
    if (ANY(~fits)) {
        unknown = ~MASK(isfinite(pivot));
#if WIDE
        e = zero_where(e, unknown | ~MASK(isfinite(e)));
        pivot = zero_where(pivot, unknown);
#else
        unknown |= ~MASK(isfinite(e));
        e = zero_where(e, ~fits);
        pivot = zero_where(pivot, ~fits);
#endif
        d = zero_where(d, ~fits);
        product = zero_where(product, ~fits);
        largest = zero_where(largest, ~fits);
        *flags |= ~fits & ~unknown & FLAG_OVER;
    }
    const ints clear = MASK(fabs(pivot) >= BACKWARD_CLEAR) | MASK(largest >= BACKWARD_CLEAR);
    const ints some = MASK(pivot != 0.0f) | MASK(largest != 0.0f);
    *flags |= (clear & FLAG_CLEAR) | (some & ~clear & FLAG_FAINT);
    private wides *second = sums + BACKWARD_DIGITS1;
    add_term(sums, BACKWARD_PLACED1, BACKWARD_LOW1, n, pivot);
    add_term(sums, BACKWARD_PLACED1, BACKWARD_LOW1, 1, e);
    add_term(second, BACKWARD_PLACED2, BACKWARD_LOW2, 1, product);
    add_product(second, BACKWARD_PLACED2, BACKWARD_LOW2, 1, pivot, d);
    return unknown;
}
