/*
 * Mean, variance and the sums of the gradients from a channel's accumulator, with the same bits as
 * src/exact/statistics.c computes on the host. ABREAST channels at once (channels.cl).
 *
 * Sums are integers of 64-bit words, least significant first, and are rounded to a double once. The
 * rest is +, -, x, / and sqrt of doubles, which cl_khr_fp64 rounds correctly. In the narrow formats
 * the magnitude of a sum has three words, and n^2 times the variance four: enough for the blocks of
 * 64 replicas. In the wide format there are words for all floats.
 */
#if COMBINES

/* The NaN of C on the host; OpenCL's NAN may have other bits. */
#define QUIET_NAN as_double(0x7ff8000000000000UL)

static words choose(words condition, words a, words b)
{
    return (a & condition) | (b & ~condition);
}

static doubles choose_double(words condition, doubles a, doubles b)
{
    return AS_CHANNELS(double, choose(condition, AS_CHANNELS(ulong, a), AS_CHANNELS(ulong, b)));
}

/* The high half of a b. */
static words high_product(words a, words b)
{
#if ABREAST > 1
    /* In halves: CPUs have vector products of 32 bits only. */
    const words a0 = a & 0xffffffffUL, a1 = a >> 32, b0 = b & 0xffffffffUL, b1 = b >> 32;
    const words middle = a1 * b0 + ((a0 * b0) >> 32), other = a0 * b1 + (middle & 0xffffffffUL);
    return a1 * b1 + (middle >> 32) + (other >> 32);
#else
    return mul_hi(a, b);
#endif
}

/* 2^exponent, which must be a normal double. */
static doubles power_of_two(signed_words exponent)
{
    return AS_CHANNELS(double, (exponent + 1023) << 52);
}

/*
 * The bits that a left shift by 0 to 63 moves into the next word. Oclgrind lacks the funnel shift
 * that compilers make of two shifts.
 */
static words beyond(words a, words shift)
{
#if NATIVE
    return (a >> 1) >> (63 - shift);
#else
    return high_product(a, (words)1 << shift);
#endif
}

/*
 * (high 2^64 + low + sticky) 2^exponent, rounded once to nearest, ties to even: the conversion gets
 * 63 bits, the lowest of which is 1 if anything below it is. If high is 0, so are low and sticky.
 */
static doubles round_words(words high, words low, words sticky, signed_words exponent)
{
    const words shift = clz(high) & 63;
    const words head = high << shift | beyond(low, shift);
    const words rest = (head & 1) | (low << shift) | sticky;
    const words rounded = head >> 1 | (TRUTH(rest != 0) & 1);
    return CONVERT_CHANNELS(double, AS_CHANNELS(long, rounded)) *
           power_of_two(exponent + 65 - AS_CHANNELS(long, shift));
}

/* v >= 0, or -v where the condition holds. */
static doubles negative_where(words condition, doubles v)
{
    return AS_CHANNELS(double, AS_CHANNELS(ulong, v) | (condition & 0x8000000000000000UL));
}

/* Limbs, possibly not carried, as the magnitude of an integer. Returns its sign as a mask. */
#if WIDE
#define SUM_WORDS 6    /* 10 limbs, of 2^35 blocks */
#define SQUARE_WORDS 8 /* the second sum */
#define VARIANCE_WORDS 12

static ulong words_of(private const long *limbs, int count, private ulong *number, int size)
{
    long above = 0;
    for (int i = 0; i < size; ++i)
        number[i] = 0;
    for (int k = 0; k < count; ++k) {
        above += limbs[k];
        const int at = LIMB_BITS * k, word = at >> 6, shift = at & 63;
        const ulong digit = (ulong)(above & LIMB_MASK);
        above >>= LIMB_BITS;
        number[word] |= digit << shift;
        if (shift > 64 - LIMB_BITS && word + 1 < size)
            number[word + 1] |= digit >> (64 - shift);
    }
    /* The bits above all limbs, with the sign, fill the remaining words. */
    for (int at = LIMB_BITS * count, i = at >> 6; i < size; ++i) {
        const int shift = i == at >> 6 ? at & 63 : 0;
        number[i] |= (ulong)above << shift;
        above >>= shift == 0 ? 63 : 64 - shift;
    }
    const ulong sign = above < 0 ? ~0UL : 0UL;
    ulong carry = sign & 1;
    for (int i = 0; i < size; ++i) {
        number[i] = (number[i] ^ sign) + carry;
        carry &= number[i] == 0;
    }
    return sign;
}

