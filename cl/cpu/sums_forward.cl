/*
 * Step 1 of the forward pass: x -> sum x and sum x^2. Of a block of n elements the kernels sum,
 * with the pivot p = the mean of its first LANES elements, and d = x - p,
 *
 *   A = sum d,  Q = sum d^2 by fma
 *
 * and add to the channel's accumulator, without rounding,
 *
 *   sum x   += n p + A
 *   sum x^2 += n p^2 + 2 p A + Q
 *
 * with the same A in both, so that its rounding error nearly cancels in the variance. doc/order.md
 * explains why a pivot from so few elements suffices.
 *
 * batches.cl lists the names that the reductions behind this file use.
 */
#define PASS_KERNEL(name) forward_##name
#define PASS_SUMS 2
#define PASS_READS_MEANS 0
#define PASS_TILE_STEPS 4
#define PASS_LANE_SUMS 2
#define PASS_DIGITS1 1
#define PASS_DIGITS2 2

/* The sums of a lane, or of a block. Never a return value, which Oclgrind cannot run. */
typedef struct pass_sums {
    real a, q;
} pass_sums;

static void pass_clear(private pass_sums *sums)
{
    sums->a = 0.0f;
    sums->q = 0.0f;
}

static void add_terms(private pass_sums *sums, real d)
{
    sums->a += d;
    sums->q = fma(d, d, sums->q);
}

static void pass_keep_sums(private real *lanes, uint size, uint index,
                           private const pass_sums *sums)
{
    lanes[index] = sums->a;
    lanes[size + index] = sums->q;
}

/* The backward pass has one sum more for a whole block. */
#define pass_keep_lanes pass_keep_sums
#define pass_clear_lanes pass_clear

/* Folds the lanes of a batch; 0 for the components under the mask, which have no block. */
static void pass_fold_batch(private real *lanes, ints none, private pass_sums *sums)
{
    sums->a = zero_where(fold_batch(lanes), none);
    sums->q = zero_where(fold_batch(lanes + LANES_SIZE), none);
}

static void pass_prefetch(private const pass_tensors *tensors, ulong place)
{
    PREFETCH(tensors->summed + place);
}

/* Adds the vector at `place`. */
static void pass_add(private pass_sums *sums, private const pass_tensors *tensors,
                     ulong place, real pivot, pass_line line)
{
    add_terms(sums, pass_summed(tensors, place, line) - pivot);
}

/* Adds the elements from i on of the block of n at `place`, less than a vector. */
static void pass_add_edge(private pass_sums *sums, private const pass_tensors *tensors,
                          ulong place, uint i, uint n, float pivot, pass_line line)
{
    add_terms(sums, pass_summed_edge(tensors, place, i, n, pivot, line) - pivot);
}

/* The blocks that are to be summed once more: pivots.cl. */
static ints pass_is_poor(uints n, private const pass_sums *sums)
{
    return is_poor_by_squares(CONVERT(float, n), sums->a, sums->q);
}

static real pass_sum(private const pass_sums *sums)
{
    return sums->a;
}

/* Sums of a lane, beside those of a whole block that need none. */
static void pass_take_lanes(private const real *lanes, uint size, uint index,
                            private pass_sums *sums)
{
    sums->a = lanes[index];
    sums->q = lanes[size + index];
}

static void pass_fold_lanes(private const real *lanes, uint size, private pass_sums *sums)
{
    sums->a = fold_column(lanes);
    sums->q = fold_column(lanes + size);
}

/* Adds WIDTH channels of a row. */
static void pass_add_row(private pass_sums *sums, private const pass_tensors *tensors,
                         ulong place, real pivot, pass_line line)
{
    add_terms(sums, pass_summed_row(tensors, place, line) - pivot);
}

static void pass_touch_rows(private const pass_tensors *tensors, ulong place, uint count,
                            uint width, uint stride)
{
    touch_lines(tensors->summed + place, count, width, stride + tensors->summed_gap);
}

#if SUMS_DOUBLES
static void add_doubles(private wides *limbs, uints n, real pivot, real a, real q)
{
    private wides *second = limbs + PASS_LIMBS1;
    const double16 p = convert_double16(pivot), wide_a = convert_double16(a);
    const double16 np = convert_double16(n) * p, square = np * p;
    add_double(limbs, PASS_LOW1, 2, np);
    add_double(limbs, PASS_LOW1, 2, wide_a);
    add_double(second, PASS_LOW2, 3, square);
    /* n p^2 may have 56 bits: what `square` lost. */
    add_double(second, PASS_LOW2, 2, fma(np, p, -square));
    add_double(second, PASS_LOW2, 3, 2 * p * wide_a);
    add_double(second, PASS_LOW2, 3, convert_double16(q));
}

