/*
 * From a channel's accumulator to mean, variance and the sums of the gradients: what
 * src/exact/statistics.c computes on the host, with the same bits. One work-item does a channel.
 *
 * Sums are integers of 64-bit words, least significant first, and are rounded to a double once; the
 * rest is +, -, x, / and sqrt of doubles, which cl_khr_fp64 has rounded correctly. In the narrow
 * formats a sum is a magnitude of three words and n^2 times the variance has four: enough for the
 * blocks of 64 replicas. The wide format has words for every float.
 */
#if COMBINES

/* 2^exponent, far from the ends of a double's range. */
static double power_of_two(int exponent)
{
    return as_double((ulong)(exponent + 1023) << 52);
}

/*
 * (high 2^64 + low + sticky) 2^exponent, rounded once to nearest, ties to even: 63 bits, the lowest
 * of them a 1 for anything below it. high is 0 only if all is.
 */
static double round_words(ulong high, ulong low, ulong sticky, int exponent)
{
    const ulong shift = clz(high) & 63;
    const ulong head = high << shift | (low >> 1) >> (63 - shift);
    const ulong rest = (head & 1) | (low << shift) | sticky;
    const long rounded = (long)(head >> 1 | (ulong)(rest != 0));
    return convert_double(rounded) * power_of_two(exponent + 65 - (int)shift);
}

/* Limbs of LIMB_BITS signed bits, which may have more, as an integer's sign and magnitude. */
#if WIDE
#define SUM_WORDS 6    /* 10 limbs, of 2^35 blocks */
#define SQUARE_WORDS 8 /* the second sum */
#define VARIANCE_WORDS 12

static uint words_of(private const long *limbs, int count, private ulong *words, int size)
{
    long above = 0;
    for (int i = 0; i < size; ++i)
        words[i] = 0;
    for (int k = 0; k < count; ++k) {
        above += limbs[k];
        const int at = LIMB_BITS * k, word = at >> 6, shift = at & 63;
        const ulong digit = (ulong)(above & LIMB_MASK);
        above >>= LIMB_BITS;
        words[word] |= digit << shift;
        if (shift > 64 - LIMB_BITS && word + 1 < size)
            words[word + 1] |= digit >> (64 - shift);
    }
    /* What remains above, sign included, fills the rest. */
    for (int at = LIMB_BITS * count, i = at >> 6; i < size; ++i) {
        const int shift = i == at >> 6 ? at & 63 : 0;
        words[i] |= (ulong)above << shift;
        above >>= shift == 0 ? 63 : 64 - shift;
    }
    const ulong sign = above < 0 ? ~0UL : 0UL;
    ulong carry = sign & 1;
    for (int i = 0; i < size; ++i) {
        words[i] = (words[i] ^ sign) + carry;
        carry &= words[i] == 0;
    }
    return (uint)(sign & 1);
}

/* The words' value times 2^exponent, rounded once. */
static double double_of(private const ulong *words, int size, int exponent)
{
    int top = size - 1;
    while (top > 0 && words[top] == 0)
        --top;
    ulong sticky = 0;
    for (int i = 0; i < top - 1; ++i)
        sticky |= words[i];
    return round_words(words[top], top > 0 ? words[top - 1] : 0, sticky, exponent + 64 * (top - 1));
}

/* Adds a b 2^(64 place) to words. */
static void add_multiple(private ulong *words, int size, int place, ulong a, ulong b)
{
    ulong low = a * b, high = mul_hi(a, b);
    words[place] += low;
    ulong carry = words[place] < low;
    for (int i = place + 1; i < size; ++i) {
        words[i] += carry;
        carry = words[i] < carry;
        words[i] += high;
        carry += words[i] < high;
        high = 0;
    }
}

/* n^2 times the variance, (n squares 2^shift - sum^2) 2^exponent, rounded once; 0 if negative. */
static double n2_variance(private const ulong *sum, private const ulong *squares, uint negative,
                          ulong n, int shift, int exponent)
{
    ulong words[VARIANCE_WORDS], square[VARIANCE_WORDS];
    for (int i = 0; i < VARIANCE_WORDS; ++i)
        words[i] = square[i] = 0;
    for (int i = 0; i < SQUARE_WORDS; ++i)
        add_multiple(words, VARIANCE_WORDS, i, squares[i], n);
    const int whole = shift >> 6, bits = shift & 63;
    for (int i = VARIANCE_WORDS - 1; i >= 0; --i) {
        const ulong at = i >= whole ? words[i - whole] : 0;
        const ulong below = i > whole ? words[i - whole - 1] : 0;
        words[i] = at << bits | (below >> 1) >> (63 - bits);
    }
    for (int i = 0; i < SUM_WORDS; ++i)
        for (int j = 0; j < SUM_WORDS; ++j)
            add_multiple(square, VARIANCE_WORDS, i + j, sum[i], sum[j]);
    ulong borrow = 0;
    for (int i = 0; i < VARIANCE_WORDS; ++i) {
        const ulong less = words[i] - square[i];
        const ulong borrowed = words[i] < square[i] || less < borrow;
        words[i] = less - borrow;
        borrow = borrowed;
    }
    return borrow || negative ? 0.0 : double_of(words, VARIANCE_WORDS, exponent);
}