/* The number's value times 2^exponent, rounded once. */
static double double_of(private const ulong *number, int size, int exponent)
{
    int top = size - 1;
    while (top > 0 && number[top] == 0)
        --top;
    ulong sticky = 0;
    for (int i = 0; i < top - 1; ++i)
        sticky |= number[i];
    return round_words(number[top], top > 0 ? number[top - 1] : 0, sticky, exponent + 64 * (top - 1));
}

/* Adds a b 2^(64 place) to a number. */
static void add_multiple(private ulong *number, int size, int place, ulong a, ulong b)
{
    ulong low = a * b, high = mul_hi(a, b);
    number[place] += low;
    ulong carry = number[place] < low;
    for (int i = place + 1; i < size; ++i) {
        number[i] += carry;
        carry = number[i] < carry;
        number[i] += high;
        carry += number[i] < high;
        high = 0;
    }
}

/* n^2 times the variance, (n squares 2^shift - sum^2) 2^exponent, rounded once; 0 if negative. */
static double n2_variance(private const ulong *sum, private const ulong *squares, ulong negative,
                          ulong n, int shift, int exponent)
{
    ulong number[VARIANCE_WORDS], square[VARIANCE_WORDS];
    for (int i = 0; i < VARIANCE_WORDS; ++i)
        number[i] = square[i] = 0;
    for (int i = 0; i < SQUARE_WORDS; ++i)
        add_multiple(number, VARIANCE_WORDS, i, squares[i], n);
    const int whole = shift >> 6, bits = shift & 63;
    for (int i = VARIANCE_WORDS - 1; i >= 0; --i) {
        const ulong at = i >= whole ? number[i - whole] : 0;
        const ulong below = i > whole ? number[i - whole - 1] : 0;
        number[i] = at << bits | beyond(below, bits);
    }
    for (int i = 0; i < SUM_WORDS; ++i)
        for (int j = 0; j < SUM_WORDS; ++j)
            add_multiple(square, VARIANCE_WORDS, i + j, sum[i], sum[j]);
    ulong borrow = 0;
    for (int i = 0; i < VARIANCE_WORDS; ++i) {
        const ulong less = number[i] - square[i];
        const ulong borrowed = number[i] < square[i] || less < borrow;
        number[i] = less - borrow;
        borrow = borrowed;
    }
    return borrow || negative ? 0.0 : double_of(number, VARIANCE_WORDS, exponent);
}

#else
#define SUM_WORDS 3
#define SQUARE_WORDS 3

/* As above, of three or four limbs. */
static words words_of(private const signed_words *limbs, int count, private words *sum, int size)
{
    const signed_words second = limbs[1] + (limbs[0] >> LIMB_BITS);
    const signed_words third = limbs[2] + (second >> LIMB_BITS);
    const words digit0 = AS_CHANNELS(ulong, limbs[0] & LIMB_MASK);
    const words digit1 = AS_CHANNELS(ulong, second & LIMB_MASK);
    const words digit2 = AS_CHANNELS(ulong, third & LIMB_MASK);
    words w2 = AS_CHANNELS(ulong, third >> 32);
    if (count == 4)
        w2 = digit2 >> 32 | AS_CHANNELS(ulong, limbs[3] + (third >> LIMB_BITS)) << 16;
    const words sign = AS_CHANNELS(ulong, AS_CHANNELS(long, w2) >> 63);
    const words w0 = ((digit0 | digit1 << 48) ^ sign) - sign;
    const words carry0 = TRUTH(w0 == 0) & sign;
    const words w1 = ((digit1 >> 16 | digit2 << 32) ^ sign) - carry0;
    const words carry1 = TRUTH(w1 == 0) & carry0;
    sum[0] = w0;
    sum[1] = w1;
    sum[2] = (w2 ^ sign) - carry1;
    return sign;
}

