/*
 * Step 2 on a device: adds the accumulators of a group's replicas, which share a context, and
 * computes from the sums the rows that step 3 reads. Every replica's device does this for itself
 * and gets the same bits, so that no device waits for another's result. In the narrow format all
 * channels are combined, and `repeat` is set for those that do not fit; in the wide format those
 * channels only.
 *
 * There are up to four sources, one per replica, each with `slices` accumulators of each of
 * `channels` channels. `repeat` has a byte per channel. The other arrays have rows of `total`
 * channels, in which these begin at `first`:
 *
 *   coefficients  the table of src/layer/coefficients.h
 *   moments       doubles: MOMENT_MEAN, MOMENT_VAR, MOMENT_INVSTD
 *   gradients     the table of a backward pass
 *   running       running mean and variance, then the count of batches, a long
 *
 * A work-item combines COMBINE_SPAN channels, ABREAST at a time.
 */
#if COMBINES

#define SOURCE(i) global const long *restrict from##i, uint slices##i
#define FORWARD_LENGTH (FORWARD_LIMBS1 + FORWARD_LIMBS2 + 1)
#define BACKWARD_LENGTH (BACKWARD_LIMBS1 + BACKWARD_LIMBS2 + 1)

/* Adds a channel's accumulators of all slices: `size` numbers each, `stride` apart. */
static void add_source(private long *limbs, private ulong *flags, int size, global const long *from,
                       uint slices, ulong stride)
{
    for (uint s = 0; s < slices; ++s, from += stride) {
        for (int k = 0; k + 1 < size; ++k)
            limbs[k * ABREAST] += from[k];
        *flags |= (ulong)from[size - 1];
    }
}

/* The sum over all sources of channel c. The same limb of neighbouring channels is contiguous. */
static void add_sources(private long *limbs, private ulong *flags, int size, uint c, uint channels,
                        SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3))
{
    const ulong at = (ulong)c * size, stride = (ulong)channels * size;
    for (int k = 0; k + 1 < size; ++k)
        limbs[k * ABREAST] = 0;
    *flags = 0;
    add_source(limbs, flags, size, from0 + at, slices0, stride);
    if (slices1 > 0)
        add_source(limbs, flags, size, from1 + at, slices1, stride);
    if (slices2 > 0)
        add_source(limbs, flags, size, from2 + at, slices2, stride);
    if (slices3 > 0)
        add_source(limbs, flags, size, from3 + at, slices3, stride);
}

/* The values of ABREAST channels of a row, of which only `count` exist. */
static doubles load_doubles(global const double *row, uint count)
{
#if ABREAST > 1
    if (count >= ABREAST)
        return vload16(0, row);
    double each[ABREAST];
    for (uint j = 0; j < ABREAST; ++j)
        each[j] = j < count ? row[j] : 1.0;
    return vload16(0, each);
#else
    return *row;
#endif
}

static void store_doubles(doubles v, global double *row, uint count)
{
#if ABREAST > 1
    if (count >= ABREAST) {
        vstore16(v, 0, row);
        return;
    }
    double each[ABREAST];
    vstore16(v, 0, each);
    for (uint j = 0; j < count; ++j)
        row[j] = each[j];
#else
    *row = v;
#endif
}

static void store_floats(floats v, global float *row, uint count)
{
#if ABREAST > 1
    if (count >= ABREAST) {
        vstore16(v, 0, row);
        return;
    }
    float each[ABREAST];
    vstore16(v, 0, each);
    for (uint j = 0; j < count; ++j)
        row[j] = each[j];
#else
    *row = v;
#endif
}

static void store_truths(words truth, global uchar *row, uint count)
{
#if ABREAST > 1
    uchar each[ABREAST];
    vstore16(convert_uchar16(truth & 1), 0, each);
    for (uint j = 0; j < ABREAST && j < count; ++j)
        row[j] = each[j];
#else
    *row = (uchar)(truth & 1);
#endif
}

