/*
 * Step 1 of the backward pass: x, dy, mean -> sum dy and sum dy (x - mean). Of a block of n
 * elements the kernels sum, with the pivot g = the mean of the first LANES of dy (narrow format; of
 * all in the wide one), e = dy - g and d = x - mean,
 *
 *   E = sum e,  D = sum d,  X = sum e d by fma
 *
 * and add to the channel's accumulator, without rounding,
 *
 *   sum dy            += n g + E
 *   sum dy (x - mean) += X + g D
 *
 * Here mean is the upper float of the mean; step 2 subtracts mean_low sum dy. The largest |e| shows
 * how far the block lies above the format's lowest bit, which the sums do not: they may cancel.
 *
 * reduce_pivots.cl, reduce_nchw.cl and reduce_nhwc.cl follow this file and use the names that it
 * defines.
 */
#define PASS(name) backward_##name
#define PASS_ARGUMENTS \
    global const stored *restrict x, ulong x_offset, uint x_gap, \
        global const stored *restrict dy, ulong dy_offset, uint dy_gap, \
        global const float *restrict coefficients ACTIVATION_PARAMETERS
/* For any number of channels: */
#if ROW_MEAN_HIGH != 0
#error "the means are read from the beginning of the coefficients"
#endif
#define BACKWARD_TENSORS(total, row, rows) \
    {dy + dy_offset, tensor_end(dy + dy_offset, dy_gap, row, rows), dy_gap, \
     (dy_gap | x_gap) != 0 ? (row) : 0, \
     x + x_offset, tensor_end(x + x_offset, x_gap, row, rows), x_gap, \
     coefficients ACTIVATION_OF(total)}
#define PASS_TENSORS BACKWARD_TENSORS
#define PASS_FOLD(sum, largest, lanes, size) \
    {sum(lanes), sum((lanes) + (size)), sum((lanes) + 2 * (size)), largest((lanes) + 3 * (size))}
/* Sums per block; whether means are read; channels last: rows of a tile per lane, sums per lane. */
#define PASS_SUMS 4
#define PASS_READS_MEANS 1
#define PASS_TILE_STEPS 2
#define PASS_LANE_SUMS 3
#define PASS_REDUCES (FUSED_SUMS || PLAIN)
#define PASS_LIMBS1 BACKWARD_LIMBS1
#define PASS_LIMBS2 BACKWARD_LIMBS2

/* The sums of a lane, or of a block. */
typedef struct backward_sums {
    real e, d, product, largest;
} backward_sums;

static void backward_clear(private backward_sums *sums)
{
    sums->e = 0.0f;
    sums->d = 0.0f;
    sums->product = 0.0f;
    sums->largest = 0.0f;
}

static void backward_add_terms(private backward_sums *sums, real e, real d)
{
    sums->e += e;
    sums->d += d;
    sums->product = fma(e, d, sums->product);
    sums->largest = larger(sums->largest, fabs(e));
}

static void backward_keep_sums(LANES_POINTER lanes, uint size, uint index,
                               private const backward_sums *sums)
{
    lanes[index] = sums->e;
    lanes[size + index] = sums->d;
    lanes[2 * size + index] = sums->product;
}

static void backward_keep_lanes(LANES_POINTER lanes, uint size, uint index,
                                private const backward_sums *sums)
{
    backward_keep_sums(lanes, size, index, sums);
    lanes[3 * size + index] = sums->largest;
}

static void backward_prefetch(private const backward_tensors *tensors, ulong place)
{
    PREFETCH(tensors->summed + place);
    PREFETCH(tensors->x + place);
}

/* The functions below: as in sums_forward.cl. */
static void backward_add(private backward_sums *sums, private const backward_tensors *tensors,
                         ulong place, real pivot, backward_line line)
{
    backward_add_terms(sums, backward_summed(tensors, place, line) - pivot,
                       backward_centred(tensors, load_elements(tensors->x + place), line));
}

