/*
 * GPU form, step 1 of the backward pass: x, dy, mean -> sum dy and sum dy (x - mean), with the
 * gradient of z in the place of dy if the layer has an activation (fusion.cl), and x - mean from y
 * if that is in the place of x (inversion.cl). Of a block of n elements, with the pivot g = the
 * mean of the first LANES of dy, e = dy - g and d = x - mean,
 *
 *   E = sum e,  D = sum d,  X = sum e d by fma
 *
 * are computed and added to the channel's accumulator, without rounding,
 *
 *   sum dy            += n g + E    parts 0 and 1
 *   sum dy (x - mean) += X + g D    parts 2 and 3
 *
 * Here mean is the upper float of the mean. Names as in sums_forward.cl.
 */
#define PASS_KERNEL(name) backward_##name
#define PASS_TENSOR_COUNT 2
#define PASS_SUMS 4
#define PASS_WIDE_SUMS 3
#define PASS_FIRST_PARTS 2

typedef struct pass_tensors {
    block_walk walk;
    global const stored *dy;
    uint dy_gap;
    global const stored *x;
    uint x_gap;
    global const float *means; /* upper floats */
#if FUSED_SUMS
    activation_of activation;
#endif
} pass_tensors;

#define TENSOR_PARAMETERS PARAMETERS(BACKWARD_REDUCE_ARGUMENTS) ACTIVATION_PARAMETERS
#define PASS_TENSORS \
    {BLOCK_WALK, dy + dy_offset, GAP(dy_gap), x + x_offset, GAP(x_gap), \
     coefficients ACTIVATION_OF(channels)}

/*
 * What the elements of a channel are summed with: its mean; where z is computed again, as a (x - mean) + b, its a and
 * b, or where x - mean is computed from z, 1 / a and b; of a mask the bit of the work-item's elements in their words.
 */
#if FUSED_SUMS
typedef struct pass_line {
    float mean, slope;
#if FROM_OUTPUT
    float slope_inverse;
#endif
#if RECOMPUTES || FROM_OUTPUT
    float a, b;
#elif MASKED
    uint bit;
#endif
} pass_line;
#define pass_mean(line) ((line).mean)
#else
typedef float pass_line;
#define pass_mean(line) (line)
#endif

/* As they are in memory: what follows from them is computed when all loads are under way. */
typedef struct pass_elements {
    float dy[MOST_LOADS], x[MOST_LOADS];
#if MASKED
    mask_word words[MOST_LOADS];
#endif
} pass_elements;

typedef struct pass_sums {
    float e, d, product;
} pass_sums;

#if MASKED
/*
 * The bit of a block's first element, in row `row` of the tensor and in plane number `plane`: rows
 * of a mask are either.
 */
static ulong pass_first_bit(private const pass_tensors *tensors, ulong place, ulong row,
                            ulong plane, uint plane_size)
{
    private const mask_of *mask = &tensors->activation.mask;
    return place + (mask->row == plane_size ? plane : row) * mask->padding;
}

static ulong pass_bit(private const pass_tensors *tensors, block_place block, uint i)
{
    const block_walk walk = tensors->walk;
    const uint padding = tensors->activation.mask.padding;
    return block.bit + (ulong)i * (walk.stride + walk.rows * padding);
}
#endif

/* `first`: where an element of the work-item is; all others are whole words of the mask apart. */
static void pass_line_of(private const pass_tensors *tensors, uint c, ulong first,
                         private pass_line *line)
{
    pass_mean(*line) = tensors->means[c];
#if FUSED_SUMS
    private const activation_of *of = &tensors->activation;
    line->slope = of->slope;
#endif
#if RECOMPUTES || FROM_OUTPUT
    line->a = forward_scale(tensors->means, of->weight, of->affine, of->total, c);
    line->b = forward_shift(tensors->means, of->bias, of->affine, 0, of->total, c, line->a);
#elif MASKED
    line->bit = mask_bit_of((uint)mask_bit(&of->mask, first));
#endif
#if FROM_OUTPUT
    line->slope_inverse = of->slope_inverse;
    line->a = inverse_of(line->a);
#endif
}

