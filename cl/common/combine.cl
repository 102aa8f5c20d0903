/*
 * Step 2 on a device: adds the accumulators of a group's replicas, which share a context, and computes from the sums
 * the rows that step 3 reads (combine_forward.cl, combine_backward.cl). Every replica's device does this for itself and
 * gets the same bits, so that no device waits for another's result.
 *
 * There are up to four sources, one per replica, each with `slices` narrow accumulators of each of `channels` channels
 * and a wide one, which counts where their flags say so. `own_wide` is the replica's own; with `owns` nobody else reads
 * it, so that it is made 0 for the next pass. The other arrays have rows of a number per channel:
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

/* One source instead of four. */
#define ONE_SOURCE(from, slices, wide) \
    from, slices, wide, from, 0, wide, from, 0, wide, from, 0, wide

/* The sum over all sources of channel c. The same limb of neighbouring channels is contiguous. */
static void add_sources(private long *limbs, private ulong *flags, int size, uint c, uint channels,
                        PARAMETERS(SOURCE_ARGUMENTS))
{
    const ulong at = (ulong)c * size, stride = (ulong)channels * size;
    for (int k = 0; k + 1 < size; ++k)
        limbs[k * ABREAST] = 0;
    *flags = 0;
    add_source(limbs, flags, size, from0 + at, slices0, stride);
    add_source(limbs, flags, size, from1 + at, slices1, stride);
    add_source(limbs, flags, size, from2 + at, slices2, stride);
    add_source(limbs, flags, size, from3 + at, slices3, stride);
}

/* The sums over all `sources`, a list of arguments, of the `some` <= ABREAST channels from c on. */
#define ADD_SOURCES(limbs, flags, size, c, some, sources)                                          \
    do {                                                                                           \
        long each[((size) - 1) * ABREAST];                                                         \
        ulong flags_of_each[ABREAST];                                                              \
        for (uint j = 0; j < (some); ++j)                                                          \
            add_sources(each + j, flags_of_each + j, size, (c) + j, channels, sources);            \
        for (uint j = some; j < ABREAST; ++j)                                                      \
            flags_of_each[j] = 0;                                                                  \
        for (int k = 0; k < (size) - 1; ++k)                                                       \
            limbs[k] = LOAD_CHANNELS(each + k * ABREAST);                                          \
        *(flags) = LOAD_CHANNELS(flags_of_each);                                                   \
    } while (0)

/* The room of a work-item of a kernel that combines. */
#if CPU_FORM
#define ROOM_OF_ITEM private long room[WIDE_ROOM]
#else
#define ROOM_OF_ITEM \
    local long rooms[COMBINE_ITEMS * WIDE_ROOM]; \
    local long *room = rooms + get_local_id(0) * WIDE_ROOM
#endif

/* Adds a source's accumulators of channel c, of both formats, to the limbs of a wide one. */
static void add_source_wide(WIDE_SPACE long *sums, uint c, uint channels, global const long *from,
                            uint slices, global const long *wide)
{
    from += (ulong)c * PASS_LENGTH;
    ONE_BY_ONE for (uint s = 0; s < slices; ++s, from += (ulong)channels * PASS_LENGTH)
        widen(sums, from);
    wide += (ulong)c * WIDE_LIMBS;
    /* Digits and what is above them: limbs of several sources would overflow. */
    ONE_BY_ONE for (int k = 0; k < WIDE_LIMBS && slices > 0; ++k) {
        WIDE_SPACE long *at = sums + (k < WIDE_LIMBS1 ? k : k - WIDE_LIMBS1 + WIDE_ROOM1);
        at[0] += wide[k] & DIGIT_MASK;
        at[1] += wide[k] >> WIDE_BITS;
    }
}

static void add_sources_wide(WIDE_SPACE long *sums, uint c, uint channels,
                             PARAMETERS(SOURCE_ARGUMENTS))
{
    ONE_BY_ONE for (int k = 0; k < WIDE_ROOM; ++k) sums[k] = 0;
    add_source_wide(sums, c, channels, from0, slices0, wide0);
    add_source_wide(sums, c, channels, from1, slices1, wide1);
    add_source_wide(sums, c, channels, from2, slices2, wide2);
    add_source_wide(sums, c, channels, from3, slices3, wide3);
}

/* Replaces the sums of channels with terms in a wide accumulator, by way of `room`. */
#define REPLACE_WIDE(first, second, flags, c, some, sources)                                       \
    do {                                                                                           \
        number firsts[ABREAST], seconds[ABREAST];                                                  \
        ulong flags_of_each[ABREAST];                                                              \
        STORE_CHANNELS(*(first), firsts);                                                          \
        STORE_CHANNELS(*(second), seconds);                                                        \
        STORE_CHANNELS(flags, flags_of_each);                                                      \
        for (uint j = 0; j < (some); ++j)                                                          \
            if (flags_of_each[j] & FLAG_WIDE) {                                                    \
                add_sources_wide(room, (c) + j, channels, sources);                                \
                wide_sums_of(room, count, firsts + j, seconds + j);                                \
            }                                                                                      \
        *(first) = LOAD_CHANNELS(firsts);                                                          \
        *(second) = LOAD_CHANNELS(seconds);                                                        \
    } while (0)

static void clear_wide(global long *wide, uint c, uint some)
{
    ONE_BY_ONE for (uint k = 0; k < some * WIDE_LIMBS; ++k) wide_of(wide, c)[k] = 0;
}
#endif