/* round_words for a number of four words. */
static doubles round_four(words w0, words w1, words w2, words w3, int exponent)
{
    const words no3 = TRUTH(w3 == 0), no2 = no3 & TRUTH(w2 == 0), no1 = no2 & TRUTH(w1 == 0);
    const words high = choose(no1, w0, choose(no2, w1, choose(no3, w2, w3)));
    const words low = choose(no2, w0, choose(no3, w1, w2)) & ~no1;
    const words sticky = choose(no3, w0, w1 | w0) & ~no2;
    const words places = (words)3 + no1 + no2 + no3;
    return round_words(high, low, sticky,
                       (signed_words)(exponent - 64) + AS_CHANNELS(long, places << 6));
}

static doubles double_of(private const words *sum, int size, int exponent)
{
    return round_four(sum[0], sum[1], sum[2], 0, exponent);
}

/* The borrow of a - b. */
static words below(words a, words b)
{
    return TRUTH(a < b) & 1;
}

/* n^2 times the variance, (n squares 2^shift - sum^2) 2^exponent, rounded once; 0 if negative. */
static doubles n2_variance(private const words *sum, private const words *squares, words negative,
                           words n, int shift, int exponent)
{
    /* The words of n squares, */
    const words high0 = high_product(squares[0], n), low1 = squares[1] * n;
    const words high1 = high_product(squares[1], n), low2 = squares[2] * n;
    const words p0 = squares[0] * n, p1 = low1 + high0, carry1 = below(p1, low1);
    const words part2 = low2 + high1, p2 = part2 + carry1;
    const words p3 = high_product(squares[2], n) + below(part2, low2) + below(p2, carry1);
    const words a0 = p0 << shift, a1 = p1 << shift | beyond(p0, shift);
    const words a2 = p2 << shift | beyond(p1, shift), a3 = p3 << shift | beyond(p2, shift);
    /* those of the square of a sum of two words, */
    const words cross_low = sum[0] * sum[1], cross_high = high_product(sum[0], sum[1]);
    const words twice0 = cross_low + cross_low;
    const words twice1 = cross_high + cross_high + below(twice0, cross_low);
    const words q0 = sum[0] * sum[0], q1 = high_product(sum[0], sum[0]) + twice0;
    const words top_low = sum[1] * sum[1], part = top_low + twice1;
    const words q2 = part + below(q1, twice0);
    const words q3 = high_product(sum[1], sum[1]) + (cross_high >> 63) + below(part, top_low) +
                     below(q2, part);
    /* and of the difference. */
    const words borrow0 = below(a0, q0), less1 = a1 - q1, r1 = less1 - borrow0;
    const words borrow1 = below(a1, q1) + below(less1, borrow0);
    const words less2 = a2 - q2, r2 = less2 - borrow1;
    const words borrow2 = below(a2, q2) + below(less2, borrow1);
    const words less3 = a3 - q3, r3 = less3 - borrow2;
    const words none = TRUTH(a3 < q3) | TRUTH(less3 < borrow2) | negative;
    return choose_double(none, 0.0, round_four(a0 - q0, r1, r2, r3, exponent));
}
#endif

/* Inf or NaN as the flags say, else the finite value. */
static doubles special_or(doubles finite, words flags)
{
    const words plus = TRUTH((flags & FLAG_PLUS_INF) != 0);
    const words minus = TRUTH((flags & FLAG_MINUS_INF) != 0);
    const doubles infinite = choose_double(plus, (double)INFINITY, -(double)INFINITY);
    return choose_double(plus & minus, QUIET_NAN, choose_double(plus | minus, infinite, finite));
}

static words is_special(words flags)
{
    return TRUTH((flags & (FLAG_PLUS_INF | FLAG_MINUS_INF)) != 0);
}

/*
 * The integer part of the forward statistics: the first sum and n^2 times the variance, from
 * FORWARD_LIMBS1 + FORWARD_LIMBS2 limbs, each rounded once.
 */
