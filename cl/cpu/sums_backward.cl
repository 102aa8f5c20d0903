/*
 * Step 1 of the backward pass: x, dy, mean -> sum dy and sum dy (x - mean). Of a block of n elements the kernels sum,
 * with the pivot g = the mean of the first LANES of dy, e = dy - g and d = x - mean,
 *
 *   E = sum e,  D = sum d,  X = sum e d by fma
 *
 * and add to the channel's accumulator, without rounding,
 *
 *   sum dy            += n g + E
 *   sum dy (x - mean) += X + g D
 *
 * Here mean is the upper float of the mean; step 2 subtracts mean_low sum dy.
 *
 * batches.cl lists the names that the reductions behind this file use.
 */
#define PASS_KERNEL(name) backward_##name
#define PASS_SUMS 4
#define PASS_READS_MEANS 1
#define PASS_TILE_STEPS 2
#define PASS_LANE_SUMS 3
#define PASS_DIGITS1 2
#define PASS_DIGITS2 3

/* The sums of a lane, or of a block. */
typedef struct pass_sums {
    real e, d, product, largest;
} pass_sums;

/* Clears those of a lane; the largest |e| is kept for a whole block. */
static void pass_clear_lanes(private pass_sums *sums)
{
    sums->e = 0.0f;
    sums->d = 0.0f;
    sums->product = 0.0f;
}

static void pass_clear(private pass_sums *sums)
{
    pass_clear_lanes(sums);
    sums->largest = 0.0f;
}

static void add_terms(private pass_sums *sums, real e, real d)
{
    sums->e += e;
    sums->d += d;
    sums->product = fma(e, d, sums->product);
    sums->largest = larger(sums->largest, fabs(e));
}

static void pass_keep_sums(private real *lanes, uint size, uint index,
                           private const pass_sums *sums)
{
    lanes[index] = sums->e;
    lanes[size + index] = sums->d;
    lanes[2 * size + index] = sums->product;
}

static void pass_keep_lanes(private real *lanes, uint size, uint index,
                            private const pass_sums *sums)
{
    pass_keep_sums(lanes, size, index, sums);
    lanes[3 * size + index] = sums->largest;
}

static void pass_fold_batch(private real *lanes, ints none, private pass_sums *sums)
{
    sums->e = zero_where(fold_batch(lanes), none);
    sums->d = zero_where(fold_batch(lanes + LANES_SIZE), none);
    sums->product = zero_where(fold_batch(lanes + 2 * LANES_SIZE), none);
    sums->largest = zero_where(largest_of_batch(lanes + 3 * LANES_SIZE), none);
}

static void pass_prefetch(private const pass_tensors *tensors, ulong place)
{
    PREFETCH(tensors->summed + place);
    PREFETCH(tensors->x + place);
}

/* The functions below: as in sums_forward.cl. */
static void pass_add(private pass_sums *sums, private const pass_tensors *tensors,
                     ulong place, real pivot, pass_line line)
{
    add_terms(sums, pass_summed(tensors, place, line) - pivot,
              centred(tensors, load_elements(tensors->x + place), line));
}

static void pass_add_edge(private pass_sums *sums, private const pass_tensors *tensors,
                          ulong place, uint i, uint n, float pivot, pass_line line)
{
    add_terms(sums, pass_summed_edge(tensors, place, i, n, pivot, line) - pivot,
              centred_edge(tensors, place, i, n, line));
}

static ints pass_is_poor(uints n, private const pass_sums *sums)
{
    return is_poor_by_largest(CONVERT(float, n), sums->e, sums->largest);
}

static real pass_sum(private const pass_sums *sums)
{
    return sums->e;
}

static void pass_take_lanes(private const real *lanes, uint size, uint index,
                            private pass_sums *sums)
{
    sums->e = lanes[index];
    sums->d = lanes[size + index];
    sums->product = lanes[2 * size + index];
}

static void pass_fold_lanes(private const real *lanes, uint size, private pass_sums *sums)
{
    sums->e = fold_column(lanes);
    sums->d = fold_column(lanes + size);
    sums->product = fold_column(lanes + 2 * size);
}

static void pass_add_row(private pass_sums *sums, private const pass_tensors *tensors,
                         ulong place, real pivot, pass_line line)
{
    add_terms(sums, pass_summed_row(tensors, place, line) - pivot,
              centred(tensors, load_row(tensors->x + place, tensors->x_end), line));
}

static void pass_touch_rows(private const pass_tensors *tensors, ulong place, uint count,
                            uint width, uint stride)
{
    touch_lines(tensors->x + place, count, width, stride + tensors->x_gap);
    touch_lines(tensors->summed + place, count, width, stride + tensors->summed_gap);
}

#if SUMS_DOUBLES
static void add_doubles(private wides *limbs, uints n, real pivot, real e, real d, real product)
{
    private wides *second = limbs + PASS_LIMBS1;
    const double16 g = convert_double16(pivot);
    add_double(limbs, PASS_LOW1, 3, convert_double16(n) * g);
    add_double(limbs, PASS_LOW1, 3, convert_double16(e));
    add_double(second, PASS_LOW2, 3, convert_double16(product));
    add_double(second, PASS_LOW2, 3, g * convert_double16(d));
}

