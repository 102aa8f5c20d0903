/* Step 2 of a forward pass: its arguments are those of combine.cl. */
#if COMBINES

/* Stores the statistics of the `some` channels from c on, in rows of `total` channels. */
static void put_statistics(uint c, uint some, uint total, doubles mean, doubles var, doubles invstd,
                           global float *coefficients, global double *moments)
{
    store_floats(upper_float(mean), coefficients + table_row(ROW_MEAN_HIGH, total) + c, some);
    store_floats(lower_float(mean), coefficients + table_row(ROW_MEAN_LOW, total) + c, some);
    store_floats(upper_float(choose_double(TRUTH(invstd == (doubles)INFINITY), QUIET_NAN, invstd)),
                 coefficients + table_row(ROW_INVSTD, total) + c, some);
    store_doubles(mean, moments + table_row(MOMENT_MEAN, total) + c, some);
    store_doubles(var, moments + table_row(MOMENT_VAR, total) + c, some);
    store_doubles(invstd, moments + table_row(MOMENT_INVSTD, total) + c, some);
}

/*
 * Computes and stores the statistics of the `some` <= ABREAST channels from c on. Returns a mask of
 * those that must be repeated.
 */
static words finish_forward(doubles first, doubles n2_var, words flags, uint c, uint some,
                            uint total, double n, double eps, uint clamps,
                            global float *coefficients, global double *moments)
{
    const doubles mean = mean_of(first, flags, n), var = variance_of(n2_var, flags, n);
    const doubles invstd = invstd_of(var, eps, clamps);
    put_statistics(c, some, total, mean, var, invstd, coefficients, moments);
    return WIDE ? (words)0 : needs_wide(flags, TRUTH(invstd > 0x1p24));
}

/*
 * Updates the running statistics of `count` channels from c on: `weight` is that of the new
 * moments, `unbiased` is n / (n - 1).
 */
static void track(uint c, uint count, uint total, global const double *moments,
                  global float *restrict running, double weight, double unbiased)
{
    const double old = 1.0 - weight;
    for (uint i = c; i < c + count; ++i) {
        const double mean = weight * moments[table_row(MOMENT_MEAN, total) + i];
        const double unbiased_var = moments[table_row(MOMENT_VAR, total) + i] * unbiased;
        const double var = weight * unbiased_var, was_mean = old * running[i];
        const double was_var = old * running[(ulong)total + i];
        running[i] = convert_float(was_mean + mean);
        running[(ulong)total + i] = convert_float(was_var + var);
    }
}

/* Combines the channels from `begin` to before `end` of a forward pass. */
static void combine_forward(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint begin, uint end,
                            uint channels, uint first, uint total, global uchar *repeat,
                            ulong count, double eps, uint clamps, global float *coefficients,
                            global double *moments)
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
        const words again = finish_forward(sum, n2_var, flags, first + c, some, total,
                                           convert_double(count), eps, clamps, coefficients,
                                           moments);
        if (!WIDE)
            store_truths(again, repeat + c, some);
    }
}

/*
 * The wide format is combined last. With `tracks` the running statistics of all channels of the
 * layer are updated then, each by the work-item that may just have repeated the channel.
 */
#if PLAIN
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1)))
void forward_combine(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint channels, uint first,
                     uint total, global uchar *restrict repeat, ulong count, double eps,
                     uint clamps, global float *restrict coefficients, global double *moments,
                     global float *restrict running, uint tracks, double weight, double unbiased,
                     long batches)
{
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    combine_forward(from0, slices0, from1, slices1, from2, slices2, from3, slices3, begin, end,
                    channels, first, total, repeat, count, eps, clamps, coefficients, moments);
    if (!tracks)
        return;
    /* Work-items are numbered from channel `first`, wrapping around at the layer's last one. */
    const uint stop = min(begin + COMBINE_SPAN, total), round = total - first;
    if (begin < min(stop, round))
        track(first + begin, min(stop, round) - begin, total, moments, running, weight, unbiased);
    if (stop > round)
        track(max(begin, round) - round, stop - max(begin, round), total, moments, running, weight,
              unbiased);
    if (begin == 0)
        *(global long *)(running + 2 * (ulong)total) = batches;
}
#endif
#endif