/* Whether all bits of all terms lie within the format. */
static bool fits_doubles(real pivot, real a, real q)
{
    const ints low_pivot = lowest_bit(pivot), low_a = lowest_bit(a);
    return !ANY((2 * low_pivot < -PASS_LOW2) | (low_a < -PASS_LOW1) |
                (low_pivot + low_a + 1 < -PASS_LOW2) | (lowest_bit(q) < -PASS_LOW2));
}

/*
 * Planes of one element: adds the rows, if all elements are 0 or have a magnitude in 2^-17 to 2^7, which the narrow
 * format does not cut. ONES_AT_ONCE of them add up exactly in doubles: x in units of 2^-40, and each limb of x^2 in its
 * own unit. Looks early, and now and then, whether this is so.
 */
static bool pass_add_ones(private wides *limbs, private const ones_rows *rows)
{
    private const pass_tensors *tensors = rows->tensors;
    const double16 splitter = SPLITTER(PASS_LOW2, 1);
    double16 x_sum = 0, high_sum = 0, low_sum = 0;
    ints stray = 0;
    for (uint i = 0; i < rows->count; ++i) {
        const ulong at = rows->place + i * (rows->stride + tensors->summed_gap);
        const real x = load_row(tensors->summed + at, tensors->summed_end);
        const double16 wide_x = convert_double16(x);
        const double16 high = fma(wide_x, wide_x, splitter) - splitter;
        stray |= strays(magnitude_of(x), -17, 7);
        x_sum += wide_x;
        high_sum += high;
        low_sum += fma(wide_x, wide_x, -high);
        if ((i & 15) == 0 && ANY(stray & rows->present))
            return false;
    }
    if (ANY(stray & rows->present))
        return false;
    private wides *second = limbs + PASS_LIMBS1;
    const wides x_units = convert_long16(x_sum * 0x1p40);
    limbs[0] += (x_units << (PASS_LOW1 - 40)) & LIMB_MASK;
    limbs[1] += x_units >> (LIMB_BITS + 40 - PASS_LOW1);
    second[0] += convert_long16(low_sum * power_of_two(PASS_LOW2));
    second[1] += convert_long16(high_sum * power_of_two(PASS_LOW2 - LIMB_BITS));
    return true;
}

/* Planes of one element: the terms of row i. */
static void pass_terms(private ones_terms *t, private const ones_rows *rows, uint i)
{
    pass_tensors own = *rows->tensors;
    pass_skip(&own, i);
    const real x = pass_summed_row(&own, rows->place + (ulong)i * rows->stride, rows->line);
    t->out = misses(1, x, 0.0f, 0.0f, rows->thin, rows->faint);
    t->odd = strays(magnitude_of(x), -126, 128);
    t->first = convert_double16(x);
    t->second = t->first * t->first;
}
#endif

/*
 * Adds a block to each component; n is 0 for components without one. Blocks that do not fit the
 * narrow format are left out. Returns their mask.
 */
static ints pass_add_block(private wides *limbs, uints n, real pivot, real mean, uint thin,
                           real faint, private const pass_sums *sums)
{
    real a = sums->a, q = sums->q;
    const ints out = misses(n, pivot, a, q, thin, faint);
    if (ANY(out)) {
        pivot = zero_where(pivot, out);
        a = zero_where(a, out);
        q = zero_where(q, out);
        /* By magnitudes, as a device may flush denormals. */
        if (!ANY((magnitude_of(pivot) | magnitude_of(a) | magnitude_of(q)) != 0))
            return out;
    }
#if SUMS_DOUBLES
    if (fits_doubles(pivot, a, q)) {
        add_doubles(limbs, n, pivot, a, q);
        return out;
    }
#endif
    private wides *second = limbs + PASS_LIMBS1;
    add_term(limbs, PASS_TERM_LIMBS1, PASS_LOW1, n, pivot);
    add_term(limbs, PASS_TERM_LIMBS1, PASS_LOW1, 1, a);
    add_product(second, PASS_TERM_LIMBS2, PASS_LOW2, n, pivot, pivot);
    add_product(second, PASS_TERM_LIMBS2, PASS_LOW2, 2, pivot, a);
    add_term(second, PASS_TERM_LIMBS2, PASS_LOW2, 1, q);
    return out;
}

/* Adds the blocks that are not under the mask to wide limbs, and returns flags. */
static ints pass_add_wide(private wides *limbs, uints n, real pivot, ints none,
                          private const pass_sums *sums)
{
    return add_block_wide(limbs, n, zero_where(pivot, none), zero_where(sums->a, none),
                          zero_where(sums->q, none), 0.0f);
}