static bool fits_doubles(real pivot, real e, real d, real product)
{
    const ints low_pivot = lowest_bit(pivot);
    return !ANY((low_pivot < -PASS_LOW1) | (lowest_bit(e) < -PASS_LOW1) |
                (lowest_bit(product) < -PASS_LOW2) |
                (low_pivot + lowest_bit(d) < -PASS_LOW2));
}

/*
 * As in sums_forward.cl. The range is 2^-55 to 2^7 for dy, and 2^-49 to 2^7 for dy (x - mean), whose lowest bit is up
 * to 47 below its highest.
 */
static bool pass_add_ones(private wides *limbs, private const ones_rows *rows)
{
    /* In units of 2^4 of limb 1, so that more rows fit. */
    const double16 high = SPLITTER(PASS_LOW1 - LIMB_BITS - 4, 0), low = SPLITTER(PASS_LOW1, 0);
    const uint from = 205u << 22, to = 260u << 22;
    uwides first_high = 0, first_low = 0, second_high = 0, second_low = 0;
    ints stray = 0;
    for (uint i = 0; i < rows->count; ++i) {
        const ulong at = rows->place + (ulong)i * rows->stride;
        pass_tensors own = *rows->tensors;
        pass_skip(&own, i);
        const real g = pass_summed_row(&own, at, rows->line);
        const real d = centred(&own, load_row(own.x + at, own.x_end), rows->line);
        const uints size_g = magnitude_of(g), size_d = magnitude_of(d);
        /*
         * A float's bits approximate its logarithm, so that this is half of the product's, at most
         * one exponent too low.
         */
        const uints size = (size_g >> 1) + (size_d >> 1);
        stray |= strays(size_g, -55, 7) | strays(size_d, -100, 20) |
                 ((size - from >= to - from) & (size_g != 0) & (size_d != 0)) |
                 ((size_g < AS(uint, rows->faint)) & (size_g != 0));
        const double16 wide_g = convert_double16(g), wide_d = convert_double16(d);
        const double16 sum1 = wide_g + high, sum2 = fma(wide_g, wide_d, high);
        first_high += as_ulong16(sum1);
        first_low += as_ulong16((wide_g - (sum1 - high)) + low);
        second_high += as_ulong16(sum2);
        second_low += as_ulong16(fma(wide_g, wide_d, -(sum2 - high)) + low);
        if ((i & 15) == 0 && ANY(stray & rows->present))
            return false;
    }
    if (ANY(stray & rows->present))
        return false;
    private wides *second = limbs + PASS_LIMBS1;
    /* Without the splitters, which were added as often. */
    const uwides highs = rows->count * as_ulong16(high), lows = rows->count * as_ulong16(low);
    limbs[0] += as_long16(first_low - lows);
    limbs[1] += as_long16(first_high - highs) << 4;
    second[0] += as_long16(second_low - lows);
    second[1] += as_long16(second_high - highs) << 4;
    return true;
}

static void pass_terms(private ones_terms *t, private const ones_rows *rows, uint i)
{
    const ulong at = rows->place + (ulong)i * rows->stride;
    pass_tensors own = *rows->tensors;
    pass_skip(&own, i);
    const real g = pass_summed_row(&own, at, rows->line);
    const real d = centred(&own, load_row(own.x + at, own.x_end), rows->line);
    t->out = misses(1, g, 0.0f, d, 0.0f, 0.0f, rows->faint);
    t->odd = strays(magnitude_of(g), -126, 128) | strays(magnitude_of(d), -126, 128) |
             reaches(g * d, INFINITY);
    t->first = convert_double16(g);
    t->second = t->first * convert_double16(d);
}
#endif

/* The functions below: as in sums_forward.cl. */
static ints pass_add_block(private wides *limbs, uints n, real pivot, real mean, uint thin,
                           real faint, private const pass_sums *sums)
{
    /* If the mean is not finite, the second sum is NaN anyway. */
    const ints lost = reaches(mean, INFINITY);
    real e = sums->e, d = zero_where(sums->d, lost), product = zero_where(sums->product, lost);
    const ints out = misses(n, pivot, e, d, product, sums->largest, faint);
    if (ANY(out)) {
        pivot = zero_where(pivot, out);
        e = zero_where(e, out);
        d = zero_where(d, out);
        product = zero_where(product, out);
        /* By magnitudes, as a device may flush denormals. */
        if (!ANY((magnitude_of(pivot) | magnitude_of(e) | magnitude_of(product)) != 0))
            return out;
    }
#if SUMS_DOUBLES
    if (fits_doubles(pivot, e, d, product)) {
        add_doubles(limbs, n, pivot, e, d, product);
        return out;
    }
#endif
    private wides *second = limbs + PASS_LIMBS1;
    add_term(limbs, PASS_TERM_LIMBS1, PASS_LOW1, n, pivot);
    add_term(limbs, PASS_TERM_LIMBS1, PASS_LOW1, 1, e);
    add_term(second, PASS_TERM_LIMBS2, PASS_LOW2, 1, product);
    add_product(second, PASS_TERM_LIMBS2, PASS_LOW2, 1, pivot, d);
    return out;
}

static ints pass_add_wide(private wides *limbs, uints n, real pivot, ints none,
                          private const pass_sums *sums)
{
    return add_block_wide(limbs, n, zero_where(pivot, none), zero_where(sums->e, none),
                          zero_where(sums->d, none), zero_where(sums->product, none));
}