static void forward_sums_of(private const signed_words *limbs, ulong count, private doubles *first,
                            private doubles *n2_var)
{
    words sum[SUM_WORDS], squares[SQUARE_WORDS];
    const words minus = words_of(limbs, FORWARD_LIMBS1, sum, SUM_WORDS);
    const words negative = words_of(limbs + FORWARD_LIMBS1, FORWARD_LIMBS2, squares, SQUARE_WORDS);
    *first = negative_where(minus, double_of(sum, SUM_WORDS, -FORWARD_LOW1));
    *n2_var = n2_variance(sum, squares, negative, count, 2 * FORWARD_LOW1 - FORWARD_LOW2,
                          -2 * FORWARD_LOW1);
}

/*
 * Mean and biased variance of n > 0 values, from these two and the flags. src/exact/statistics.c
 * gives the reasons.
 */
static doubles mean_of(doubles first, words flags, double n)
{
    return special_or(divide_exactly(first, n), flags);
}

static doubles variance_of(doubles n2_var, words flags, double n)
{
    const doubles v = divide_exactly(divide_exactly(n2_var, n), n);
    const words lost = TRUTH((flags & FLAG_OVERFLOW) != 0) | TRUTH(v > (doubles)FLT_MAX);
    return choose_double(is_special(flags), QUIET_NAN, choose_double(lost, (double)INFINITY, v));
}

/* 1 / sqrt(var + eps), or, with `clamps`, 1 / sqrt(max(var, eps)); NaN for NaN. */
static doubles invstd_of(doubles var, double eps, uint clamps)
{
    const doubles added = clamps ? choose_double(TRUTH(var < eps), eps, var) : var + eps;
    return divide_exactly(1.0, root(added));
}

/* The two sums of BACKWARD_LIMBS1 + BACKWARD_LIMBS2 limbs, each rounded once. */
static void backward_sums_of(private const signed_words *limbs, private doubles *first,
                             private doubles *second)
{
    words sum[SUM_WORDS], product[SQUARE_WORDS];
    const words minus = words_of(limbs, BACKWARD_LIMBS1, sum, SUM_WORDS);
    const words negative = words_of(limbs + BACKWARD_LIMBS1, BACKWARD_LIMBS2, product, SQUARE_WORDS);
    *first = negative_where(minus, double_of(sum, SUM_WORDS, -BACKWARD_LOW1));
    *second = negative_where(negative, double_of(product, SQUARE_WORDS, -BACKWARD_LOW2));
}

/* sum dy, and sum dy (x - mean), from these and the flags. */
static doubles sum_dy_of(doubles first, words flags)
{
    return special_or(first, flags);
}

static doubles sum_dy_xmu_of(doubles first, doubles second, words flags, doubles mean)
{
    /* The kernels subtract only the upper float of the mean: the rest in full precision. */
    const doubles mean_low = mean - CONVERT_CHANNELS(double, CONVERT_CHANNELS(float, mean));
    const doubles left_out = mean_low * first;
    const words lost = is_special(flags) | TRUTH((flags & FLAG_OVERFLOW) != 0);
    return choose_double(lost, QUIET_NAN, second - left_out);
}

/* A double as the sum of two floats. The lower one of Inf is 0, not the NaN of Inf - Inf. */
static floats upper_float(doubles value)
{
    return CONVERT_CHANNELS(float, value);
}

static floats lower_float(doubles value)
{
    const doubles rest = value - CONVERT_CHANNELS(double, upper_float(value));
    const words finite = TRUTH(fabs(CONVERT_CHANNELS(double, upper_float(value))) < INFINITY);
    return CONVERT_CHANNELS(float, choose_double(finite, rest, 0.0));
}

/*
 * Whether the narrow format does not suffice: a block exceeds its limits, or all blocks are near
 * its lowest bit, or the spread is too small for it (`thin`: invstd above 2^24 forward, 2^12
 * backward).
 */
static words needs_wide(words flags, words thin)
{
    const words clear = TRUTH((flags & FLAG_CLEAR) != 0);
    const words misses = TRUTH((flags & FLAG_OVERFLOW) != 0) |
                         (TRUTH((flags & FLAG_FAINT) != 0) & ~clear) | (thin & clear);
    return misses & ~is_special(flags);
}
#endif