static void backward_add_edge(private backward_sums *sums, private const backward_tensors *tensors,
                              ulong place, uint i, uint n, float pivot, backward_line line)
{
    backward_add_terms(sums, backward_summed_edge(tensors, place, i, n, pivot, line) - pivot,
                       backward_centred_edge(tensors, place, i, n, line));
}

#if SUMS_AGAIN
/* As in sums_forward.cl. */
static ints backward_is_poor(uints n, private const backward_sums *sums)
{
    return is_poor_by_largest(CONVERT(float, n), sums->e, sums->largest);
}

static real backward_sum(private const backward_sums *sums)
{
    return sums->e;
}
#endif

/* Sums of a lane; the largest |e| is kept for a whole block. */
static void backward_take_lanes(private const real *lanes, uint size, uint index,
                                private backward_sums *sums)
{
    sums->e = lanes[index];
    sums->d = lanes[size + index];
    sums->product = lanes[2 * size + index];
}

static void backward_clear_lanes(private backward_sums *sums)
{
    sums->e = 0.0f;
    sums->d = 0.0f;
    sums->product = 0.0f;
}

static void backward_fold_lanes(private const real *lanes, uint size, private backward_sums *sums)
{
    sums->e = fold_column(lanes);
    sums->d = fold_column(lanes + size);
    sums->product = fold_column(lanes + 2 * size);
}

static void backward_add_row(private backward_sums *sums, private const backward_tensors *tensors,
                             ulong place, real pivot, backward_line line)
{
    backward_add_terms(sums, backward_summed_row(tensors, place, line) - pivot,
                       backward_centred(tensors, load_row(tensors->x + place, tensors->x_end),
                                        line));
}

static void backward_touch_rows(private const backward_tensors *tensors, ulong place, uint count,
                                uint width, uint stride)
{
    touch_lines(tensors->x + place, count, width, stride + tensors->x_gap);
    touch_lines(tensors->summed + place, count, width, stride + tensors->summed_gap);
}

#if DOUBLES
static void backward_add_doubles(private wides *limbs, uints n, real pivot, real e, real d,
                                 real product)
{
    private wides *second = limbs + BACKWARD_LIMBS1;
    const double16 g = convert_double16(pivot);
    add_double(limbs, BACKWARD_LOW1, 3, convert_double16(n) * g);
    add_double(limbs, BACKWARD_LOW1, 3, convert_double16(e));
    add_double(second, BACKWARD_LOW2, 3, convert_double16(product));
    add_double(second, BACKWARD_LOW2, 3, g * convert_double16(d));
}

static bool backward_fits_doubles(real pivot, real e, real d, real product)
{
    const ints low_pivot = lowest_bit(pivot);
    return !ANY((low_pivot < -BACKWARD_LOW1) | (lowest_bit(e) < -BACKWARD_LOW1) |
                (lowest_bit(product) < -BACKWARD_LOW2) |
                (low_pivot + lowest_bit(d) < -BACKWARD_LOW2));
}

/*
 * As forward_add_ones. The range is 2^-55 to 2^7 for dy, and 2^-50 to 2^7 for dy (x - mean), whose
 * lowest bit is up to 46 below its highest.
 */