/* Element i of a block. */
static void pass_load(private pass_elements *elements, uint k,
                      private const pass_tensors *tensors, block_place block, uint i)
{
    const block_walk walk = tensors->walk;
    elements->dy[k] = load_element(tensors->dy, element_of(block, walk, tensors->dy_gap, i));
    elements->x[k] = load_element(tensors->x, element_of(block, walk, tensors->x_gap, i));
#if MASKED
    elements->words[k] =
        tensors->activation.mask.words[pass_bit(tensors, block, i) >> LOG2_MASK_BITS];
#endif
}

/* What is summed: dy, or the gradient of z. */
static float pass_value(private const pass_elements *elements, uint k, pass_line line)
{
    const float dy = elements->dy[k], x = elements->x[k];
#if RECOMPUTES
    return activated(dy, passes(fma(line.a, x - line.mean, line.b)), line.slope);
#elif MASKED
    return activated(dy, MASK((elements->words[k] & line.bit) != 0), line.slope);
#elif ACTIVATES
    return activated(dy, is_above(x), line.slope);
#else
    return dy;
#endif
}

/* x - mean; 0 of an element that does not exist. */
static float centred(private const pass_elements *elements, uint k, bool exists, pass_line line)
{
    const float x = elements->x[k];
#if FROM_OUTPUT
    return exists ? (inverted(x, line.slope_inverse) - line.b) * line.a : 0.0f;
#else
    const float mean = pass_mean(line);
    return (exists ? x : mean) - mean;
#endif
}

static void pass_clear(private pass_sums *sums)
{
    sums->e = 0.0f;
    sums->d = 0.0f;
    sums->product = 0.0f;
}

static void pass_add(private pass_sums *sums, private float *largest,
                     private const pass_elements *elements, uint k, bool exists,
                     float pivot, pass_line line)
{
    const float e = (exists ? pass_value(elements, k, line) : pivot) - pivot;
    const float d = centred(elements, k, exists, line);
    sums->e += e;
    sums->d += d;
    sums->product = fma(e, d, sums->product);
    *largest = larger(*largest, fabs(e));
}

static void pass_keep(local float *lanes, uint size, uint at, private const pass_sums *sums,
                      float largest)
{
    lanes[at] = sums->e;
    lanes[size + at] = sums->d;
    lanes[2 * size + at] = sums->product;
    lanes[3 * size + at] = largest;
}

static float pass_fold(uint which, local const float *row)
{
    return which == 3 ? largest_of_row(row) : fold_row(row);
}

static void pass_take(private pass_sums *sums, private float *largest, local const float *folded,
                      uint size, uint at)
{
    sums->e = folded[at];
    sums->d = folded[size + at];
    sums->product = folded[2 * size + at];
    *largest = folded[3 * size + at];
}

static bool pass_moves(private float *pivot, uint n, private const pass_sums *sums, float largest,
                       float last_reciprocal)
{
    if (!is_poor_by_largest(n, sums->e, largest))
        return false;
    *pivot = moved_pivot(*pivot, sums->e, reciprocal(n, last_reciprocal));
    return true;
}

static bool pass_misses(uint n, private float *pivot, float mean, private pass_sums *sums,
                        float largest, uint thin, float faint)
{
    /* If the mean is not finite, the second sum is NaN anyway. */
    if (reaches(mean, INFINITY)) {
        sums->d = 0.0f;
        sums->product = 0.0f;
    }
    const bool out = misses(n, *pivot, sums->e, sums->d, sums->product, largest, faint) != 0;
    *pivot = out ? 0.0f : *pivot;
    sums->e = out ? 0.0f : sums->e;
    sums->d = out ? 0.0f : sums->d;
    sums->product = out ? 0.0f : sums->product;
    return out;
}

static void pass_factors(uint which, private const pass_elements *elements, float pivot,
                         float share, pass_line line, private float *a, private float *b)
{
    const float v = pass_value(elements, 0, line), d = centred(elements, 0, true, line);
    const float e = v - pivot;
    *a = which == 0 ? v : which == 2 ? d : e;
    *b = which == 0 ? share : which == 3 ? d : 1.0f;
}

