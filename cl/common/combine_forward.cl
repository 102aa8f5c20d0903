/* Step 2 of a forward pass; combine.cl describes the arguments. */
#if COMBINES

/*
 * The integer part of the forward statistics: the first sum and n^2 times the variance, from
 * PASS_LIMBS1 + PASS_LIMBS2 limbs, each rounded once.
 */
static void sums_of(private const signed_words *limbs, ulong count, private doubles *first,
                    private doubles *n2_var)
{
    words sum[SUM_WORDS], squares[SQUARE_WORDS];
    const words minus = words_of(limbs, PASS_LIMBS1, sum, SUM_WORDS);
    const words negative = words_of(limbs + PASS_LIMBS1, PASS_LIMBS2, squares, SQUARE_WORDS);
    *first = negative_where(minus, double_of(sum, SUM_WORDS, -PASS_LOW1));
    *n2_var = n2_variance(sum, squares, negative, count, 2 * PASS_LOW1 - PASS_LOW2,
                          -2 * PASS_LOW1);
}

/* Stores the statistics of the `some` channels from c on. */
static void put_statistics(uint c, uint some, uint channels, doubles mean, doubles var,
                           doubles invstd, global float *coefficients, global double *moments)
{
    store_floats(upper_float(mean), coefficients + table_row(ROW_MEAN_HIGH, channels) + c, some);
    store_floats(lower_float(mean), coefficients + table_row(ROW_MEAN_LOW, channels) + c, some);
    store_floats(upper_float(choose_double(TRUTH(invstd == (doubles)INFINITY), QUIET_NAN, invstd)),
                 coefficients + table_row(ROW_INVSTD, channels) + c, some);
    store_doubles(mean, moments + table_row(MOMENT_MEAN, channels) + c, some);
    store_doubles(var, moments + table_row(MOMENT_VAR, channels) + c, some);
    store_doubles(invstd, moments + table_row(MOMENT_INVSTD, channels) + c, some);
}

/* The same from limbs of a wide accumulator, which it overwrites. */
static void wide_sums_of(global long *limbs, ulong count, private double *first,
                         private double *n2_var)
{
    global ulong *sum = (global ulong *)limbs + WIDE_LENGTH, *squares = sum + WIDE_SUM_WORDS;
    *first = wide_value(limbs, WIDE_LIMBS1, sum, WIDE_SUM_WORDS);
    const bool negative = wide_words(limbs + WIDE_LIMBS1, WIDE_LIMBS2, squares, WIDE_SQUARE_WORDS);
    *n2_var = wide_n2_variance(sum, squares, negative, count, (global ulong *)limbs);
}

/*
 * Updates the running statistics of `count` channels from c on: `weight` is that of the new
 * moments, `unbiased` is n / (n - 1).
 */
static void track(uint c, uint count, uint channels, global const double *moments,
                  global float *restrict running, double weight, double unbiased)
{
    const double old = 1.0 - weight;
    for (uint i = c; i < c + count; ++i) {
        const double mean = weight * moments[table_row(MOMENT_MEAN, channels) + i];
        const double unbiased_var = moments[table_row(MOMENT_VAR, channels) + i] * unbiased;
        const double var = weight * unbiased_var, was_mean = old * running[i];
        const double was_var = old * running[(ulong)channels + i];
        running[i] = convert_float(was_mean + mean);
        running[(ulong)channels + i] = convert_float(was_var + var);
    }
}

/* Combines the channels from `begin` to before `end` of a forward pass. */
INLINED
static void combine_forward(SOURCES, global long *own_wide, uint owns, uint begin, uint end,
                            uint channels, ulong count, double eps, uint clamps,
                            global float *coefficients, global double *moments)
{
    const double n = convert_double(count);
    for (uint c = begin; c < end; c += ABREAST) {
        const uint some = min((uint)ABREAST, end - c);
        signed_words limbs[PASS_LENGTH - 1];
        words flags;
        doubles sum, n2_var;
        ADD_SOURCES(limbs, &flags, PASS_LENGTH, c, some, from0, slices0, wide0, from1, slices1,
                    wide1, from2, slices2, wide2, from3, slices3, wide3);
        sums_of(limbs, count, &sum, &n2_var);
        if (SOME_CHANNEL(TRUTH((flags & FLAG_WIDE) != 0))) {
            REPLACE_WIDE(&sum, &n2_var, flags, c, some, from0, slices0, wide0, from1, slices1,
                         wide1, from2, slices2, wide2, from3, slices3, wide3);
            if (owns)
                clear_wide(own_wide, c, some);
        }
        const doubles mean = mean_of(sum, flags, n), var = variance_of(n2_var, flags, n);
        put_statistics(c, some, channels, mean, var, invstd_of(var, eps, clamps), coefficients,
                       moments);
    }
}
#endif
