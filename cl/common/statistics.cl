/*
 * Mean, variance and the sums of the gradients from a channel's accumulator, with the same bits as
 * src/exact/statistics.c computes on the host. ABREAST channels at once (channels.cl).
 *
 * Sums are integers (integers_narrow.cl, integers_wide.cl) and are rounded to a double once. The
 * rest is +, -, x, / and roots of doubles, which are rounded correctly (doubles.cl).
 */
#if COMBINES

/* Inf or NaN as the flags say, else the finite value. */
static doubles special_or(doubles finite, words flags)
{
    const words plus = TRUTH((flags & FLAG_PLUS_INF) != 0);
    const words minus = TRUTH((flags & FLAG_MINUS_INF) != 0);
    const doubles infinite = choose_double(plus, INFINITE, NEGATIVE(INFINITE));
    return choose_double(plus & minus, QUIET_NAN, choose_double(plus | minus, infinite, finite));
}

static words is_special(words flags)
{
    return TRUTH((flags & (FLAG_PLUS_INF | FLAG_MINUS_INF)) != 0);
}

/*
 * Mean and biased variance of n > 0 values, from the first sum, n^2 times the variance,
 * and the flags. src/exact/statistics.c gives the reasons.
 */
static doubles mean_of(doubles first, words flags, number n)
{
    return special_or(divide_exactly(first, n), flags);
}

static doubles variance_of(doubles n2_var, words flags, number n)
{
    const doubles v = divide_exactly(divide_exactly(n2_var, n), n);
    const words lost = TRUTH((flags & FLAG_OVERFLOW) != 0) | EXCEEDS(v, LARGEST_FLOAT);
    return choose_double(is_special(flags), QUIET_NAN, choose_double(lost, INFINITE, v));
}

/* 1 / sqrt(var + eps), or, with `clamps`, 1 / sqrt(max(var, eps)); NaN for NaN. */
static doubles invstd_of(doubles var, number eps, uint clamps)
{
    const doubles added = clamps ? choose_double(EXCEEDS(eps, var), eps, var) : PLUS(var, eps);
    return divide_exactly(ONE, root(added));
}

/* sum dy (x - mean), from the two sums and the flags. */
static doubles sum_dy_xmu_of(doubles first, doubles second, words flags, doubles mean)
{
    /* The kernels subtract only the upper float of the mean: the rest in full precision. */
    const doubles mean_low = MINUS(mean, OF_FLOATS(TO_FLOATS(mean)));
    const doubles left_out = TIMES(mean_low, first);
    const words lost = is_special(flags) | TRUTH((flags & FLAG_OVERFLOW) != 0);
    return choose_double(lost, QUIET_NAN, MINUS(second, left_out));
}

/* What a double's upper float, TO_FLOATS, leaves. Of Inf it is 0, not the NaN of Inf - Inf. */
static floats lower_float(doubles value)
{
    const doubles upper = OF_FLOATS(TO_FLOATS(value));
    return TO_FLOATS(choose_double(is_finite(upper), MINUS(value, upper), ZERO));
}
#endif
