/* Step 2 of a forward pass: its arguments are those of combine.cl. */
#if COMBINES

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

/*
 * Computes and stores the statistics of the `some` <= ABREAST channels from c on. Returns a mask of
 * those that must be repeated.
 */
static words finish_forward(doubles first, doubles n2_var, words flags, uint c, uint some,
                            uint channels, double n, double eps, uint clamps,
                            global float *coefficients, global double *moments)
{
    const doubles mean = mean_of(first, flags, n), var = variance_of(n2_var, flags, n);
    const doubles invstd = invstd_of(var, eps, clamps);
    put_statistics(c, some, channels, mean, var, invstd, coefficients, moments);
    return WIDE ? (words)0 : needs_wide(flags, TRUTH(invstd > 0x1p24));
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
static void combine_forward(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint begin, uint end,
                            uint channels, global uchar *repeat, ulong count, double eps,
                            uint clamps, global float *coefficients, global double *moments)
{
    for (uint c = begin; c < end; c += ABREAST) {
        const uint some = min((uint)ABREAST, end - c);
        signed_words limbs[FORWARD_LENGTH - 1];
        words flags;
        doubles sum, n2_var;
        if (WIDE && !repeat[c])
            continue;
        ADD_SOURCES(limbs, &flags, FORWARD_LENGTH, c, some, from0, slices0, from1, slices1, from2,
                    slices2, from3, slices3);
        forward_sums_of(limbs, count, &sum, &n2_var);
        const words again = finish_forward(sum, n2_var, flags, c, some, channels,
                                           convert_double(count), eps, clamps, coefficients,
                                           moments);
        if (!WIDE)
            store_truths(again, repeat + c, some);
    }
}

/*
 * The wide format is combined last. With `tracks` the running statistics are updated then, each by
 * the work-item that may just have repeated the channel.
 */
#if PLAIN
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1)))
void forward_combine(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint channels,
                     global uchar *restrict repeat, ulong count, double eps, uint clamps,
                     global float *restrict coefficients, global double *moments,
                     global float *restrict running, uint tracks, double weight, double unbiased,
                     long batches)
{
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    combine_forward(from0, slices0, from1, slices1, from2, slices2, from3, slices3, begin, end,
                    channels, repeat, count, eps, clamps, coefficients, moments);
    if (!tracks)
        return;
    if (begin < channels)
        track(begin, end - begin, channels, moments, running, weight, unbiased);
    if (begin == 0)
        *(global long *)(running + 2 * (ulong)channels) = batches;
}
#endif
#endif
