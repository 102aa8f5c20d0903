/*
 * Step 2 on a device: adds the accumulators of a group's replicas, which share a context, and
 * computes from the sums the rows that step 3 reads (combine_forward.cl, combine_backward.cl). Every
 * replica's device does this for itself and gets the same bits, so that no device waits for
 * another's result. In the narrow format all channels are combined, and `repeat` is set for those
 * that do not fit; in the wide format those channels only.
 *
 * There are up to four sources, one per replica, each with `slices` accumulators of each of
 * `channels` channels. `repeat` has a byte per channel. The other arrays have rows of a number per
 * channel:
 *
 *   coefficients  the table of src/layer/moments.h
 *   moments       numbers: MOMENT_MEAN, MOMENT_VAR, MOMENT_INVSTD
 *   gradients     the table of a backward pass
 *   means, vars   running means and variances, from their offsets on
 *   layers        the layer's own of both, then the count of batches, a long
 *
 * A work-item combines COMBINE_SPAN channels, ABREAST at a time.
 */
#if COMBINES

#define SOURCE(i) global const long *restrict from##i, uint slices##i

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
#endif
