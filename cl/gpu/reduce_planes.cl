/*
 * GPU form, step 1, channels first: tensors -> accumulators. One text for both passes and for large
 * and small planes: the files before it define what PASS reads and sums, STEPS, the most elements
 * of a lane, and AT_ONCE, the blocks that a work-item sums at once.
 *
 * Work-group (strip of 2^log2_strip channels, at most SLOTS; slice): a slice is `per_slice` of each
 * channel's `units` blocks, over all samples. Each block is a task. Tasks are numbered channel by
 * channel within a unit, so that small planes are read in the order of memory.
 *
 *   1. In a turn, LANES neighbouring items take the lanes of a block, each item a lane of AT_ONCE
 *      blocks. They meet for the pivot, and leave their sums in local memory; as an element is
 *      added, the one of the next turn is loaded in its place.
 *   2. After TURNS turns the items fold the lanes of TASKS blocks, each a sum of a block. Blocks
 *      whose pivot was poor are summed and folded once more.
 *   3. PARTS items add a block, one part each. An item's blocks are all of one channel, so that it
 *      keeps the limbs of one sum in registers.
 *
 * The accumulator of channel c goes to partial[(slice * channels + c) * PASS_LENGTH]; add_slices.cl
 * adds the slices.
 */
#define SLOTS (ITEMS >> LOG2_LANES)
#define OF_TURN (SLOTS * AT_ONCE)
#define LOG2_TASKS (LOG2_ITEMS - LOG2_PARTS)
#define TASKS (1 << LOG2_TASKS)
#if AT_ONCE * STEPS != MOST_LOADS || TURNS * OF_TURN != TASKS
#error "an item has MOST_LOADS elements in a turn, and turns make the tasks of a batch"
#endif
#define BANKS (LANES + 1) /* a row of lanes, padded against bank conflicts */
#define LANES_SIZE (TASKS * BANKS)
/* Two sets of rows of pivots: the next turn's are written while this turn's are read. */
#define PIVOT_ROWS (OF_TURN * (TURNS > 1 ? 2 : 1))
#define MOST_LIMBS (PASS_LIMBS1 > PASS_LIMBS2 ? PASS_LIMBS1 : PASS_LIMBS2)
/* The same local memory holds lanes, and at the end words of limbs. */
#define FLOATS_SIZE (PASS_SUMS * LANES_SIZE)
#define SHARED_SIZE (FLOATS_SIZE > 2 * WORDS_SIZE ? (FLOATS_SIZE >> 1) + 1 : WORDS_SIZE)

/* A work-group's tasks. */
typedef struct KIND(tasks_of) {
    uint channels, plane, blocks, begin, log2_strip;
} KIND(tasks_of);

/* Where the block of a task begins, and how long it is. */
static block_place KIND(locate)(private const PASS(tensors) *tensors,
                                private const KIND(tasks_of) *tasks, uint task, uint channel,
                                private uint *n)
{
    const uint unit = tasks->begin + (task >> tasks->log2_strip);
    const uint sample = tasks->blocks == 1 ? unit : quotient(unit, tasks->blocks);
    const uint start = (unit - sample * tasks->blocks) * BLOCK;
    *n = min((uint)BLOCK, tasks->plane - start);
    const ulong plane = (ulong)sample * tasks->channels + channel;
    const ulong place = plane * tasks->plane + start;
    const block_place block = {
        place, sample AND_BIT(PASS(first_bit)(tensors, place, sample, plane, tasks->plane))};
    return block;
}

