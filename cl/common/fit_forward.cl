/*
 * Forward: which blocks fit the narrow format, and the terms of those that do not (doc/order.md).
 * Of n elements, with the pivot p: A = sum d and Q = sum d^2.
 */

/* From where on a channel's blocks fit: fit_backward.cl. Forward nothing depends on it. */
#define pass_faint(tensors, c, channels) 0.0f

/*
 * A mask of the blocks that do not fit: a term is too large, or the block is not 0 and so small
 * that the format cuts what counts. With `thin`, eps hides nothing: then blocks of little spread do
 * not fit unless they lie so far from 0 that nothing is cut.
 */
static ints misses(uints n, real pivot, real a, real q, uint thin, real faint)
{
    const ints over = reaches(pivot, PASS_LIMIT_PIVOT) | reaches(a, PASS_LIMIT_SUM) |
                      reaches(q, PASS_LIMIT_SECOND);
    ints clear = reaches(pivot, PASS_CLEAR) | reaches(q, PASS_CLEAR * PASS_CLEAR);
    if (thin)
        clear = reaches(pivot, 0x1p-15f) | (MASK(n == 1) & reaches(pivot, 0x1p-17f)) |
                reaches(q, CONVERT(float, n) * 0x1p-48f);
    /* All three count: q is 0 if the squares have underflowed. */
    const ints some = MASK(pivot != 0.0f) | MASK(a != 0.0f) | MASK(q != 0.0f);
    return over | (some & ~clear);
}

/*
 * Adds a block, summed around its mean, to its channel's wide accumulator, and returns its flags.
 * If squares overflow a float the variance is +Inf, and the mean is that of the pivots.
 */
static ints add_block_wide(WIDE_SUMS *wide, uints n, real pivot, real a, real q, real unused)
{
    const ints over = reaches(q, INFINITY) & FLAG_OVERFLOW;
    a = zero_where(a, reaches(a, INFINITY));
    /* n p, A; n p p, 2 p A, Q */
    ONE_BY_ONE for (uint term = 0; term < 5; ++term)
        add_wide(wide + (term < 2 ? 0 : WIDE_LIMBS1), term < 2 ? WIDE_LIMBS1 : WIDE_LIMBS2,
                 term < 2 ? WIDE_LOW1 : WIDE_LOW2,
                 term == 3 ? (uints)2 : term == 1 || term == 4 ? (uints)1 : n,
                 term == 1 ? a : term == 4 ? q : pivot,
                 term == 2 ? pivot : term == 3 ? a : (real)1.0f);
    return FLAG_WIDE | over;
}