#else
#define SUM_WORDS 3
#define SQUARE_WORDS 3

/* Three or four limbs. */
static uint words_of(private const long *limbs, int count, private ulong *words, int size)
{
    const long second = limbs[1] + (limbs[0] >> LIMB_BITS);
    const long third = limbs[2] + (second >> LIMB_BITS);
    const ulong digit0 = (ulong)(limbs[0] & LIMB_MASK), digit1 = (ulong)(second & LIMB_MASK);
    ulong w0 = digit0 | digit1 << 48, w1 = digit1 >> 16 | (ulong)third << 32;
    ulong w2 = (ulong)(third >> 32);
    if (count == 4) {
        const long fourth = limbs[3] + (third >> LIMB_BITS);
        w1 = digit1 >> 16 | (ulong)(third & LIMB_MASK) << 32;
        w2 = (ulong)(third & LIMB_MASK) >> 32 | (ulong)fourth << 16;
    }
    const ulong sign = (ulong)((long)w2 >> 63);
    w0 = (w0 ^ sign) - sign;
    const ulong carry0 = w0 == 0 ? sign & 1 : 0;
    w1 = (w1 ^ sign) + carry0;
    const ulong carry1 = w1 == 0 ? carry0 : 0;
    words[0] = w0;
    words[1] = w1;
    words[2] = (w2 ^ sign) + carry1;
    return (uint)(sign & 1);
}

/* Of four words. */
static double round_four(ulong w0, ulong w1, ulong w2, ulong w3, int exponent)
{
    const bool has3 = w3 != 0, has2 = (w3 | w2) != 0, has1 = (w3 | w2 | w1) != 0;
    const ulong high = has3 ? w3 : has2 ? w2 : has1 ? w1 : w0;
    const ulong low = has3 ? w2 : has2 ? w1 : has1 ? w0 : 0;
    const ulong sticky = has3 ? w1 | w0 : has2 ? w0 : 0;
    return round_words(high, low, sticky, exponent + (has3 ? 128 : has2 ? 64 : has1 ? 0 : -64));
}

static double double_of(private const ulong *words, int size, int exponent)
{
    return round_four(words[0], words[1], words[2], 0, exponent);
}

/* n^2 times the variance, (n squares 2^shift - sum^2) 2^exponent, rounded once; 0 if negative. */
static double n2_variance(private const ulong *sum, private const ulong *squares, uint negative,
                          ulong n, int shift, int exponent)
{
    /* The words of n squares, ... */
    const ulong high0 = mul_hi(squares[0], n), low1 = squares[1] * n;
    const ulong high1 = mul_hi(squares[1], n), low2 = squares[2] * n;
    const ulong p0 = squares[0] * n, p1 = low1 + high0, carry1 = p1 < low1;
    const ulong part2 = low2 + high1, p2 = part2 + carry1;
    const ulong p3 = mul_hi(squares[2], n) + (part2 < low2) + (p2 < carry1);
    const ulong a0 = p0 << shift, a1 = p1 << shift | p0 >> (64 - shift);
    const ulong a2 = p2 << shift | p1 >> (64 - shift), a3 = p3 << shift | p2 >> (64 - shift);
    /* ... those of the square of a sum of two, ... */
    const ulong cross_low = sum[0] * sum[1], cross_high = mul_hi(sum[0], sum[1]);
    const ulong twice0 = cross_low << 1, twice1 = cross_high << 1 | cross_low >> 63;
    const ulong q0 = sum[0] * sum[0], q1 = mul_hi(sum[0], sum[0]) + twice0;
    const ulong top_low = sum[1] * sum[1], part = top_low + twice1;
    const ulong q2 = part + (q1 < twice0);
    const ulong q3 = mul_hi(sum[1], sum[1]) + (cross_high >> 63) + (part < top_low) + (q2 < part);
    /* ... and the difference. */
    const ulong r0 = a0 - q0, less1 = a1 - q1, r1 = less1 - (a0 < q0);
    const ulong borrow1 = (a1 < q1) + (less1 < (ulong)(a0 < q0));
    const ulong less2 = a2 - q2, r2 = less2 - borrow1;
    const ulong borrow2 = (a2 < q2) + (less2 < borrow1);
    const ulong less3 = a3 - q3, r3 = less3 - borrow2;
    const bool below = a3 < q3 || less3 < borrow2;
    const double value = round_four(r0, r1, r2, r3, exponent);
    return below || negative ? 0.0 : value;
}
#endif

