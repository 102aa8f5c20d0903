/* Step 2 of a forward pass; combine.cl describes the arguments. */
#if COMBINES

/*
 * The integer part of the forward statistics: the first sum and n^2 times the variance, from
 * PASS_LIMBS1 + PASS_LIMBS2 limbs, each rounded once.
 */
static void sums_of(private const signed_words *limbs, ulong count, private doubles *first,
                    private doubles *n2_var)
{
    words sum[SUM_WORDS], squares[SUM_WORDS];
    *first = value_of(limbs, PASS_LIMBS1, PASS_LOW1, sum);
    const words negative = words_of(limbs + PASS_LIMBS1, PASS_LIMBS2, squares);
    *n2_var = n2_variance(sum, squares, negative, count, 2 * PASS_LOW1 - PASS_LOW2, -2 * PASS_LOW1);
}

/* Stores the statistics of the `some` channels from c on. */
static void put_statistics(uint c, uint some, uint channels, doubles mean, doubles var,
                           doubles invstd, global float *coefficients, global number *moments)
{
    store_floats(TO_FLOATS(mean), coefficients + table_row(ROW_MEAN_HIGH, channels) + c, some);
    store_floats(lower_float(mean), coefficients + table_row(ROW_MEAN_LOW, channels) + c, some);
    store_floats(TO_FLOATS(choose_double(is_finite(invstd), invstd, QUIET_NAN)),
                 coefficients + table_row(ROW_INVSTD, channels) + c, some);
    store_doubles(mean, moments + table_row(MOMENT_MEAN, channels) + c, some);
    store_doubles(var, moments + table_row(MOMENT_VAR, channels) + c, some);
    store_doubles(invstd, moments + table_row(MOMENT_INVSTD, channels) + c, some);
}

/* The same from limbs of a wide accumulator. */
static void wide_sums_of(WIDE_SPACE long *limbs, ulong count, private number *first,
                         private number *n2_var)
{
    *first = wide_value(limbs, WIDE_LIMBS1, WIDE_LOW1);
    const bool negative = wide_digits(limbs + WIDE_ROOM1, WIDE_LIMBS2);
    *n2_var = wide_n2_variance(limbs, limbs + WIDE_ROOM1, negative, count);
}

/* Updates `some` channels of a row of running statistics by values of a weight. */
static void track_row(global float *row, doubles values, number weight, uint some)
{
    const doubles new = TIMES(weight, values);
    const doubles old = TIMES(MINUS(ONE, weight), OF_FLOATS(load_floats(row, some)));
    store_floats(TO_FLOATS(PLUS(old, new)), row, some);
}

/*
 * With `tracks` updates the running statistics of the channels from `begin` to before `end`: `weight` is that of the
 * new moments, `unbiased` is n / (n - 1). With `counts` sets the layer's count of batches.
 */
static void track(uint begin, uint end, uint channels, global const number *moments,
                  PARAMETERS(TRACKING_ARGUMENTS))
{
    for (uint c = begin; tracks && c < end; c += ABREAST) {
        const uint some = min((uint)ABREAST, end - c);
        const doubles mean = load_doubles(moments + table_row(MOMENT_MEAN, channels) + c, some);
        const doubles var = load_doubles(moments + table_row(MOMENT_VAR, channels) + c, some);
        track_row(means + means_offset + c, mean, weight, some);
        track_row(vars + vars_offset + c, TIMES(var, unbiased), weight, some);
    }
    if (counts && begin == 0)
        layers[channels] = batches;
}

/* Combines the channels from `begin` to before `end`, and updates their running statistics. */
static void combine_forward(PARAMETERS(SOURCE_ARGUMENTS), PARAMETERS(OWN_WIDE_ARGUMENTS),
                            WIDE_SPACE long *room, uint begin, uint end,
                            PARAMETERS(FORWARD_STEP_2_ARGUMENTS))
{
    const number n = OF_COUNT(count);
    for (uint c = begin; c < end; c += ABREAST) {
        const uint some = min((uint)ABREAST, end - c);
        signed_words limbs[PASS_LIMBS];
        words flags;
        doubles sum, n2_var;
        ADD_SOURCES(limbs, &flags, PASS_LENGTH, c, some, NAMES(SOURCE_ARGUMENTS));
        sums_of(limbs, count, &sum, &n2_var);
        if (SOME_CHANNEL(flags & FLAG_WIDE)) {
            REPLACE_WIDE(&sum, &n2_var, flags, c, some, NAMES(SOURCE_ARGUMENTS));
            if (owns)
                clear_wide(own_wide, c, some);
        }
        const doubles mean = mean_of(sum, flags, n), var = variance_of(n2_var, flags, n);
        put_statistics(c, some, channels, mean, var, invstd_of(var, eps, clamps), coefficients,
                       moments);
    }
    track(begin, end, channels, moments, NAMES(TRACKING_ARGUMENTS));
}

/* Behind sums of the same launch, from one source. */
#define STEP_2_ARGUMENTS FORWARD_STEP_2_ARGUMENTS
#define COMBINE_SUMS(from, room, begin, end) \
    combine_forward(ONE_SOURCE(from, 1, wide), wide, true, channels, room, begin, end, \
                    NAMES(STEP_2_ARGUMENTS))
#endif