#if SUMS_AGAIN
/* Sums an item's lane of a block around another pivot; keeps it at `to`. */
static void KIND(sum_again)(local float *lanes, uint to, private const PASS(tensors) *tensors,
                            private const KIND(tasks_of) *tasks, uint task, uint channel,
                            float pivot, PASS(line) line)
{
    uint n;
    const block_place block = KIND(locate)(tensors, tasks, task, channel, &n);
    float largest = 0.0f;
    PASS(elements) one;
    PASS(sums) sums;
    PASS(clear)(&sums);
    _Pragma("unroll 1") for (uint i = get_local_id(0) & (LANES - 1); i < n; i += LANES)
    {
        PASS(load)(&one, 0, tensors, block, i);
        PASS(add)(&sums, &largest, &one, 0, true, pivot, line);
    }
    PASS(keep)(lanes, LANES_SIZE, to, &sums, largest);
}
#endif

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) OF_SUB_GROUP
void KIND(reduce)(PASS_ARGUMENTS, uint channels, uint plane, uint blocks, uint units,
                  uint log2_strip, uint per_slice, float last_reciprocal,
                  global long *restrict partial REPEAT_ARGUMENT)
{
    local long shared[SHARED_SIZE];
    local float pivot_rows[PIVOT_ROWS * LANES], pivots[TASKS], folded[PASS_SUMS * TASKS];
    local int all_flags[SLOTS];
#if SUMS_AGAIN
    local int poor[TASKS], some_poor;
#endif
    local float *lanes = (local float *)shared;
    const uint item = get_local_id(0), lane = item & (LANES - 1), slot = item >> LOG2_LANES;
    const uint own_task = item & (TASKS - 1), part = item >> LOG2_TASKS;
    const uint strip_mask = (1u << log2_strip) - 1, first = get_group_id(0) << log2_strip;
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(units, begin + per_slice), tasks = (stop - begin) << log2_strip;
    const PASS(tensors) tensors = PASS_TENSORS(channels, 1, 0);
    if (NONE_REPEATS(first, min(strip_mask + 1, channels - first)))
        return;
    const KIND(tasks_of) all = {channels, plane, blocks, begin, log2_strip};
    /* The channel of the work-item's lanes, and that of the blocks that it adds. */
    const uint lane_channel = first + (slot & strip_mask);
    const uint task_channel = first + (own_task & strip_mask);
    PASS(line) lane_line, task_line;
    PASS(line_of)(&tensors, min(lane_channel, channels - 1), lane_channel * plane + lane, &lane_line);
    PASS(line_of)(&tensors, min(task_channel, channels - 1), 0, &task_line);
    PASS(elements) elements;
    uint sizes[AT_ONCE];
    long limbs[MOST_LIMBS];
    int flags = 0;
    zero_limbs(limbs, MOST_LIMBS);
    if (item < SLOTS)
        all_flags[item] = 0;
#if SUMS_AGAIN
    if (item == 0)
        some_poor = 0;
#endif
    UNROLL for (uint a = 0; a < AT_ONCE; ++a)
    {
        uint n;
        const uint task = a * SLOTS + slot;
        const bool exists = task < tasks && lane_channel < channels;
        const block_place block =
            KIND(locate)(&tensors, &all, exists ? task : 0, exists ? lane_channel : first, &n);
        sizes[a] = exists ? n : 0;
        /* Loads past the block's end read its last element instead; the values are not used. */
        UNROLL for (uint s = 0; s < STEPS; ++s)
            PASS(load)(&elements, a * STEPS + s, &tensors, block, min(lane + s * LANES, n - 1));
    }
    for (uint from = 0, batches = 0; from < tasks; from += TASKS) {
        _Pragma("unroll 1") for (uint turn = 0; turn < TURNS && from + turn * OF_TURN < tasks; ++turn)
        {
        local float *rows = pivot_rows + (TURNS > 1 ? (turn & 1) * SLOTS * LANES : 0) + slot * LANES;
        UNROLL for (uint a = 0; a < AT_ONCE; ++a)
        {
#if WIDE
            const float share = reciprocal(sizes[a], last_reciprocal);
            float sum = 0.0f;
            UNROLL for (uint s = 0; s < STEPS; ++s)
                sum = lane + s * LANES < sizes[a]
                          ? fma(PASS(value)(&elements, a * STEPS + s, lane_line), share, sum)
                          : sum;
            rows[a * SLOTS * LANES + lane] = sum;
#else
            rows[a * SLOTS * LANES + lane] =
                lane < sizes[a]
                    ? PASS(value)(&elements, a * STEPS, lane_line) *
                          pivot_reciprocal(sizes[a], last_reciprocal)
                    : 0.0f;
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLL for (uint a = 0; a < AT_ONCE; ++a)
        {
            const uint at = (turn * AT_ONCE + a) * SLOTS + slot, task = from + OF_TURN + at;
            const bool exists = task < tasks && lane_channel < channels;
            uint n;
            const block_place block =
                KIND(locate)(&tensors, &all, exists ? task : 0, exists ? lane_channel : first, &n);
            const float pivot = fold_row(rows + a * SLOTS * LANES);
            float largest = 0.0f;
            PASS(sums) sums;
            PASS(clear)(&sums);
            UNROLL for (uint s = 0; s < STEPS; ++s)
            {
                PASS(add)(&sums, &largest, &elements, a * STEPS + s, lane + s * LANES < sizes[a],
                          pivot, lane_line);
                PASS(load)(&elements, a * STEPS + s, &tensors, block,
                           min(lane + s * LANES, n - 1));
            }
            sizes[a] = exists ? n : 0;
            PASS(keep)(lanes, LANES_SIZE, at * BANKS + lane, &sums, largest);
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
                folded[i] = PASS(fold)(i >> LOG2_TASKS, lanes + (i >> LOG2_TASKS) * LANES_SIZE +
                                                            own_task * BANKS);
            barrier(CLK_LOCAL_MEM_FENCE);
#if SUMS_AGAIN
            if (trip == 0 && part == 0) {
                float pivot = pivots[own_task], largest = 0.0f;
                uint n;
                PASS(sums) sums;
                PASS(take)(&sums, &largest, folded, TASKS, own_task);
                (void)KIND(locate)(&tensors, &all, owns ? task : 0, first, &n);
                const bool moves =
                    owns && PASS(moves)(&pivot, n, &sums, largest, last_reciprocal);
                poor[own_task] = moves;
                if (moves) {
                    pivots[own_task] = pivot;
                    atomic_or(&some_poor, 1);
                }
            }
            if (trip > 0 && item == 0)
                some_poor = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (some_poor) {
                _Pragma("unroll 1") for (uint at = slot; at < TASKS; at += SLOTS)
                    if (poor[at])
                        KIND(sum_again)(lanes, at * BANKS + lane, &tensors, &all, from + at,
                                        lane_channel, pivots[at], lane_line);
                trips = 2;
            }
#endif
        }
        if (owns) {
            uint n;
            const block_place block = KIND(locate)(&tensors, &all, task, task_channel, &n);
            float pivot = pivots[own_task], largest = 0.0f;
            bool unknown;
            PASS(sums) sums;
            PASS(take)(&sums, &largest, folded, TASKS, own_task);
            const int of_block =
                PASS(limit)(&pivot, PASS(mean)(task_line), &sums, largest, &unknown);
            PASS(add_part)(limbs, part, n, pivot, &sums);
            if (part == 0)
                flags |= of_block;
            if (part == 0 && unknown)
                flags |= PASS(flags_of_elements)(&tensors, block, n, task_line);
        }
        if (++batches == BATCHES_TO_CARRY) {
            carry_part(limbs, part < PASS_FIRST_PARTS ? PASS_LIMBS1 : PASS_LIMBS2, MOST_LIMBS);
            batches = 0;
        }
    }
    if (flags)
        atomic_or(all_flags + (own_task & strip_mask), flags);
    global long *out = partial + ((ulong)slice * channels + first) * PASS_LENGTH;
    const uint strip = strip_mask + 1;
    carry_part(limbs, part < PASS_FIRST_PARTS ? PASS_LIMBS1 : PASS_LIMBS2, MOST_LIMBS);
    UNROLL for (uint k = 0; k < MOST_LIMBS; k += WORDS_AT_ONCE)
    {
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLL for (uint w = 0; w < WORDS_AT_ONCE; ++w)
            shared[w * ITEMS + item] = k + w < MOST_LIMBS ? limbs[k + w] : 0;
        add_words(shared, item, TASKS >> 1, strip);
        /* One work-item for each word of each sum of each channel. */
        const uint word = k + ((item >> log2_strip) & (WORDS_AT_ONCE - 1)), c = item & strip_mask;
        const uint second = item >> (log2_strip + 2);
        const uint count = second ? PASS_LIMBS2 : PASS_LIMBS1;
        if (second < 2 && word < count && first + c < channels) {
            long sum = 0;
            for (uint p = second ? PASS_FIRST_PARTS : 0; p < (second ? PARTS : PASS_FIRST_PARTS);
                 ++p)
                sum += shared[(word - k) * ITEMS + p * TASKS + c];
            out[c * PASS_LENGTH + (second ? PASS_LIMBS1 : 0) + word] = sum;
        }
    }
    if (item < strip && first + item < channels)
        out[item * PASS_LENGTH + PASS_LIMBS] = all_flags[item];
}

#undef KIND
#undef STEPS
#undef SLOTS
#undef AT_ONCE
#undef TURNS
#undef OF_TURN
#undef LOG2_TASKS
#undef TASKS
#undef BANKS
#undef LANES_SIZE
#undef PIVOT_ROWS
#undef MOST_LIMBS
#undef FLOATS_SIZE
#undef SHARED_SIZE