/* The value of the first sum where it is not finite; 0 where it is. */
static double special_sum(int flags)
{
    const int infinities = flags & (FLAG_PLUS_INF | FLAG_MINUS_INF);
    return infinities == (FLAG_PLUS_INF | FLAG_MINUS_INF) ? (double)NAN
           : infinities == FLAG_PLUS_INF                  ? (double)INFINITY
           : infinities == FLAG_MINUS_INF                 ? -(double)INFINITY
                                                          : 0.0;
}

/*
 * Mean and biased variance of `count` > 0 values from FORWARD_LIMBS1 + FORWARD_LIMBS2 limbs and the
 * flags: src/exact/statistics.c has the reasons.
 */
static void moments_of(private const long *limbs, int flags, ulong count, private double *mean,
                       private double *var)
{
    const double n = convert_double(count), not_finite = special_sum(flags);
    ulong sum[SUM_WORDS], squares[SQUARE_WORDS];
    const uint minus = words_of(limbs, FORWARD_LIMBS1, sum, SUM_WORDS);
    const uint negative = words_of(limbs + FORWARD_LIMBS1, FORWARD_LIMBS2, squares, SQUARE_WORDS);
    const double total = double_of(sum, SUM_WORDS, -FORWARD_LOW1);
    const double of_squares = n2_variance(sum, squares, negative, count,
                                          2 * FORWARD_LOW1 - FORWARD_LOW2, -2 * FORWARD_LOW1);
    const double v = divide_exactly(divide_exactly(of_squares, n), n);
    const bool lost = (flags & FLAG_OVERFLOW) || v > (double)FLT_MAX;
    *mean = not_finite != 0.0 ? not_finite : divide_exactly(minus ? -total : total, n);
    *var = not_finite != 0.0 ? (double)NAN : lost ? (double)INFINITY : v;
}

/* 1 / sqrt of the variance, eps added or as a lower bound; a NaN stays one. */
static double invstd_of(double var, double eps, uint clamps)
{
    const double added = clamps ? (var < eps ? eps : var) : var + eps;
    return divide_exactly(1.0, root(added));
}

/* A double as the sum of two floats; Inf - Inf would make a NaN of a mean that is Inf. */
static float upper_float(double value)
{
    return convert_float(value);
}

static float lower_float(double value)
{
    const float high = upper_float(value);
    return isfinite(high) ? convert_float(value - convert_double(high)) : 0.0f;
}

/* sum dy and sum dy (x - mean) from BACKWARD_LIMBS1 + BACKWARD_LIMBS2 limbs and the flags. */
static void gradient_sums_of(private const long *limbs, int flags, double mean, private double *dy,
                             private double *dy_xmu)
{
    const double not_finite = special_sum(flags);
    ulong sum[SUM_WORDS], product[SQUARE_WORDS];
    const uint minus = words_of(limbs, BACKWARD_LIMBS1, sum, SUM_WORDS);
    const uint negative = words_of(limbs + BACKWARD_LIMBS1, BACKWARD_LIMBS2, product, SQUARE_WORDS);
    const double total = double_of(sum, SUM_WORDS, -BACKWARD_LOW1);
    const double products = double_of(product, SQUARE_WORDS, -BACKWARD_LOW2);
    const double signed_total = minus ? -total : total;
    /* What d = x - mean left out, in full: the kernels' mean_low has too few bits for a sum. */
    const double mean_low = mean - convert_double(convert_float(mean));
    const double left_out = mean_low * signed_total;
    const double raw = negative ? -products : products;
    *dy = not_finite != 0.0 ? not_finite : signed_total;
    *dy_xmu = not_finite != 0.0 || (flags & FLAG_OVERFLOW) ? (double)NAN : raw - left_out;
}

/*
 * Was the narrow format too small? All blocks near its bottom, or one above its top, or a spread too
 * thin for it (invstd above 2^24 forward, 2^12 backward).
 */
static uint needs_wide(int flags, uint thin)
{
    const uint misses = (flags & FLAG_OVERFLOW) != 0 ||
                        ((flags & FLAG_FAINT) != 0 && (flags & FLAG_CLEAR) == 0) ||
                        (thin != 0 && (flags & FLAG_CLEAR) != 0);
    return misses && (flags & (FLAG_PLUS_INF | FLAG_MINUS_INF)) == 0;
}
#endif
