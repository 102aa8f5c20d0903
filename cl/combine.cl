/*
 * Step 2 on a device: the accumulators of a group's replicas, all of one context, are added; from
 * their sums come the rows that step 3 reads. Every replica's device does it for itself and gets the
 * same bits, so that none reads what another computes later. Narrow format: all channels, and
 * `repeat` tells which of them do not fit. Wide format: those channels alone.
 *
 * There are up to four sources, a replica each: `slices` accumulators of each of `channels`
 * channels. What is written has rows of `total` channels, of which these begin at `first`:
 *
 *   coefficients  the table of src/layer/coefficients.h
 *   moments       doubles: MOMENT_MEAN, MOMENT_VAR, MOMENT_INVSTD
 *   gradients     the table of a backward pass
 *   running       running mean and variance, then the count of batches, a long
 *
 * A work-item does COMBINE_SPAN channels, one after the other.
 */
#if COMBINES

#define SOURCE(i) global const long *restrict from##i, uint slices##i
#define FORWARD_LENGTH (FORWARD_LIMBS1 + FORWARD_LIMBS2 + 1)
#define BACKWARD_LENGTH (BACKWARD_LIMBS1 + BACKWARD_LIMBS2 + 1)

/* Adds a channel's accumulators, of `size` numbers and one slice `stride` after the other. */
static void add_source(private long *limbs, private int *flags, int size, global const long *from,
                       uint slices, ulong stride)
{
    for (uint s = 0; s < slices; ++s, from += stride) {
        for (int k = 0; k + 1 < size; ++k)
            limbs[k] += from[k];
        *flags |= (int)from[size - 1];
    }
}

static void add_sources(private long *limbs, private int *flags, int size, uint c, uint channels,
                        SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3))
{
    const ulong at = (ulong)c * size, stride = (ulong)channels * size;
    for (int k = 0; k + 1 < size; ++k)
        limbs[k] = 0;
    *flags = 0;
    add_source(limbs, flags, size, from0 + at, slices0, stride);
    if (slices1 > 0)
        add_source(limbs, flags, size, from1 + at, slices1, stride);
    if (slices2 > 0)
        add_source(limbs, flags, size, from2 + at, slices2, stride);
    if (slices3 > 0)
        add_source(limbs, flags, size, from3 + at, slices3, stride);
}

/* The rows of channel c of `total`, from its mean and variance. */
static void put_statistics(uint c, uint total, double mean, double var, double invstd,
                           global float *coefficients, global double *moments)
{
    coefficients[table_row(ROW_MEAN_HIGH, total) + c] = upper_float(mean);
    coefficients[table_row(ROW_MEAN_LOW, total) + c] = lower_float(mean);
    coefficients[table_row(ROW_INVSTD, total) + c] = convert_float(invstd);
    moments[table_row(MOMENT_MEAN, total) + c] = mean;
    moments[table_row(MOMENT_VAR, total) + c] = var;
    moments[table_row(MOMENT_INVSTD, total) + c] = invstd;
}

/* The batch's moments enter the running statistics with a weight; `unbiased` is n / (n - 1). */
static void track_channel(uint c, uint total, double mean, double var, double weight,
                          double unbiased, global float *running)
{
    const double old = 1.0 - weight, unbiased_var = var * unbiased;
    const double old_mean = old * convert_double(running[c]), new_mean = weight * mean;
    const double old_var = old * convert_double(running[(ulong)total + c]);
    const double new_var = weight * unbiased_var;
    running[c] = convert_float(old_mean + new_mean);
    running[(ulong)total + c] = convert_float(old_var + new_var);
}

/* A channel of a forward pass, from its whole accumulator; 1 if it must be repeated. */
static uint finish_forward(private const long *limbs, int flags, uint c, uint total, ulong count,
                           double eps, uint clamps, global float *coefficients,
                           global double *moments, global float *running, uint tracks,
                           double weight, double unbiased)
{
    double mean, var;
    moments_of(limbs, flags, count, &mean, &var);
    const double invstd = invstd_of(var, eps, clamps);
    const uint again = !WIDE && needs_wide(flags, invstd > 0x1p24);
    put_statistics(c, total, mean, var, invstd, coefficients, moments);
    if (tracks && !again)
        track_channel(c, total, mean, var, weight, unbiased, running);
    return again;
}

