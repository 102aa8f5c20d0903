/*
 * Accumulators: exact sums of one channel. A block's float results become integers in a fixed-point format and are
 * added to a channel's limbs without rounding. Bits below the format are cut toward zero per term, so that the order of
 * terms does not matter. WIDTH blocks are added at a time, each to the limbs of its own vector component.
 *
 * A format is a number of limbs of LIMB_BITS bits, each held in an int64, the lowest in units of
 * 2^-low. A channel has two sums and, in one more int64, flags:
 *
 *   first:  forward sum x,    backward sum dy
 *   second: forward sum x^2,  backward sum dy (x - mean)
 *
 * The macros PASS_* and FLAG_* come from src/exact/format.c: a program that sums is built for one
 * pass, in its narrow format. A block is added only if it fits that, with room for 2^31 blocks;
 * others go to the channel's wide accumulator (wide.cl).
 */
#define LIMB_MASK ((1L << LIMB_BITS) - 1)

/* Words of both sums, and of the whole accumulator. */
#define PASS_LIMBS (PASS_LIMBS1 + PASS_LIMBS2)
#define PASS_LENGTH (PASS_LIMBS + 1)

/* An int64 limb holds this many batches, with three terms each, before it must be carried. */
#ifndef BATCHES_TO_CARRY /* a test has fewer */
#define BATCHES_TO_CARRY 4096
#endif

static uints mantissa_of(uints bits, uints biased)
{
    return (bits & 0x7fffffu) | (min(biased, (uints)1) << 23);
}

/* clamp gets vectors as bounds: Oclgrind misreads scalar ones. */
static uwides shift_by(wides bits)
{
    return AS(ulong, clamp(bits, (wides)0, (wides)63));
}

/*
 * Adds m 2^place to the `count` limbs that a term may reach; subtracts it where `negative` is set.
 * One of the two shifts of a limb is by 0. A limb that the term does not reach gets 0.
 */
static void add_bits(private wides *limbs, int count, uwides m, ints place, ints negative)
{
    const wides sign = CONVERT(long, negative);
    for (int k = 0; k < count; ++k) {
        const wides shift = CONVERT(long, place - LIMB_BITS * k);
        const wides part = AS(long, (m << shift_by(shift)) >> shift_by(-shift)) & LIMB_MASK;
        limbs[k] += (part ^ sign) - sign;
    }
}

/* Adds n a. */
static void add_term(private wides *limbs, int count, int low, uints n, real a)
{
    const uints bits = AS(uint, a), biased = (bits >> 23) & 255u;
    const uwides m = CONVERT(ulong, mantissa_of(bits, biased)) * CONVERT(ulong, n);
    add_bits(limbs, count, m, AS(int, max(biased, (uints)1)) + (low - 150), AS(int, bits) >> 31);
}

/*
 * The integer m of n a b = m 2^(place - low): n has 9 bits and each mantissa 24, so that it has 57 of the
 * 64 bits available.
 */
static uwides product_of(int low, uints n, real a, real b, private ints *place)
{
    const uints bits_a = AS(uint, a), bits_b = AS(uint, b);
    const uints biased_a = (bits_a >> 23) & 255u, biased_b = (bits_b >> 23) & 255u;
    *place = AS(int, max(biased_a, (uints)1) + max(biased_b, (uints)1)) + (low - 300);
    /* In 64 bits: n times a mantissa fits 32 only for n below 256. */
    return CONVERT(ulong, mantissa_of(bits_a, biased_a)) * CONVERT(ulong, n) *
           CONVERT(ulong, mantissa_of(bits_b, biased_b));
}

/* Adds n a b. */
static void add_product(private wides *limbs, int count, int low, uints n, real a, real b)
{
    ints place;
    const uwides m = product_of(low, n, a, b, &place);
    add_bits(limbs, count, m, place, AS(int, a) >> 31 ^ AS(int, b) >> 31);
}

static void zero_limbs(private wides *limbs, int count)
{
    for (int k = 0; k < count; ++k)
        limbs[k] = 0;
}

/* Carries, so that each limb but the highest is below 2^LIMB_BITS again. */
static void carry_limbs(private wides *limbs, int count)
{
    for (int k = 0; k + 1 < count; ++k) {
        limbs[k + 1] += limbs[k] >> LIMB_BITS;
        limbs[k] &= LIMB_MASK;
    }
}

/* Carries the limbs of both sums. */
static void carry_sums(private wides *limbs)
{
    carry_limbs(limbs, PASS_LIMBS1);
    carry_limbs(limbs + PASS_LIMBS1, PASS_LIMBS2);
}

/* The flags of a block that has elements that are not finite, by its mean; else 0. */
static ints flags_of(real mean)
{
    const ints nan = MASK(mean != mean);
    return ((nan | MASK(mean == INFINITY)) & FLAG_PLUS_INF) |
           ((nan | MASK(mean == -INFINITY)) & FLAG_MINUS_INF);
}
