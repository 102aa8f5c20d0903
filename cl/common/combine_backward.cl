/* Step 2 of a backward pass; combine.cl describes the arguments. */
#if COMBINES

/* The two sums of PASS_LIMBS1 + PASS_LIMBS2 limbs, each rounded once. */
static void sums_of(private const signed_words *limbs, private doubles *first,
                    private doubles *second)
{
    words sum[SUM_WORDS];
    *first = value_of(limbs, PASS_LIMBS1, PASS_LOW1, sum);
    *second = value_of(limbs + PASS_LIMBS1, PASS_LIMBS2, PASS_LOW2, sum);
}

/* The same from limbs of a wide accumulator. */
static void wide_sums_of(WIDE_SPACE long *limbs, ulong count, private number *first,
                         private number *second)
{
    *first = wide_value(limbs, WIDE_LIMBS1, WIDE_LOW1);
    *second = wide_value(limbs + WIDE_ROOM1, WIDE_LIMBS2, WIDE_LOW2);
}

/* Stores the rows that dx needs, and the gradients of weight and bias, from the `own` sums. */
static void put_gradients(uint c, uint some, uint channels, number n, words clamped,
                          doubles invstd, doubles dy, doubles dy_xmu, doubles own_dy,
                          doubles own_scaled, global float *gradients)
{
    const doubles mean_dy = divide_exactly(dy, n), invvar = TIMES(invstd, invstd);
    const doubles scaled = TIMES(invvar, dy_xmu);
    /* Where dy is not finite k is NaN, of which dx is NaN. */
    const words is_constant = clamped & is_finite(dy);
    const doubles k = choose_double(is_constant, ZERO, divide_exactly(scaled, n));
    store_floats(TO_FLOATS(mean_dy), gradients + table_row(ROW_G_HIGH, channels) + c, some);
    store_floats(lower_float(mean_dy), gradients + table_row(ROW_G_LOW, channels) + c, some);
    store_floats(TO_FLOATS(k), gradients + table_row(ROW_K, channels) + c, some);
    store_floats(TO_FLOATS(own_scaled), gradients + table_row(ROW_WEIGHT_GRAD, channels) + c, some);
    store_floats(TO_FLOATS(own_dy), gradients + table_row(ROW_BIAS_GRAD, channels) + c, some);
}

/*
 * Combines the channels from `begin` to before `end` of a backward pass. With is_own the gradients
 * of weight and bias come from `own`, the replica's own accumulators, else from the sources' sum.
 */
static void combine_backward(PARAMETERS(SOURCE_ARGUMENTS), PARAMETERS(OWN_WIDE_ARGUMENTS),
                             WIDE_SPACE long *room, uint begin, uint end,
                             PARAMETERS(COMBINE_ARGUMENTS), PARAMETERS(BACKWARD_COMBINE_ARGUMENTS),
                             PARAMETERS(OWN_ARGUMENTS))
{
    for (uint c = begin; c < end; c += ABREAST) {
        const uint some = min((uint)ABREAST, end - c);
        signed_words limbs[PASS_LIMBS];
        words flags;
        doubles sum, product;
        const doubles mean = load_doubles(moments + table_row(MOMENT_MEAN, channels) + c, some);
        const doubles var = load_doubles(moments + table_row(MOMENT_VAR, channels) + c, some);
        const doubles invstd = load_doubles(moments + table_row(MOMENT_INVSTD, channels) + c, some);
        ADD_SOURCES(limbs, &flags, PASS_LENGTH, c, some, NAMES(SOURCE_ARGUMENTS));
        sums_of(limbs, &sum, &product);
        const bool some_wide = SOME_CHANNEL(flags & FLAG_WIDE);
        if (some_wide)
            REPLACE_WIDE(&sum, &product, flags, c, some, NAMES(SOURCE_ARGUMENTS));
        const doubles dy = special_or(sum, flags);
        const doubles dy_xmu = sum_dy_xmu_of(sum, product, flags, mean);
        doubles own_dy = dy, own_scaled = TIMES(dy_xmu, invstd);
        /* Of no values the sums are 0, and so are the gradients, also where invstd is not finite. */
        if (is_own && own_slices == 0)
            own_dy = own_scaled = ZERO;
        else if (is_own) {
            ADD_SOURCES(limbs, &flags, PASS_LENGTH, c, some, ONE_SOURCE(own, own_slices, own_wide));
            sums_of(limbs, &sum, &product);
            if (SOME_CHANNEL(flags & FLAG_WIDE))
                REPLACE_WIDE(&sum, &product, flags, c, some, ONE_SOURCE(own, own_slices, own_wide));
            own_dy = special_or(sum, flags);
            own_scaled = TIMES(sum_dy_xmu_of(sum, product, flags, mean), invstd);
        }
        if (some_wide && owns)
            clear_wide(own_wide, c, some);
        put_gradients(c, some, channels, OF_COUNT(count),
                      clamps ? EXCEEDS(eps, var) : (words)0, invstd, dy, dy_xmu, own_dy, own_scaled,
                      gradients);
    }
}

/*
 * As in combine_forward.cl. The gradients are stored where the caller is to have them at once: not by
 * combine_backward, which would need twice the stack with AMD's compiler.
 */
#define STEP_2_ARGUMENTS BACKWARD_STEP_2_ARGUMENTS
#define COMBINE_SUMS(from, room, begin, end) \
    do { \
        combine_backward(ONE_SOURCE(from, 1, wide), wide, true, channels, room, begin, end, \
                         NAMES(COMBINE_ARGUMENTS), NAMES(BACKWARD_COMBINE_ARGUMENTS), from, 0, 0); \
        store_gradients_of(begin, end, channels, gradients, NAMES(STORE_ARGUMENTS)); \
    } while (0)
#endif
