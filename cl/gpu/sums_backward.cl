/*
 * GPU form, step 1 of the backward pass: x, dy, mean -> sum dy and sum dy (x - mean), with the
 * gradient of z in the place of dy if the layer has an activation (fusion.cl), and x - mean from y
 * if that is in the place of x (inversion.cl). Of a block of
 * n elements, with the pivot g = the mean of the first LANES of dy (narrow format; of all in the
 * wide one), e = dy - g and d = x - mean,
 *
 *   E = sum e,  D = sum d,  X = sum e d by fma
 *
 * are computed and added to the channel's accumulator, without rounding,
 *
 *   sum dy            += n g + E    parts 0 and 1
 *   sum dy (x - mean) += X + g D    parts 2 and 3
 *
 * Here mean is the upper float of the mean. The largest |e| shows how far the block lies above the
 * format's lowest bit, which the sums do not: they may cancel. Names as in sums_forward.cl.
 */
#define PASS(name) backward_##name
#define PASS_ARGUMENTS \
    global const stored *restrict x, ulong x_offset, uint x_gap, \
        global const stored *restrict dy, ulong dy_offset, uint dy_gap, \
        global const float *restrict coefficients ACTIVATION_PARAMETERS
#if ROW_MEAN_HIGH != 0
#error "the means are read from the beginning of the coefficients"
#endif
#define PASS_TENSORS(total, stride, rows) \
    { \
        {stride, rows}, dy + dy_offset, GAP(dy_gap), x + x_offset, GAP(x_gap), \
            coefficients ACTIVATION_OF(total) \
    }
#define PASS_TENSOR_COUNT 2
#define PASS_SUMS 4
#define PASS_FIRST_PARTS 2
#define PASS_LIMBS1 BACKWARD_LIMBS1
#define PASS_LIMBS2 BACKWARD_LIMBS2

typedef struct backward_tensors {
    block_walk walk;
    global const stored *dy;
    uint dy_gap;
    global const stored *x;
    uint x_gap;
    global const float *means; /* upper floats */
#if FUSED_SUMS
    activation_of activation;
#endif
} backward_tensors;

/*
 * What the elements of a channel are summed with: its mean; where z is computed again, as
 * a (x - mean) + b, its a and b, or where x - mean is computed from z, 1 / a and b; of a mask the
 * bit of the work-item's elements in their words.
 */
#if FUSED_SUMS
typedef struct backward_line {
    float mean, slope;
#if FROM_OUTPUT
    float slope_inverse;
#endif
#if RECOMPUTES || FROM_OUTPUT
    float a, b;
#elif MASKED
    uint bit;
#endif
} backward_line;
#else
typedef float backward_line;
#endif

/* As they are in memory: what follows from them is computed when all loads are under way. */
typedef struct backward_elements {
    float dy[MOST_LOADS], x[MOST_LOADS];
#if MASKED
    mask_word words[MOST_LOADS];
#endif
} backward_elements;

typedef struct backward_sums {
    float e, d, product;
} backward_sums;

#if MASKED
/*
 * The bit of a block's first element, in row `row` of the tensor and in plane number `plane`: rows of a
 * mask are either.
 */
static ulong backward_first_bit(private const backward_tensors *tensors, ulong place, ulong row,
                                ulong plane, uint plane_size)
{
    private const mask_of *mask = &tensors->activation.mask;
    return place + (mask->row == plane_size ? plane : row) * mask->padding;
}

static ulong backward_bit(private const backward_tensors *tensors, block_place block, uint i)
{
    const block_walk walk = tensors->walk;
    const uint padding = tensors->activation.mask.padding;
    return block.bit + (ulong)i * (walk.stride + walk.rows * padding);
}
#endif

