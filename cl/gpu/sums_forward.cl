/*
 * GPU form, step 1 of the forward pass: x -> sum x and sum x^2. Of a block of n elements, with the
 * pivot p = the mean of its first LANES elements, and d = x - p,
 *
 *   A = sum d,  Q = sum d^2 by fma
 *
 * are computed and added to the channel's accumulator, without rounding,
 *
 *   sum x   += n p + A              part 0
 *   sum x^2 += n p^2 + 2 p A + Q    parts 1 to 3
 *
 * work_group.cl lists the names that the reductions behind this file use.
 */
#define PASS_KERNEL(name) forward_##name
#define PASS_TENSOR_COUNT 1
#define PASS_SUMS 2
#define PASS_WIDE_SUMS 2
#define PASS_FIRST_PARTS 1

typedef struct pass_tensors {
    block_walk walk;
    global const stored *x;
    uint x_gap;
} pass_tensors;

#define TENSOR_PARAMETERS PARAMETERS(FORWARD_REDUCE_ARGUMENTS)
#define PASS_TENSORS {BLOCK_WALK, x + x_offset, GAP(x_gap)}

/* Elements that a work-item has loaded. */
typedef struct pass_elements {
    float summed[MOST_LOADS];
} pass_elements;

/* The sums of a lane, or of a block. */
typedef struct pass_sums {
    float a, q;
} pass_sums;

/* What a channel's elements are summed with, besides pivots: in the backward pass. */
typedef float pass_line;
#define pass_mean(line) (line)

static void pass_line_of(private const pass_tensors *tensors, uint c, ulong first,
                         private pass_line *line)
{
    *line = 0.0f;
}

static void pass_load(private pass_elements *elements, uint k,
                      private const pass_tensors *tensors, block_place block, uint i)
{
    elements->summed[k] = load_element(tensors->x,
                                       element_of(block, tensors->walk, tensors->x_gap, i));
}

/* The same, when it is loaded. */
static float pass_value(private const pass_elements *elements, uint k, pass_line line)
{
    return elements->summed[k];
}

static void pass_clear(private pass_sums *sums)
{
    sums->a = 0.0f;
    sums->q = 0.0f;
}

/* Adds element k if it exists. `largest` is for the backward pass. */
static void pass_add(private pass_sums *sums, private float *largest,
                     private const pass_elements *elements, uint k, bool exists, float pivot,
                     pass_line line)
{
    const float d = (exists ? elements->summed[k] : pivot) - pivot;
    sums->a += d;
    sums->q = fma(d, d, sums->q);
}

/* Stores a lane's sums where lanes are folded: `size` floats for each sum. */
static void pass_keep(local float *lanes, uint size, uint at, private const pass_sums *sums,
                      float largest)
{
    lanes[at] = sums->a;
    lanes[size + at] = sums->q;
}

/* Folds a row of lanes: sum `which` of a block. */
static float pass_fold(uint which, local const float *row)
{
    return fold_row(row);
}

/* The folded sums of a block. */
static void pass_take(private pass_sums *sums, private float *largest, local const float *folded,
                      uint size, uint at)
{
    sums->a = folded[at];
    sums->q = folded[size + at];
}

/* Where a block is to be summed once more (pivots.cl), moves its pivot, and gives true. */
static bool pass_moves(private float *pivot, uint n, private const pass_sums *sums, float largest,
                       float last_reciprocal)
{
    if (!is_poor_by_squares(n, sums->a, sums->q))
        return false;
    *pivot = moved_pivot(*pivot, sums->a, reciprocal(n, last_reciprocal));
    return true;
}

/* Whether a block does not fit the narrow format; its terms are 0 then. */
static bool pass_misses(uint n, private float *pivot, float mean, private pass_sums *sums,
                        float largest, uint thin, float faint)
{
    const bool out = misses(n, *pivot, sums->a, sums->q, thin, faint) != 0;
    *pivot = out ? 0.0f : *pivot;
    sums->a = out ? 0.0f : sums->a;
    sums->q = out ? 0.0f : sums->q;
    return out;
}

/* An element's term of a sum of a block that does not fit, as a product: of the mean, A and Q. */
static void pass_factors(uint which, private const pass_elements *elements, float pivot,
                         float share, pass_line line, private float *a, private float *b)
{
    const float v = elements->summed[0], d = v - pivot;
    *a = which == 0 ? v : d;
    *b = which == 0 ? share : which == 1 ? 1.0f : d;
}

/*
 * Adds a part of a block to the limbs of its sum. All parts are products, so that work-items with
 * different parts execute the same instructions: n p 1 (and A), n p p, 2 p A, 1 Q 1.
 */
static void pass_add_part(private long *limbs, uint part, uint n, float pivot,
                          private const pass_sums *sums)
{
    const uint count = part == 2 ? 2 : part == 3 ? 1 : n;
    const float a = part == 3 ? sums->q : pivot;
    const float b = part == 1 ? pivot : part == 2 ? sums->a : 1.0f;
    add_product(limbs, PASS_TERM_LIMBS2, part == 0 ? PASS_LOW1 : PASS_LOW2, count, a, b);
    if (part == 0)
        add_term(limbs, PASS_TERM_LIMBS1, PASS_LOW1, 1, sums->a);
}

/* --- a run of planes of one element: reduce_rows.cl --- */

/*
 * Adds x and x^2 of the elements of a run whose exponents are among the SPAN + 1 largest of the run and that are
 * below the format's limit. Returns a mask of the others. x^2 is added in two halves of 24 bits.
 */
static uint pass_add_run(private long *limbs, private const pass_elements *elements, uint count,
                         pass_line line, float faint)
{
    const uint limit = as_uint(PASS_LIMIT_PIVOT);
    uint top = 0, others = 0;
    UNROLL for (uint k = 0; k < RUN; ++k)
    {
        const uint size = magnitude_of(elements->summed[k]);
        top = k < count && size < limit ? max(top, size) : top;
    }
    /* Such that neither x nor x^2 has bits below the format's lowest. */
    const int least = max((301 - PASS_LOW2) >> 1, 150 - PASS_LOW1);
    const int low = max((int)(top >> 23) - SPAN, least);
    long sum = 0;
    ulong high_sum = 0, low_sum = 0;
    UNROLL for (uint k = 0; k < RUN; ++k)
    {
        const uint bits = as_uint(elements->summed[k]), size = bits & 0x7fffffffu;
        const int shift = (int)(size >> 23) - low;
        const bool is_in = shift >= 0 && size < limit && k < count;
        others |= !is_in && size != 0 && k < count ? 1u << k : 0;
        const uint m = is_in ? (bits & 0x7fffffu) | 0x800000u : 0;
        const int by = is_in ? shift : 0;
        const ulong square = (ulong)m * m;
        const uint factor = 1u << (2 * by);
        sum += (long)((int)bits < 0 ? -(int)m : (int)m) * (1 << by);
        high_sum += (ulong)(uint)(square >> 24) * factor;
        low_sum += (ulong)((uint)square & 0xffffffu) * factor;
    }
    add_sum(limbs, PASS_TERM_LIMBS1, sum, low - 150 + PASS_LOW1);
    private long *second = limbs + PASS_LIMBS1;
    const int place = 2 * low - 300 + PASS_LOW2;
    add_sum(second, PASS_TERM_LIMBS2, (long)low_sum, place);
    add_sum(second, PASS_TERM_LIMBS2, (long)high_sum, place + 24);
    return others;
}
