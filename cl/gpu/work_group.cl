/*
 * GPU form: what the reductions share. Work-groups have ITEMS work-items. A work-item issues several loads before it
 * uses the result of one. Private arrays are indexed only by constants, so that they stay in registers.
 *
 * What a block adds to an accumulator is divided into PARTS parts, which several work-items may
 * add: the order of integer sums is free.
 *
 * A program sums for one pass, whose file (sums_forward.cl, sums_backward.cl) follows this one.
 * It gives the reductions behind it:
 *
 *   PASS_KERNEL                       the name of a kernel of the pass
 *   PASS_TENSOR_COUNT, PASS_SUMS      the tensors that it reads, and its sums per block
 *   PASS_FIRST_PARTS                  how many of the parts belong to the first sum
 *   pass_tensors                      the tensors, which PASS_TENSORS makes of TENSOR_PARAMETERS,
 *                                     and how their blocks lie in memory
 *   pass_line                         what a channel's elements are summed with, besides pivots:
 *                                     set by pass_line_of; pass_mean is the mean in it
 *   pass_elements                     what a work-item has loaded: pass_load loads an element,
 *                                     pass_value is what is summed of it
 *   pass_sums                         the sums of a lane, or of a block: pass_clear, pass_add; in
 *                                     local memory pass_keep, pass_fold, pass_take
 *   pass_moves                        whether a block is summed once more, around another pivot
 *   pass_misses, pass_add_part        whether a block does not fit the format; add a part of one
 *   pass_faint                        from where on blocks fit
 *   PASS_WIDE_SUMS, pass_factors      the sums of those that do not: wide_blocks.cl
 *   pass_add_run                      adds a run of planes of one element (reduce_rows.cl)
 *   pass_first_bit, pass_bit          where a block's bits are, with a mask (fusion.cl)
 */
/* The bodies of kernels: their callers' constants must reach their loops. */
#define INLINED __attribute__((always_inline))

#define SLICE_PARAMETERS PARAMETERS(SLICE_ARGUMENTS), PARAMETERS(GPU_SLICE_ARGUMENTS)
#define SLICE NAMES(SLICE_ARGUMENTS), NAMES(GPU_SLICE_ARGUMENTS)

/* Work-items of a sub-group, where the compiler is to be told (src/program/compiler_options.c). */
#ifdef SUB_GROUP
#define OF_SUB_GROUP __attribute__((intel_reqd_sub_group_size(SUB_GROUP)))
#else
#define OF_SUB_GROUP
#endif

/*
 * Planes of one element (reduce_rows.cl): rows that are summed together, and the range of exponents
 * for which an int64 holds their sum. Shifts by twice as much are products by factors of 32 bits.
 */
#define RUN (MOST_LOADS >> (PASS_TENSOR_COUNT - 1))
#define SPAN 15

/*
 * Elements of others between the rows of a tensor, samples or pixels. Only programs for views ask
 * for them: addresses with gaps take registers, which all other tensors would pay for.
 */
#define GAP(gap) (VIEWS ? (gap) : 0)

/*
 * Where a block begins: the elements of rows alone before it, and its row; with a mask
 * (fusion.cl), its bit. Its elements are `stride` elements and `rows` rows apart (0 or 1).
 */
typedef struct block_place {
    ulong place, row;
#if MASKED
    ulong bit;
#endif
} block_place;

/* In an initialiser of block_place: on gfx906 a function for it took 130 registers, not 114. */
#if MASKED
#define AND_BIT(bit) , bit
#else
#define AND_BIT(bit)
#endif

typedef struct block_walk {
    uint stride, rows;
} block_walk;

/* A program's blocks lie within planes or, with CHANNELS_LAST, across rows of channels. */
#define BLOCK_WALK {CHANNELS_LAST ? channels : 1, CHANNELS_LAST}

/* Where element i is, with `gap` others between rows. */
static ulong element_of(block_place block, block_walk walk, uint gap, uint i)
{
    return block.place + block.row * gap + (ulong)i * (walk.stride + walk.rows * gap);
}

/* Folds the lanes of a block, in the order of doc/order.md. */
static float fold_row(local const float *row)
{
    float a[8], b[4];
    UNROLL for (uint l = 0; l < 8; ++l) a[l] = row[l] + row[l + 8];
    UNROLL for (uint l = 0; l < 4; ++l) b[l] = a[l] + a[l + 4];
    return (b[0] + b[2]) + (b[1] + b[3]);
}

static float largest_of_row(local const float *row)
{
    float largest = row[0];
    UNROLL for (uint l = 1; l < LANES; ++l) largest = larger(largest, row[l]);
    return largest;
}

/* Words that each work-item adds at once, and the local memory for that. */
#define WORDS_AT_ONCE 4
#define WORDS_SIZE (WORDS_AT_ONCE * ITEMS)
#if 32 * WIDE_ROOM > WORDS_SIZE
#error "the wide sums of a strip of 32 channels have no room there: tail.cl"
#endif

/*
 * A tree sum of WORDS_AT_ONCE words per work-item, over work-items `apart` from each other, down to `least`. The sums
 * are in words[k * ITEMS + item] for item < least. The whole work-group must call this.
 */
static void add_words(local long *words, uint item, uint apart, uint least)
{
    for (; apart >= least; apart >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((item & (2 * apart - 1)) < apart)
            UNROLL for (uint k = 0; k < WORDS_AT_ONCE; ++k)
                words[k * ITEMS + item] += words[k * ITEMS + item + apart];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/*
 * Word k of a slice's accumulator: the sum of its work-items' words, with what is carried from `below`, the
 * sum of their words k - 1. Slices are then added without a carry, at most 256 of each of 4 replicas.
 */
static long carried_word(uint k, long sum, long below)
{
    const bool is_lowest = k == 0 || k == PASS_LIMBS1;
    const bool is_highest = k == PASS_LIMBS1 - 1 || k == PASS_LIMBS - 1;
    return (is_highest ? sum : sum & LIMB_MASK) + (is_lowest ? 0 : below >> LIMB_BITS);
}

/* Adds an integer in units of 2^place times the lowest limb's unit. */
static void add_sum(private long *limbs, int count, long sum, int place)
{
    add_bits(limbs, count, abs(sum), place, (int)(sum >> 63));
}
