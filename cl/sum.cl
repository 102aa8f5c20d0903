/*
 * Exact sums: a block's results become integers in a fixed-point format and
 * are added to a channel's words without rounding. Bits below the format are
 * cut toward zero per term, so that no order of terms matters. WIDTH blocks at
 * a time, each into the sums of its own component.
 *
 * A format is a number of digits of 48 bits, each held in an int64, the lowest
 * in units of 2^-low. A channel has two sums and a word of flags:
 *
 *   first:  forward sum x,    backward sum dy
 *   second: forward sum x^2,  backward sum dy (x - mean)
 *
 * The macros WIDE, FORWARD_* and BACKWARD_* come from src/exact/format.c: each
 * program is built for one format. A block is added only if all its terms lie
 * below the limits, which the format holds with room for 2^31 blocks.
 */
#define FLAG_PLUS_INF 1 /* the first sum met +Inf; with FLAG_MINUS_INF as well, it is NaN */
#define FLAG_MINUS_INF 2
#define FLAG_OVER 4  /* narrow: a block did not fit, repeat wide; wide: the second sum is lost */
#define FLAG_CLEAR 8 /* a block well above the format's bottom */
#define FLAG_FAINT 16 /* a block that is not zero, but near the bottom */

#define DIGIT_BITS 48
#define DIGIT_MASK 0xffffffffffffL

#define FORWARD_SUMS (FORWARD_DIGITS1 + FORWARD_DIGITS2)
#define BACKWARD_SUMS (BACKWARD_DIGITS1 + BACKWARD_DIGITS2)

/* Batches whose terms, three to a digit, add up in an int64 before digits must be carried. */
#define BATCHES_TO_CARRY 4096

static uints mantissa_of(uints bits, uints biased)
{
    return (bits & 0x7fffffu) | (min(biased, (uints)1) << 23);
}

/* Bounds of vectors are vectors: Oclgrind misreads scalars. */
static uwides shift_by(wides bits)
{
    return AS(ulong, clamp(bits, (wides)0, (wides)63));
}

/*
 * Adds m 2^place to the `count` digits that a term may reach, negated where the
 * mask says. One of a digit's two shifts is by 0; a digit that the term does not
 * reach gets 0.
 */
static void add_bits(private wides *digits, int count, uwides m, ints place, ints negative)
{
    const wides sign = CONVERT(long, negative);
    for (int k = 0; k < count; ++k) {
        const wides shift = CONVERT(long, place - DIGIT_BITS * k);
        const wides part = AS(long, (m << shift_by(shift)) >> shift_by(-shift)) & DIGIT_MASK;
        digits[k] += (part ^ sign) - sign;
    }
}

/* Adds n a. */
static void add_term(private wides *digits, int count, int low, uints n, real a)
{
    const uints bits = AS(uint, a), biased = (bits >> 23) & 255u;
    const uwides m = CONVERT(ulong, mantissa_of(bits, biased)) * CONVERT(ulong, n);
    add_bits(digits, count, m, AS(int, max(biased, (uints)1)) + (low - 150), AS(int, bits) >> 31);
}

/* Adds n a b: 9 bits of n and two mantissas of 24 make 57 of the 64 that there are. */
static void add_product(private wides *digits, int count, int low, uints n, real a, real b)
{
    const uints bits_a = AS(uint, a), bits_b = AS(uint, b);
    const uints biased_a = (bits_a >> 23) & 255u, biased_b = (bits_b >> 23) & 255u;
    /* n times one mantissa fits 32 bits only below 256. */
    const uwides m = CONVERT(ulong, mantissa_of(bits_a, biased_a)) * CONVERT(ulong, n) *
                     CONVERT(ulong, mantissa_of(bits_b, biased_b));
    const ints place = AS(int, max(biased_a, (uints)1) + max(biased_b, (uints)1)) + (low - 300);
    add_bits(digits, count, m, place, AS(int, bits_a ^ bits_b) >> 31);
}

static void zero_sums(private wides *sums, int count)
{
    for (int k = 0; k < count; ++k)
        sums[k] = 0;
}

/* Carries, so that each digit but the highest is below 2^48 again. */
static void carry_digits(private wides *digits, int count)
{
    for (int k = 0; k + 1 < count; ++k) {
        digits[k + 1] += digits[k] >> DIGIT_BITS;
        digits[k] &= DIGIT_MASK;
    }
}

/* Both sums. */
static void carry_sums(private wides *sums, int digits1, int digits2)
{
    carry_digits(sums, digits1);
    carry_digits(sums + digits1, digits2);
}

/* The same for a channel's words. */
static void carry_words(global long *words, int digits1, int digits2)
{
    for (int k = 0; k + 1 < digits1 + digits2; ++k) {
        if (k + 1 == digits1)
            continue;
        words[k + 1] += words[k] >> DIGIT_BITS;
        words[k] &= DIGIT_MASK;
    }
}

/* 1 / n of a block; that of a plane's last one is the host's to know. */
static float reciprocal(uint n, float last_reciprocal)
{
    return n == BLOCK ? BLOCK_RECIPROCAL : last_reciprocal;
}

/* The same of a pivot, the mean of a block's first LANES elements. */
static float pivot_reciprocal(uint n, float last_reciprocal)
{
    return n < LANES ? last_reciprocal : LANES_RECIPROCAL;
}

/*
 * The mean of a block, in lane order: cannot overflow, and is not finite just
 * where an element is not.
 */
static float mean_of_block(global const float *p, uint n, ulong stride, float reciprocal)
{
    float s[LANES];
    for (uint l = 0; l < LANES; ++l)
        s[l] = 0.0f;
    for (uint i = 0; i < n; ++i)
        s[i & (LANES - 1)] = fma(p[i * stride], reciprocal, s[i & (LANES - 1)]);
    for (uint half_way = LANES >> 1; half_way > 0; half_way >>= 1)
        for (uint l = 0; l < half_way; ++l)
            s[l] += s[l + half_way];
    return s[0];
}

/* What a mean says of its block. */
static int flags_of(float mean)
{
    if (isnan(mean))
        return FLAG_PLUS_INF | FLAG_MINUS_INF;
    if (isinf(mean))
        return mean > 0.0f ? FLAG_PLUS_INF : FLAG_MINUS_INF;
    return FLAG_OVER;
}
