/*
 * GPU form, step 1: sums x, or x and dy, into accumulators. The kernels are in
 * reduce.cl; planes.cl says how work-items map to blocks, work_group.cl lists what the pass's file gives.
 *
 * A program has this text for large and for small planes: large_planes.cl and small_planes.cl before it
 * define REDUCE_PLANES, the function's name, and LOG2_AT_ONCE. One function took more registers.
 *
 *   1. In a turn, LANES items take the lanes of a block, each item a lane of AT_ONCE blocks. They
 *      meet for the pivot, and leave their sums in local memory; as an element is added, the one of
 *      the next turn is loaded in its place.
 *   2. After all turns the items fold the lanes of TASKS blocks, each a sum of a block. Blocks
 *      whose pivot was poor are summed and folded once more.
 *   3. PARTS items add a block, one part each. An item's blocks are all of one channel, so that it
 *      keeps the limbs of one sum in registers.
 *
 * The accumulator of channel c goes to partial[(slice * channels + c) * PASS_LENGTH]; add_slices.cl adds the slices.
 */
#define AT_ONCE (1 << LOG2_AT_ONCE)
#define STEPS (MOST_LOADS >> LOG2_AT_ONCE)
#define OF_TURN (SLOTS << LOG2_AT_ONCE)
#define PIVOTS (LANES + CHANNELS_LAST) /* of a row: padded where neighbouring items are in others */

