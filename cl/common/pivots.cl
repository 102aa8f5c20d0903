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

/* The mean of a block whose sum around a pivot is known. */
static real moved_pivot(real pivot, real sum, real reciprocal)
{
    return fma(sum, reciprocal, pivot);
}