/* The parts are the products n g 1, 1 E 1, 1 X 1 and 1 g D. */
static void pass_add_part(private long *limbs, uint part, uint n, float pivot,
                          private const pass_sums *sums)
{
    const float a = part == 1 ? sums->e : part == 2 ? sums->product : pivot;
    add_product(limbs, PASS_TERM_LIMBS2, part < 2 ? PASS_LOW1 : PASS_LOW2,
                part == 0 ? n : 1, a, part == 3 ? sums->d : 1.0f);
}

/* --- a run of planes of one element: reduce_rows.cl --- */

/* As forward_add_run, for dy and dy (x - mean). Products have their own range, twice as wide. */
static uint pass_add_run(private long *limbs, private const pass_elements *elements, uint count,
                         pass_line line, float faint)
{
    const uint limit = as_uint(PASS_LIMIT_PIVOT);
    /* If the exponents add up to at most this, the product is below its limit. */
    const int most = (int)(as_uint(PASS_LIMIT_SECOND) >> 23) + 125;
    const bool lost = reaches(pass_mean(line), INFINITY) != 0;
    uint top = 0, others = 0;
    int top_product = 0;
    float values[RUN], ds[RUN];
    UNROLL for (uint k = 0; k < RUN; ++k)
    {
        values[k] = pass_value(elements, k, line);
        ds[k] = lost ? 0.0f : centred(elements, k, true, line);
        const uint size = magnitude_of(values[k]);
        const int product = (int)(size >> 23) + (int)(magnitude_of(ds[k]) >> 23);
        const bool fits = k < count && size < limit && product <= most;
        top = fits ? max(top, size) : top;
        top_product = fits ? max(top_product, product) : top_product;
    }
    /* Not below `faint`, which is above the format's lowest bit, nor below that of products. */
    const int low = max((int)(top >> 23) - 2 * SPAN, (int)(as_uint(faint) >> 23));
    const int low_product = max(top_product - 2 * SPAN, 300 - PASS_LOW2);
    long sum = 0, high_sum = 0, low_sum = 0;
    UNROLL for (uint k = 0; k < RUN; ++k)
    {
        const uint bits = as_uint(values[k]), size = bits & 0x7fffffffu;
        const uint bits_d = as_uint(ds[k]), size_d = bits_d & 0x7fffffffu;
        const int shift = (int)(size >> 23) - low, exponent_d = (int)(size_d >> 23);
        const int product = (int)(size >> 23) + exponent_d;
        const bool has_product = size_d != 0;
        /*
         * The product with a subnormal d is below low_product, as size is below limit; that with Inf or NaN
         * above `most`, as size is not below `faint`.
         */
        const bool is_in = shift >= 0 && size >= as_uint(faint) && size < limit && k < count &&
                           (!has_product || (product >= low_product && product <= most));
        /* dy = 0 counts if x - mean is Inf or NaN: the product is NaN. */
        others |= !is_in && (size != 0 || exponent_d == 255) && k < count ? 1u << k : 0;
        const uint m = is_in ? (bits & 0x7fffffu) | 0x800000u : 0;
        const uint m_d = is_in && has_product ? (bits_d & 0x7fffffu) | 0x800000u : 0;
        const int by = is_in ? shift : 0, by_product = m_d ? product - low_product : 0;
        const ulong magnitude = (ulong)m * m_d;
        const int factor = 1 << by_product;
        const int high = (int)(magnitude >> 24), low_part = (int)magnitude & 0xffffff;
        const bool negative = (int)(bits ^ bits_d) < 0;
        sum += (long)((int)bits < 0 ? -(int)m : (int)m) * (1 << by);
        high_sum += (long)(negative ? -high : high) * factor;
        low_sum += (long)(negative ? -low_part : low_part) * factor;
    }
    add_sum(limbs, PASS_TERM_LIMBS1, sum, low - 150 + PASS_LOW1);
    private long *second = limbs + PASS_LIMBS1;
    const int place = low_product - 300 + PASS_LOW2;
    add_sum(second, PASS_TERM_LIMBS2, low_sum, place);
    add_sum(second, PASS_TERM_LIMBS2, high_sum, place + 24);
    return others;
}