/* Stores the statistics of the `some` channels from c on, in rows of `total` channels. */
static void put_statistics(uint c, uint some, uint total, doubles mean, doubles var, doubles invstd,
                           global float *coefficients, global double *moments)
{
    store_floats(upper_float(mean), coefficients + table_row(ROW_MEAN_HIGH, total) + c, some);
    store_floats(lower_float(mean), coefficients + table_row(ROW_MEAN_LOW, total) + c, some);
    store_floats(upper_float(invstd), coefficients + table_row(ROW_INVSTD, total) + c, some);
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

/* Stores the rows that dx needs, and the gradients of weight and bias, from the `own` sums. */
static void put_gradients(uint c, uint some, uint total, double n, words clamped, doubles invstd,
                          doubles dy, doubles dy_xmu, doubles own_dy, doubles own_dy_xmu,
                          global float *gradients)
{
    const doubles mean_dy = divide_exactly(dy, n), invvar = invstd * invstd;
    const doubles scaled = invvar * dy_xmu, own_scaled = own_dy_xmu * invstd;
    const doubles k = choose_double(clamped, 0.0, divide_exactly(scaled, n));
    store_floats(upper_float(mean_dy), gradients + table_row(ROW_G_HIGH, total) + c, some);
    store_floats(lower_float(mean_dy), gradients + table_row(ROW_G_LOW, total) + c, some);
    store_floats(upper_float(k), gradients + table_row(ROW_K, total) + c, some);
    store_floats(upper_float(own_scaled), gradients + table_row(ROW_WEIGHT_GRAD, total) + c, some);
    store_floats(upper_float(own_dy), gradients + table_row(ROW_BIAS_GRAD, total) + c, some);
}

/* The sums over all sources of the `some` <= ABREAST channels from c on. */
#define ADD_SOURCES(limbs, flags, size, c, some, ...)                                              \
    do {                                                                                           \
        long each[((size) - 1) * ABREAST];                                                         \
        ulong flags_of_each[ABREAST];                                                              \
        for (uint j = 0; j < (some); ++j)                                                          \
            add_sources(each + j, flags_of_each + j, size, (c) + j, channels, __VA_ARGS__);        \
        for (uint j = some; j < ABREAST; ++j)                                                      \
            flags_of_each[j] = 0;                                                                  \
        for (int k = 0; k < (size) - 1; ++k)                                                       \
            limbs[k] = LOAD_CHANNELS(each + k * ABREAST);                                          \
        *(flags) = LOAD_CHANNELS(flags_of_each);                                                   \
    } while (0)
#if ABREAST > 1
#define LOAD_CHANNELS(p) vload16(0, p)
#else
#define LOAD_CHANNELS(p) (*(p))
#endif

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
#if !FUSED
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

/*
 * Combines the channels from `begin` to before `end` of a backward pass. With is_own the gradients
 * of weight and bias come from `own`, the replica's own accumulators, else from the sources' sum.
 */
static void combine_backward(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint begin, uint end,
                             uint channels, uint first, uint total, global uchar *repeat,
                             ulong count, double eps, uint clamps, global const double *moments,
                             global float *gradients, global const long *own, uint own_slices,
                             uint is_own)
{
    for (uint c = begin; c < end; c += ABREAST) {
        const uint some = min((uint)ABREAST, end - c), at = first + c;
        signed_words limbs[BACKWARD_LENGTH - 1];
        words flags;
        doubles sum, product;
        if (WIDE && !repeat[c])
            continue;
        const doubles mean = load_doubles(moments + table_row(MOMENT_MEAN, total) + at, some);
        const doubles var = load_doubles(moments + table_row(MOMENT_VAR, total) + at, some);
        const doubles invstd = load_doubles(moments + table_row(MOMENT_INVSTD, total) + at, some);
        ADD_SOURCES(limbs, &flags, BACKWARD_LENGTH, c, some, from0, slices0, from1, slices1, from2,
                    slices2, from3, slices3);
        backward_sums_of(limbs, &sum, &product);
        const doubles dy = sum_dy_of(sum, flags);
        const doubles dy_xmu = sum_dy_xmu_of(sum, product, flags, mean);
        doubles own_dy = dy, own_dy_xmu = dy_xmu;
        if (!WIDE)
            store_truths(needs_wide(flags, TRUTH(invstd > 0x1p12)), repeat + c, some);
        if (is_own) {
            ADD_SOURCES(limbs, &flags, BACKWARD_LENGTH, c, some, own, own_slices, own, 0, own, 0,
                        own, 0);
            backward_sums_of(limbs, &sum, &product);
            own_dy = sum_dy_of(sum, flags);
            own_dy_xmu = sum_dy_xmu_of(sum, product, flags, mean);
        }
        put_gradients(at, some, total, convert_double(count),
                      clamps ? TRUTH(var < eps) : (words)0, invstd, dy, dy_xmu, own_dy, own_dy_xmu,
                      gradients);
    }
}

#if !FUSED
kernel __attribute__((reqd_work_group_size(COMBINE_ITEMS, 1, 1)))
void backward_combine(SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3), uint channels, uint first,
                      uint total, global uchar *restrict repeat, ulong count, double eps,
                      uint clamps, global const double *restrict moments,
                      global float *restrict gradients, global const long *restrict own,
                      uint own_slices, uint is_own)
{
    const uint begin = get_global_id(0) * COMBINE_SPAN;
    const uint end = min(begin + COMBINE_SPAN, channels);
    combine_backward(from0, slices0, from1, slices1, from2, slices2, from3, slices3, begin, end,
                     channels, first, total, repeat, count, eps, clamps, moments, gradients, own,
                     own_slices, is_own);
}
#endif
#endif
