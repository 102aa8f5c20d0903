/*
 * Backward: which blocks fit the narrow format, and the terms of those that do not (doc/order.md).
 * Of n elements, with the pivot g of dy: E = sum e, D = sum d, X = sum e d.
 */
#if ROW_MEAN_HIGH != 0
#error "the means are read from the beginning of the coefficients"
#endif

/*
 * From where on blocks of a channel are clear of the format's lowest bit: later where x - mean is
 * small. A standard deviation of 0 has no number here. The pass's tensors are declared behind this file.
 */
#define pass_faint(tensors, c, channels) \
    fmax((tensors)->means[table_row(ROW_INVSTD, channels) + (c)] * (PASS_CLEAR * 0x1p-12f), \
         PASS_CLEAR)

/*
 * A mask of the blocks that do not fit: a term is too large, or the block is not 0 and g and all e
 * are below `faint`: the largest |e| shows how far a block lies above the format's lowest bit; the sums may cancel.
 */
static ints misses(uints n, real pivot, real e, real d, real product, real largest, real faint)
{
    const ints over = reaches(pivot, PASS_LIMIT_PIVOT) | reaches(e, PASS_LIMIT_SUM) |
                      reaches(product, PASS_LIMIT_SECOND) |
                      reaches(pivot * d, PASS_LIMIT_SECOND);
    const ints clear = reaches(pivot, faint) | reaches(largest, faint);
    const ints some = MASK(pivot != 0.0f) | MASK(largest != 0.0f);
    return over | (some & ~clear);
}

/*
 * As forward. If products overflow a float, the second sum is lost: it is NaN then, as it is with a
 * mean that is not finite.
 */
static ints add_block_wide(WIDE_SUMS *wide, uints n, real pivot, real e, real d, real product)
{
    const ints lost = reaches(e, INFINITY) | reaches(product, INFINITY) |
                      reaches(pivot * d, INFINITY);
    e = zero_where(e, reaches(e, INFINITY));
    /* n g, E; X, g D */
    ONE_BY_ONE for (uint term = 0; term < 4; ++term)
        add_wide(wide + (term < 2 ? 0 : WIDE_LIMBS1), term < 2 ? WIDE_LIMBS1 : WIDE_LIMBS2,
                 term < 2 ? WIDE_LOW1 : WIDE_LOW2,
                 term == 0 ? n : (uints)1,
                 term == 1 ? e : term == 2 ? product : pivot, term == 3 ? d : (real)1.0f);
    return FLAG_WIDE | (lost & FLAG_OVERFLOW);
}