/* The body of a kernel, which has the local memory. `poor`: which blocks are summed again. */
static INLINED void REDUCE_PLANES(private const pass_tensors *tensors, SLICE_PARAMETERS,
                                  local long *shared, local float *pivot_rows, local float *pivots,
                                  local float *folded, local int *all_flags, local int *poor,
                                  local int *some_poor)
{
    local float *lanes = (local float *)shared;
    const uint item = get_local_id(0), lane = LANE_OF(item), slot = SLOT_OF(item);
    const uint own_task = item & (TASKS - 1), part = item >> LOG2_TASKS;
    const uint strip_mask = (1u << log2_strip) - 1, first = get_group_id(0) << log2_strip;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(units, begin + per_slice), tasks = (stop - begin) << log2_strip;
    const plane_tasks all = {channels, plane, blocks, begin, log2_strip};
    /* The channel of the work-item's lanes, and that of the blocks that it adds. */
    const uint lane_channel = first + (slot & strip_mask);
    const uint task_channel = first + (own_task & strip_mask);
    pass_line lane_line, task_line;
    pass_line_of(tensors, min(lane_channel, channels - 1),
                 CHANNELS_LAST ? lane_channel : (ulong)lane_channel * plane + lane, &lane_line);
    pass_line_of(tensors, min(task_channel, channels - 1), 0, &task_line);
    pass_elements elements;
    uint sizes[AT_ONCE];
    long limbs[MOST_LIMBS];
    int flags = 0;
    zero_limbs(limbs, MOST_LIMBS);
    if (item < SLOTS)
        all_flags[item] = 0;
    if (item == 0)
        *some_poor = 0;
    for (uint sweep = 0; sweep < tasks; sweep += SWEEP * TASKS) {
        uint missed = 0;
        UNROLL for (uint a = 0; a < AT_ONCE; ++a)
        {
            uint n;
            const uint task = sweep + a * SLOTS + slot;
            const bool exists = task < tasks && lane_channel < channels;
            const block_place block = locate_plane(tensors, &all, exists ? task : 0,
                                                   exists ? lane_channel : first, &n);
            sizes[a] = exists ? n : 0;
            /* Loads past the block's end read its last element instead; the values are not used. */
            UNROLL for (uint s = 0; s < STEPS; ++s)
                pass_load(&elements, a * STEPS + s, tensors, block, min(lane + s * LANES, n - 1));
        }
        for (uint from = sweep, batch = 0; from < min(tasks, sweep + SWEEP * TASKS);
             from += TASKS, ++batch) {
            _Pragma("unroll 1") for (uint turn = 0;
                                     turn < TURNS(LOG2_AT_ONCE) && from + turn * OF_TURN < tasks;
                                     ++turn)
            {
                local float *rows = pivot_rows +
                                    (TURNS(LOG2_AT_ONCE) > 1 ? (turn & 1) * SLOTS * PIVOTS : 0) +
                                    slot * PIVOTS;
                UNROLL for (uint a = 0; a < AT_ONCE; ++a)
                {
                    rows[a * SLOTS * PIVOTS + lane] =
                        lane < sizes[a] ? pass_value(&elements, a * STEPS, lane_line) *
                                              pivot_reciprocal(sizes[a], last_reciprocal)
                                        : 0.0f;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                UNROLL for (uint a = 0; a < AT_ONCE; ++a)
                {
                    const uint at = (turn * AT_ONCE + a) * SLOTS + slot, task = from + OF_TURN + at;
                    const bool exists = task < tasks && lane_channel < channels;
                    uint n;
                    const block_place block = locate_plane(tensors, &all, exists ? task : 0,
                                                           exists ? lane_channel : first, &n);
                    const float pivot = fold_row(rows + a * SLOTS * PIVOTS);
                    float largest = 0.0f;
                    pass_sums sums;
                    pass_clear(&sums);
                    UNROLL for (uint s = 0; s < STEPS; ++s)
                    {
                        pass_add(&sums, &largest, &elements, a * STEPS + s,
                                 lane + s * LANES < sizes[a], pivot, lane_line);
                        pass_load(&elements, a * STEPS + s, tensors, block,
                                  min(lane + s * LANES, n - 1));
                    }
                    sizes[a] = exists ? n : 0;
                    pass_keep(lanes, LANES_SIZE, at * BANKS + lane, &sums, largest);
                    if (lane == 0)
                        pivots[at] = pivot;
                }
            }
            const uint task = from + own_task;
            const bool owns = task < tasks && task_channel < channels;
            _Pragma("unroll 1") for (uint trip = 0, trips = 1; trip < trips; ++trip)
            {
                barrier(CLK_LOCAL_MEM_FENCE);
                for (uint i = item; i < PASS_SUMS * TASKS; i += ITEMS)
                    folded[i] = pass_fold(i >> LOG2_TASKS, lanes + (i >> LOG2_TASKS) * LANES_SIZE +
                                                               own_task * BANKS);
                barrier(CLK_LOCAL_MEM_FENCE);
                if (trip == 0 && part == 0) {
                    float pivot = pivots[own_task], largest = 0.0f;
                    uint n;
                    pass_sums sums;
                    pass_take(&sums, &largest, folded, TASKS, own_task);
                    (void)locate_plane(tensors, &all, owns ? task : 0, first, &n);
                    const bool moves = owns &&
                                       pass_moves(&pivot, n, &sums, largest, last_reciprocal);
                    poor[own_task] = moves;
                    if (moves) {
                        pivots[own_task] = pivot;
                        atomic_or(some_poor, 1);
                    }
                }
                if (trip > 0 && item == 0)
                    *some_poor = 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (*some_poor) {
                    _Pragma("unroll 1") for (uint at = slot; at < TASKS; at += SLOTS) if (poor[at])
                        sum_again(lanes, at * BANKS + lane, tensors, &all, from + at, lane_channel,
                                  pivots[at], lane_line);
                    trips = 2;
                }
            }
            if (owns) {
                uint n;
                (void)locate_plane(tensors, &all, task, task_channel, &n);
                float pivot = pivots[own_task], largest = 0.0f;
                pass_sums sums;
                pass_take(&sums, &largest, folded, TASKS, own_task);
                const float faint = thin ? pass_faint(tensors, task_channel, channels) : PASS_CLEAR;
                const bool out = pass_misses(n, &pivot, pass_mean(task_line), &sums, largest, thin,
                                             faint);
                pass_add_part(limbs, part, n, pivot, &sums);
                missed |= (uint)out << batch;
            }
        }
        if (part < PASS_FIRST_PARTS)
            carry_limbs(limbs, PASS_LIMBS1);
        else
            carry_limbs(limbs, PASS_LIMBS2);
        uint task = sweep + own_task;
        ONE_BY_ONE for (uint left = part == 0 ? missed : 0; left != 0;
                        left >>= 1, task += TASKS) if (left & 1)
        {
            uint n;
            const block_place block = locate_plane(tensors, &all, task, task_channel, &n);
            flags |= add_again(tensors, block, n, last_reciprocal, task_line,
                               wide_of(wide, task_channel));
        }
    }
    if (flags)
        atomic_or(all_flags + (own_task & strip_mask), flags);
    global long *out = partial + ((ulong)slice * channels + first) * PASS_LENGTH;
    const uint strip = strip_mask + 1;
    /* Without a barrier: lanes, which were in this memory, were last read before one. */
    UNROLL for (uint w = 0; w < MOST_LIMBS; ++w) shared[w * ITEMS + item] = limbs[w];
    add_words(shared, item, TASKS >> 1, strip);
    /* One work-item for each word of each sum of each channel. */
    const uint word = (item >> log2_strip) & (WORDS_AT_ONCE - 1), c = item & strip_mask;
    const uint second = item >> (log2_strip + 2);
    const uint count = second ? PASS_LIMBS2 : PASS_LIMBS1;
    if (second < 2 && word < count && first + c < channels) {
        const uint k = (second ? PASS_LIMBS1 : 0) + word;
        long sum = 0, below = 0;
        for (uint p = second ? PASS_FIRST_PARTS : 0; p < (second ? PARTS : PASS_FIRST_PARTS); ++p) {
            sum += shared[word * ITEMS + p * TASKS + c];
            below += shared[max(word, 1u) * ITEMS - ITEMS + p * TASKS + c];
        }
        out[c * PASS_LENGTH + k] = carried_word(k, sum, below);
    }
    if (item < strip && first + item < channels)
        out[item * PASS_LENGTH + PASS_LIMBS] = all_flags[item];
}

/* Another kind may follow. */
#undef REDUCE_PLANES
#undef LOG2_AT_ONCE
#undef AT_ONCE
#undef STEPS
#undef OF_TURN
#undef PIVOTS
