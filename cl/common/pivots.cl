/*
 * A block's pivot (doc/order.md): the mean of its first LANES elements. Where it turns out to lie
 * far from the rest, the block is summed once more, around its mean. Its own sums decide that, by
 * operations that round alike everywhere; where an element is NaN or Inf, the comparisons are
 * false. A block for the wide format is summed around the mean of all its elements, and not again.
 */

/* 1 / n of a block: the host gives that of a plane's last block. */
static float reciprocal(uint n, float last_reciprocal)
{
    return n == BLOCK ? BLOCK_RECIPROCAL : last_reciprocal;
}

/* The same of a pivot. */
static float pivot_reciprocal(uint n, float last_reciprocal)
{
    return n < LANES ? last_reciprocal : LANES_RECIPROCAL;
}

/* A mask of the blocks whose pivot was poor: of n elements, of their sum and squares around it. */
static ints is_poor_by_squares(real n, real sum, real squares)
{
    return MASK(sum * sum > 0.5f * n * squares);
}

/* The same by the largest distance from it. */
static ints is_poor_by_largest(real n, real sum, real largest)
{
    return MASK(fabs(sum) > 0.375f * n * largest);
}

/*
 * The last fold of a block's mean. Both halves are finite if and only if all elements are, and then rounding must not
 * take their sum past the largest float.
 */
static real mean_of_halves(real a, real b)
{
    const real sum = a + b;
    const ints infinite = reaches(a, INFINITY) | reaches(b, INFINITY);
    return select(clamp(sum, (real)-FLT_MAX, (real)FLT_MAX), sum, infinite);
}

/* The mean of a block whose sum around a pivot is known. */
static real moved_pivot(real pivot, real sum, real reciprocal)
{
    return fma(sum, reciprocal, pivot);
}
