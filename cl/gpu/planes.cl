/*
 * GPU form, step 1: what the reductions of large and small planes share.
 *
 * Work-group (strip of 2^log2_strip channels, at most SLOTS; slice): a slice is `per_slice` of each channel's `units`
 * blocks, over all samples. Each block is a task. Tasks are numbered channel by channel within a unit, so that small
 * planes are read in the order of memory. A work-item sums a lane of 2^LOG2_AT_ONCE blocks at once, of at most
 * MOST_LOADS elements: of one block of a large plane, of 2^LOG2_SMALL_PLANES planes of up to SMALL_PLANE elements.
 * Neighbouring work-items have neighbouring lanes, or, where channels are last, neighbouring channels.
 */
#define LOG2_SMALL_PLANES 2
#define SLOTS (ITEMS >> LOG2_LANES)
#define LOG2_TASKS (LOG2_ITEMS - LOG2_PARTS)
#define TASKS (1 << LOG2_TASKS)
#if BLOCK >> LOG2_LANES != MOST_LOADS || \
    SMALL_PLANE >> LOG2_LANES != MOST_LOADS >> LOG2_SMALL_PLANES
#error "an item has MOST_LOADS elements in a turn"
#endif
#define BANKS (LANES + 1) /* a row of lanes, padded against bank conflicts */
#define LANES_SIZE (TASKS * BANKS)
/* Which lane of which slot a work-item has. */
#define LANE_OF(item) (CHANNELS_LAST ? (item) >> (LOG2_ITEMS - LOG2_LANES) : (item) & (LANES - 1))
#define SLOT_OF(item) (CHANNELS_LAST ? (item) & (SLOTS - 1) : (item) >> LOG2_LANES)
/* Turns of a batch of tasks. Between them, two sets of rows of pivots: one is read, one written. */
#define TURNS(log2_at_once) (TASKS >> (log2_at_once) >> (LOG2_ITEMS - LOG2_LANES))
#define PIVOTS_SIZE(log2_at_once) \
    ((SLOTS << (log2_at_once)) * BANKS * (TURNS(log2_at_once) > 1 ? 2 : 1))
#define MOST_LIMBS (PASS_LIMBS1 > PASS_LIMBS2 ? PASS_LIMBS1 : PASS_LIMBS2)
#if MOST_LIMBS > WORDS_AT_ONCE
#error "work-items add more words than WORDS_AT_ONCE: reduce_planes.cl"
#endif
/* The same local memory holds lanes, and at the end words of limbs. */
#define FLOATS_SIZE (PASS_SUMS * LANES_SIZE)
#define SHARED_SIZE (FLOATS_SIZE > 2 * WORDS_SIZE ? (FLOATS_SIZE >> 1) + 1 : WORDS_SIZE)

/* The local memory of a kernel, and as its body takes it. */
#define PLANES_MEMORY_OF(log2_at_once) \
    local long shared[SHARED_SIZE]; \
    local float pivot_rows[PIVOTS_SIZE(log2_at_once)], pivots[TASKS], folded[PASS_SUMS * TASKS]; \
    local int all_flags[SLOTS], poor[TASKS], some_poor
#define PLANES_MEMORY shared, pivot_rows, pivots, folded, all_flags, poor, &some_poor

/* A work-group's tasks. */
typedef struct plane_tasks {
    uint channels, plane, blocks, begin, log2_strip;
} plane_tasks;

/* Where the block of a task begins, and how long it is. */
static INLINED block_place locate_plane(private const pass_tensors *tensors,
                                        private const plane_tasks *tasks, uint task, uint channel,
                                        private uint *n)
{
    const uint unit = tasks->begin + (task >> tasks->log2_strip);
    const uint sample = tasks->blocks == 1 ? unit : quotient(unit, tasks->blocks);
    const uint start = (unit - sample * tasks->blocks) * BLOCK;
    *n = min((uint)BLOCK, tasks->plane - start);
    const ulong plane = (ulong)sample * tasks->channels + channel;
    const ulong pixel = (ulong)sample * tasks->plane + start;
    const ulong place = CHANNELS_LAST ? pixel * tasks->channels + channel
                                      : plane * tasks->plane + start;
    const ulong row = CHANNELS_LAST ? pixel : sample;
    const block_place block = {place, row AND_BIT(pass_first_bit(
                                          tensors, place, row, CHANNELS_LAST ? pixel : plane,
                                          tasks->plane))};
    return block;
}

/* Sums an item's lane of a block around another pivot; keeps it at `to`. */
static INLINED void sum_again(local float *lanes, uint to, private const pass_tensors *tensors,
                              private const plane_tasks *tasks, uint task, uint channel,
                              float pivot, pass_line line)
{
    uint n;
    const block_place block = locate_plane(tensors, tasks, task, channel, &n);
    float largest = 0.0f;
    pass_elements one;
    pass_sums sums;
    pass_clear(&sums);
    const uint lane = LANE_OF((uint)get_local_id(0));
    _Pragma("unroll 1") for (uint i = lane; i < n; i += LANES)
    {
        pass_load(&one, 0, tensors, block, i);
        pass_add(&sums, &largest, &one, 0, true, pivot, line);
    }
    pass_keep(lanes, LANES_SIZE, to, &sums, largest);
}
