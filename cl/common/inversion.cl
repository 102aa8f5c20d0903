/*
 * The backward pass from the output (FROM_OUTPUT, which comes from src/program/program_text.c): the
 * tensor in the place of x is y, which the forward pass has written, perhaps over x. With
 *
 *   z = y > 0 ? y : y / slope     (identity: z = y),     z = a (x - mean) + b
 *
 * step 1 sums with x - mean = (z - b) (1 / a), and step 3 needs no 1 / a:
 *
 *   q (x - mean) + r = -k (z - bias) - p g_low
 *
 * in the names of coefficients_backward.cl. The gradient passes where y > 0. doc/from-output.md has the error.
 */
#if FROM_OUTPUT

/*
 * 1 / v, the same float on every device, off by at most one unit in its last place: a difference of
 * bits gives it to 1 part in 19, and each step squares that. NaN unless |v| is 2^-125 to 2^125.
 */
static float inverse_of(float v)
{
    const uint bits = as_uint(v), size = bits & 0x7fffffffu;
    if (size < 0x01000000u || size > 0x7e000000u)
        return NAN;
    float inverse = as_float((0x7ef311c3u - size) | (bits & 0x80000000u));
    for (uint step = 0; step < 3; ++step)
        inverse = fma(fma(-v, inverse, 1.0f), inverse, inverse);
    return inverse;
}

/* Where y > 0, by its bits: LLVM would compare vectors of halves one by one. */
static ints is_above(real y)
{
    return MASK(AS(uint, y) - 1u < 0x7f800000u);
}

/* z of y. */
static real inverted(real y, float slope_inverse)
{
#if ACTIVATES
    return select(y * slope_inverse, y, is_above(y));
#else
    return y;
#endif
}
#endif