/* The rows that dx needs, and the gradients of weight and bias from sums of their own. */
static void put_gradients(uint c, uint total, ulong count, double eps, uint clamps,
                          global const double *moments, double dy, double dy_xmu, double own_dy,
                          double own_dy_xmu, global float *gradients)
{
    const double n = convert_double(count), mean_dy = divide_exactly(dy, n);
    const double invstd = moments[table_row(MOMENT_INVSTD, total) + c];
    const double invvar = invstd * invstd, scaled = invvar * dy_xmu, k = divide_exactly(scaled, n);
    const bool clamped = clamps && moments[table_row(MOMENT_VAR, total) + c] < eps;
    gradients[table_row(ROW_G_HIGH, total) + c] = upper_float(mean_dy);
    gradients[table_row(ROW_G_LOW, total) + c] = lower_float(mean_dy);
    gradients[table_row(ROW_K, total) + c] = clamped ? 0.0f : convert_float(k);
    gradients[table_row(ROW_WEIGHT_GRAD, total) + c] = convert_float(own_dy_xmu * invstd);
    gradients[table_row(ROW_BIAS_GRAD, total) + c] = convert_float(own_dy);
}

kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1))) void
forward_combine(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint channels, uint first, uint total,
                global uchar *restrict repeat, ulong count, double eps, uint clamps,
                global float *restrict coefficients, global double *restrict moments,
                global float *restrict running, uint tracks, double weight, double unbiased,
                long batches)
{
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    for (uint c = begin; c < end; ++c) {
        long limbs[FORWARD_LENGTH - 1];
        int flags;
        if (WIDE && !repeat[first + c])
            continue;
        add_sources(limbs, &flags, FORWARD_LENGTH, c, channels, from0, slices0, from1, slices1,
                    from2, slices2, from3, slices3);
        const uint again = finish_forward(limbs, flags, first + c, total, count, eps, clamps,
                                          coefficients, moments, running, tracks, weight, unbiased);
        if (!WIDE)
            repeat[first + c] = (uchar)again;
    }
    if (tracks && begin == 0)
        *(global long *)(running + 2 * (ulong)total) = batches;
}

/*
 * `own`: the replica's own accumulators, for gradients of weight and bias from its own shard; where
 * is_own is 0 they are those of all.
 */
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1))) void
backward_combine(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint channels, uint first, uint total,
                 global uchar *restrict repeat, ulong count, double eps, uint clamps,
                 global const double *restrict moments, global float *restrict gradients,
                 global const long *restrict own, uint own_slices, uint is_own)
{
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    for (uint c = begin; c < end; ++c) {
        long limbs[BACKWARD_LENGTH - 1];
        int flags;
        double dy, dy_xmu;
        if (WIDE && !repeat[first + c])
            continue;
        const double mean = moments[table_row(MOMENT_MEAN, total) + first + c];
        const double invstd = moments[table_row(MOMENT_INVSTD, total) + first + c];
        add_sources(limbs, &flags, BACKWARD_LENGTH, c, channels, from0, slices0, from1, slices1,
                    from2, slices2, from3, slices3);
        gradient_sums_of(limbs, flags, mean, &dy, &dy_xmu);
        if (!WIDE)
            repeat[first + c] = (uchar)needs_wide(flags, invstd > 0x1p12);
        double own_dy = dy, own_dy_xmu = dy_xmu;
        if (is_own) {
            add_sources(limbs, &flags, BACKWARD_LENGTH, c, channels, own, own_slices, own, 0, own,
                        0, own, 0);
            gradient_sums_of(limbs, flags, mean, &own_dy, &own_dy_xmu);
        }
        put_gradients(first + c, total, count, eps, clamps, moments, dy, dy_xmu, own_dy, own_dy_xmu,
                      gradients);
    }
}
#endif