/* `first`: where an element of the work-item is; all others are whole words of the mask apart. */
#if FUSED_SUMS
static void backward_line_of(private const backward_tensors *tensors, uint c, uint first,
                             private backward_line *line)
{
    private const activation_of *of = &tensors->activation;
    line->mean = tensors->means[c];
    line->slope = of->slope;
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

static float backward_mean(backward_line line)
{
    return line.mean;
}

#else
static void backward_line_of(private const backward_tensors *tensors, uint c, uint first,
                             private backward_line *line)
{
    *line = tensors->means[c];
}

static float backward_mean(backward_line line)
{
    return line;
}
#endif

/* Element i of a block. */
static void backward_load(private backward_elements *elements, uint k,
                          private const backward_tensors *tensors, block_place block, uint i)
{
    const block_walk walk = tensors->walk;
    elements->dy[k] = load_element(tensors->dy, element_of(block, walk, tensors->dy_gap, i));
    elements->x[k] = load_element(tensors->x, element_of(block, walk, tensors->x_gap, i));
#if MASKED
    elements->words[k] = load_mask_word(&tensors->activation.mask, backward_bit(tensors, block, i));
#endif
}

/* What is summed: dy, or the gradient of z. */
static float backward_value(private const backward_elements *elements, uint k, backward_line line)
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

/* The same of any element. */
static float backward_summed(private const backward_tensors *tensors, block_place block, uint i,
                             backward_line line)
{
    backward_elements one;
    backward_load(&one, 0, tensors, block, i);
#if MASKED
    line.bit = mask_bit_of((uint)backward_bit(tensors, block, i));
#endif
    return backward_value(&one, 0, line);
}

/* x - mean; 0 of an element that does not exist. */
static float backward_centred(private const backward_elements *elements, uint k, bool exists,
                              backward_line line)
{
    const float x = elements->x[k];
#if FROM_OUTPUT
    return exists ? (inverted(x, line.slope_inverse) - line.b) * line.a : 0.0f;
#else
    const float mean = backward_mean(line);
    return (exists ? x : mean) - mean;
#endif
}

static void backward_clear(private backward_sums *sums)
{
    sums->e = 0.0f;
    sums->d = 0.0f;
    sums->product = 0.0f;
}

static void backward_add(private backward_sums *sums, private float *largest,
                         private const backward_elements *elements, uint k, bool exists,
                         float pivot, backward_line line)
{
    const float e = (exists ? backward_value(elements, k, line) : pivot) - pivot;
    const float d = backward_centred(elements, k, exists, line);
    sums->e += e;
    sums->d += d;
    sums->product = fma(e, d, sums->product);
    *largest = larger(*largest, fabs(e));
}

static void backward_keep(local float *lanes, uint size, uint at, private const backward_sums *sums,
                          float largest)
{
    lanes[at] = sums->e;
    lanes[size + at] = sums->d;
    lanes[2 * size + at] = sums->product;
    lanes[3 * size + at] = largest;
}

static float backward_fold(uint which, local const float *row)
{
    return which == 3 ? largest_of_row(row) : fold_row(row);
}

static void backward_take(private backward_sums *sums, private float *largest,
                          local const float *folded, uint size, uint at)
{
    sums->e = folded[at];
    sums->d = folded[size + at];
    sums->product = folded[2 * size + at];
    *largest = folded[3 * size + at];
}

static void backward_fold_lanes(private backward_sums *sums, private const backward_sums *lanes)
{
    float e[LANES], d[LANES], product[LANES];
    UNROLL for (uint l = 0; l < LANES; ++l)
    {
        e[l] = lanes[l].e;
        d[l] = lanes[l].d;
        product[l] = lanes[l].product;
    }
    sums->e = fold_lanes(e);
    sums->d = fold_lanes(d);
    sums->product = fold_lanes(product);
}

#if SUMS_AGAIN
/* As in sums_forward.cl. */
static bool backward_moves(private float *pivot, uint n, private const backward_sums *sums, float largest,
                   float last_reciprocal)
{
    if (!is_poor_by_largest(n, sums->e, largest))
        return false;
    *pivot = moved_pivot(*pivot, sums->e, reciprocal(n, last_reciprocal));
    return true;
}
#endif

static int backward_limit(private float *pivot, float mean, private backward_sums *sums,
                          float largest, private bool *unknown)
{
    int flags = 0;
    *unknown = false;
    /* If the mean is not finite, the second sum is NaN anyway: no reason to repeat the channel. */
    if (reaches(mean, INFINITY)) {
        sums->d = 0.0f;
        sums->product = 0.0f;
    }
    const bool over_sum = reaches(sums->e, BACKWARD_LIMIT_SUM) != 0;
    if (reaches(*pivot, BACKWARD_LIMIT_PIVOT) || over_sum ||
        reaches(sums->product, BACKWARD_LIMIT_SECOND) ||
        reaches(*pivot * sums->d, BACKWARD_LIMIT_SECOND)) {
        *unknown = reaches(*pivot, INFINITY) != 0;
#if WIDE
        if (*unknown || over_sum)
            sums->e = 0.0f;
        if (*unknown)
            *pivot = 0.0f;
#else
        *unknown = *unknown || reaches(sums->e, INFINITY);
        sums->e = 0.0f;
        *pivot = 0.0f;
#endif
        sums->d = 0.0f;
        sums->product = 0.0f;
        largest = 0.0f;
        flags = *unknown ? 0 : FLAG_OVERFLOW;
    }
    if (reaches(*pivot, BACKWARD_CLEAR) || reaches(largest, BACKWARD_CLEAR))
        return flags | FLAG_CLEAR;
    return *pivot != 0.0f || largest != 0.0f ? flags | FLAG_FAINT : flags;
}

/* The parts are the products n g 1, 1 E 1, 1 X 1 and 1 g D. */
static void backward_add_part(private long *limbs, uint part, uint n, float pivot,
                              private const backward_sums *sums)
{
    const float a = part == 1 ? sums->e : part == 2 ? sums->product : pivot;
    add_product(limbs, BACKWARD_TERM_LIMBS2, part < 2 ? BACKWARD_LOW1 : BACKWARD_LOW2,
                part == 0 ? n : 1, a, part == 3 ? sums->d : 1.0f);
}

/* --- a run of planes of one element: reduce_rows.cl --- */

/* As forward_add_run, for dy and dy (x - mean). Products have their own range, twice as wide. */
static uint backward_add_run(private long *limbs, private int *flags,
                             private const backward_elements *elements, uint count,
                             backward_line line)
{
    const uint limit = as_uint(BACKWARD_LIMIT_PIVOT);
    /* If the exponents add up to at most this, the product is below its limit. */
    const int most = (int)(as_uint(BACKWARD_LIMIT_SECOND) >> 23) + 125;
    const bool lost = reaches(backward_mean(line), INFINITY) != 0;
    uint top = 0, others = 0;
    int top_product = 0;
    float values[RUN], ds[RUN];
    UNROLL for (uint k = 0; k < RUN; ++k)
    {
        values[k] = backward_value(elements, k, line);
        ds[k] = lost ? 0.0f : backward_centred(elements, k, true, line);
        const uint size = magnitude_of(values[k]);
        const int product = (int)(size >> 23) + (int)(magnitude_of(ds[k]) >> 23);
        const bool fits = k < count && size < limit && product <= most;
        top = fits ? max(top, size) : top;
        top_product = fits ? max(top_product, product) : top_product;
    }
    /* Not below the format's lowest bit, nor below BACKWARD_CLEAR. */
    const int clear = max((int)(as_uint(BACKWARD_CLEAR) >> 23), 150 - BACKWARD_LOW1);
    const int low = max((int)(top >> 23) - 2 * SPAN, max(clear, 1));
    const int low_product = max(top_product - 2 * SPAN, 300 - BACKWARD_LOW2);
    long sum = 0, high_sum = 0, low_sum = 0;
    UNROLL for (uint k = 0; k < RUN; ++k)
    {
        const uint bits = as_uint(values[k]), size = bits & 0x7fffffffu;
        const uint bits_d = as_uint(ds[k]), size_d = bits_d & 0x7fffffffu;
        const int shift = (int)(size >> 23) - low, exponent_d = (int)(size_d >> 23);
        const int product = (int)(size >> 23) + exponent_d;
        const bool has_product = size_d != 0;
        const bool is_in = shift >= 0 && size < limit && k < count && exponent_d < 255 &&
                           (!has_product ||
                            (exponent_d > 0 && product >= low_product && product <= most));
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
        *flags |= m ? FLAG_CLEAR : 0;
    }
    add_sum(limbs, BACKWARD_TERM_LIMBS1, sum, low - 150 + BACKWARD_LOW1);
    private long *second = limbs + BACKWARD_LIMBS1;
    const int place = low_product - 300 + BACKWARD_LOW2;
    add_sum(second, BACKWARD_TERM_LIMBS2, low_sum, place);
    add_sum(second, BACKWARD_TERM_LIMBS2, high_sum, place + 24);
    return others;
}
