/*
 * GPU form, the end of step 1: the last work-group of a strip (last_slice.cl) adds its slices; of a replica
 * that is alone it does step 2 of its channels, too.
 */

/*
 * A number of the work-item or its work-group. NVIDIA's compiler would make what is made of it here ahead of
 * the main loop, whose registers would then be spilled.
 */
static uint anew(uint number)
{
#if defined(__NV_CL_C_VERSION) || defined(__NVPTX__)
    __asm__ volatile("" : "+r"(number));
#endif
    return number;
}

#ifdef DEVICE_FENCE
#define LOG2_LENGTH 4
#if PASS_LENGTH > 1 << LOG2_LENGTH
#error "an accumulator's words have no room"
#endif

/* Adds an accumulator's word k to another one's. */
static long add_word_of_slice(uint k, long sum, long word)
{
    return k == PASS_LIMBS ? sum | word : sum + word;
}

/*
 * Adds the slices of a strip, if there are any, into the first one. Each word has as many work-items as
 * there are for it, and each of them takes slices in turn.
 */
static void add_slices_of_strip(local long *memory, uint log2_strip, uint channels,
                                global long *partial, uint slices)
{
    const uint item = anew(get_local_id(0)), first = anew(get_group_id(0)) << log2_strip;
    const uint log2_words = log2_strip + LOG2_LENGTH, words = 1u << log2_words;
    const ulong stride = (ulong)channels * PASS_LENGTH;
    for (uint at = item; at < max(words, (uint)ITEMS); at += ITEMS) {
        const uint k = at & ((1 << LOG2_LENGTH) - 1), c = first + ((at & (words - 1)) >> LOG2_LENGTH);
        const global long *from = partial + (ulong)c * PASS_LENGTH + k;
        const bool exists = k < PASS_LENGTH && c < channels;
        long sum = 0;
        _Pragma("unroll 8") for (uint s = at >> log2_words; s < (exists ? slices : 0);
                                 s += max(ITEMS >> log2_words, 1))
            sum = add_word_of_slice(k, sum, from[s * stride]);
        memory[at] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint at = item; at < (slices > 0 ? words : 0); at += ITEMS) {
        const uint k = at & ((1 << LOG2_LENGTH) - 1), c = first + (at >> LOG2_LENGTH);
        long sum = memory[at];
        for (uint other = at + words; other < ITEMS; other += words)
            sum = add_word_of_slice(k, sum, memory[other]);
        if (k < PASS_LENGTH && c < channels)
            partial[(ulong)c * PASS_LENGTH + k] = sum;
    }
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
}
#endif

#define TAIL_PARAMETERS PARAMETERS(TAIL_ARGUMENTS), PARAMETERS(STEP_2_ARGUMENTS)
#define TAIL(memory) \
    combine_strip(memory, log2_strip, channels, partial, wide, NAMES(TAIL_ARGUMENTS), \
                  NAMES(STEP_2_ARGUMENTS))

/*
 * Adds slices, if `tail` says so; if it is 2, step 2, of a channel for each work-item. Behind the wide
 * accumulators there is a counter for each strip. `memory`: WORDS_SIZE int64s of local memory, which nothing
 * else uses any more. combine.cl describes the arguments.
 */
static INLINED void combine_strip(local long *memory, uint log2_strip, uint channels,
                                  global long *partial, global long *wide, TAIL_PARAMETERS)
{
    const uint item = anew(get_local_id(0)), strip = anew(get_group_id(0));
    bool is_last = true;
#ifdef DEVICE_FENCE
    const uint slices = tail > 0 ? get_num_groups(1) : 1;
    volatile global uint *arrived = (volatile global uint *)wide_of(wide, channels);
    /* Behind the words of a strip. */
    local int *flag = (local int *)(memory + WORDS_SIZE - 1);
    is_last = is_last_slice(arrived + strip, slices, flag);
    add_slices_of_strip(memory, log2_strip, channels, partial, is_last && slices > 1 ? slices : 0);
#else
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
#endif
    const uint c = (strip << log2_strip) + item;
    if (tail == 2 && is_last && item >> log2_strip == 0 && c < channels)
        COMBINE_SUMS(partial, memory + item * WIDE_ROOM, c, c + 1);
}