static int backward_add_ones(private wides *limbs, private ints *flags,
                             private const backward_tensors *tensors, backward_line line,
                             ulong place, uint rows, uint stride)
{
    /* In units of 2^4 of limb 1, so that more rows fit. */
    const double high = SPLITTER(BACKWARD_LOW1 - LIMB_BITS - 4, 0);
    const double low = SPLITTER(BACKWARD_LOW1, 0);
    uwides first_high = 0, first_low = 0, second_high = 0, second_low = 0;
    ints stray = 0, some = 0;
    for (uint i = 0; i < rows; ++i) {
        const ulong at = place + (ulong)i * stride;
        backward_tensors own = *tensors;
        backward_skip(&own, i);
        const real g = backward_summed_row(&own, at, line);
        const real d = backward_centred(&own, load_row(own.x + at, own.x_end), line);
        const double16 wide_g = convert_double16(g), wide_d = convert_double16(d);
        const double16 sum1 = wide_g + high, sum2 = fma(wide_g, wide_d, high);
        first_high += as_ulong16(sum1);
        first_low += as_ulong16((wide_g - (sum1 - high)) + low);
        second_high += as_ulong16(sum2);
        second_low += as_ulong16(fma(wide_g, wide_d, -(sum2 - high)) + low);
        const uints size_g = magnitude_of(g), size_d = magnitude_of(d);
        /*
         * A float's bits approximate its logarithm, so that this is half of the product's, at most
         * one exponent too low.
         */
        const uints size = (size_g >> 1) + (size_d >> 1);
        stray |= strays(size_g, -55, 7) | strays(size_d, -100, 20) |
                 ((size - (205u << 22) >= (55u << 22)) & (size_g != 0) & (size_d != 0));
        some |= g != 0.0f;
    }
    if (any(stray))
        return 0;
    /* The splitters were added `rows` times. */
    const ulong highs = rows * as_ulong(high), lows = rows * as_ulong(low);
    add_integers(limbs, 0, as_long16(first_low - lows));
    add_integers(limbs + 1, 4, as_long16(first_high - highs));
    add_integers(limbs + BACKWARD_LIMBS1, 0, as_long16(second_low - lows));
    add_integers(limbs + BACKWARD_LIMBS1 + 1, 4, as_long16(second_high - highs));
    *flags |= some & FLAG_CLEAR;
    return 1;
}
#endif

/* As forward_add_block. */
static ints backward_add_block(private wides *limbs, private ints *flags, uints n, real pivot,
                               real mean, private const backward_sums *sums)
{
    real e = sums->e, d = sums->d, product = sums->product, largest = sums->largest;
    /* If the mean is not finite, the second sum is NaN anyway: no reason to repeat the channel. */
    const ints lost = reaches(mean, INFINITY);
    d = zero_where(d, lost);
    product = zero_where(product, lost);
    const ints over = reaches(pivot, BACKWARD_LIMIT_PIVOT) | reaches(e, BACKWARD_LIMIT_SUM) |
                      reaches(product, BACKWARD_LIMIT_SECOND) |
                      reaches(pivot * d, BACKWARD_LIMIT_SECOND);
    ints unknown = 0;
    if (ANY(over)) {
        unknown = reaches(pivot, INFINITY);
#if WIDE
        e = zero_where(e, unknown | reaches(e, INFINITY));
        pivot = zero_where(pivot, unknown);
#else
        unknown |= reaches(e, INFINITY);
        e = zero_where(e, over);
        pivot = zero_where(pivot, over);
#endif
        d = zero_where(d, over);
        product = zero_where(product, over);
        largest = zero_where(largest, over);
        *flags |= select(over & FLAG_OVERFLOW, (ints)0, unknown);
    }
    const ints clear = reaches(pivot, BACKWARD_CLEAR) | reaches(largest, BACKWARD_CLEAR);
    const ints some = MASK(pivot != 0.0f) | MASK(largest != 0.0f);
    *flags |= select(some & FLAG_FAINT, (ints)FLAG_CLEAR, clear);
#if DOUBLES
    if (backward_fits_doubles(pivot, e, d, product)) {
        backward_add_doubles(limbs, n, pivot, e, d, product);
        return unknown;
    }
#endif
    private wides *second = limbs + BACKWARD_LIMBS1;
    add_term(limbs, BACKWARD_TERM_LIMBS1, BACKWARD_LOW1, n, pivot);
    add_term(limbs, BACKWARD_TERM_LIMBS1, BACKWARD_LOW1, 1, e);
    add_term(second, BACKWARD_TERM_LIMBS2, BACKWARD_LOW2, 1, product);
    add_product(second, BACKWARD_TERM_LIMBS2, BACKWARD_LOW2, 1, pivot, d);
    return unknown;
}
