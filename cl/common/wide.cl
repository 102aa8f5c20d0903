/*
 * Wide accumulators: exact sums of the blocks that do not fit the narrow format. There is one for
 * each channel of a replica, in global memory, with WIDE_LIMBS1 and WIDE_LIMBS2 limbs of WIDE_BITS
 * bits from 2^-WIDE_LOW1 and 2^-WIDE_LOW2 on. Every work-group adds to it at once, without a carry:
 * a limb holds the terms of 2^29 blocks. It is 0 before the reduction.
 *
 * This is rare: loops run over memory and not over registers, which the main loops need.
 */
#define WIDE_LIMBS (WIDE_LIMBS1 + WIDE_LIMBS2)
#define DIGIT_MASK ((1L << WIDE_BITS) - 1)

/*
 * Where a work-item that combines has a channel's limbs of all sources: those of the second sum begin
 * at WIDE_ROOM1. Each sum has room for two more.
 */
#define WIDE_ROOM1 (WIDE_LIMBS1 + 2)
#define WIDE_ROOM2 (WIDE_LIMBS2 + 2)
#define WIDE_ROOM (WIDE_ROOM1 + WIDE_ROOM2)
#if CPU_FORM
#define WIDE_SPACE private
#else
#define WIDE_SPACE local
#endif

/* Where a channel's wide accumulator begins. */
static global long *wide_of(global long *wide, uint c)
{
    return wide + (ulong)c * WIDE_LIMBS;
}

/*
 * Adds to a word that others add to, too: its halves one after the other, as OpenCL 1.2 has no
 * atomics of 64 bits. A single slice has a channel for itself.
 */
static void add_word(global long *word, long v)
{
#if CPU_FORM
    if (get_num_groups(1) == 1) {
        *word += v;
        return;
    }
#endif
    volatile global uint *halves = (volatile global uint *)word;
    const uint low = (uint)v, before = atomic_add(halves, low);
    const uint high = (uint)(v >> 32) + (before + low < before);
    if (high != 0)
        atomic_add(halves + 1, high);
}

/*
 * Adds n a b to a sum of `count` limbs. Bits below the lowest are cut toward zero. The CPU form has sums of
 * WIDTH blocks on its stack, which store_wide adds to the channels' accumulators.
 */
#if CPU_FORM
#define WIDE_SUMS private wides

/* Adds m 2^place; subtracts it where `sign` is -1. */
static void add_digits(private wides *sum, int count, uwides m, ints place, wides sign)
{
    ONE_BY_ONE for (int k = 0; k < count; ++k) {
        const ints up = place - WIDE_BITS * k;
        if (!ANY((up < WIDE_BITS) & (up > -64)))
            continue;
        const wides shift = CONVERT(long, up);
        const wides digits = AS(long, (m << shift_by(shift)) >> shift_by(-shift)) & DIGIT_MASK;
        sum[k] += (digits ^ sign) - sign;
    }
}

static void add_wide(private wides *sum, int count, int low, uints n, real a, real b)
{
    if (!ANY(a != 0.0f))
        return;
    ints place;
    const uwides m = product_of(low, n, a, b, &place);
    add_digits(sum, count, m, place, CONVERT(long, (AS(int, a) ^ AS(int, b)) >> 31));
}
#else
#define WIDE_SUMS global long

static void add_wide(global long *sum, int count, int low, uint n, float a, float b)
{
    int place;
    const ulong all = product_of(low, n, a, b, &place);
    const ulong m = all >> clamp(-place, 0, 63);
    const uint at = (uint)max(place, 0), shift = at & (WIDE_BITS - 1);
    const bool negative = (as_int(a) ^ as_int(b)) < 0;
    sum += quotient(at, WIDE_BITS);
    /* Three limbs have all 57 bits. */
    ONE_BY_ONE for (int i = 0; i < 3; ++i) {
        const int down = WIDE_BITS * i - (int)shift;
        const ulong digit = (down < 0 ? m << shift : m >> min(down, 63)) & DIGIT_MASK;
        if (digit != 0)
            add_word(sum + i, negative ? -(long)digit : (long)digit);
    }
}
#endif

/* --- a channel's sums of all replicas: combine.cl --- */

/* Adds a limb of a narrow sum, `place` bits above the lowest of the wide one. */
static void widen_limb(WIDE_SPACE long *sum, int place, long limb)
{
    const int shift = place & (WIDE_BITS - 1);
    sum += quotient((uint)place, WIDE_BITS);
    sum[0] += (long)((ulong)limb << shift & 0xffffffffUL);
    sum[1] += limb >> (WIDE_BITS - shift);
}

/* Adds a channel's narrow accumulator. */
static void widen(WIDE_SPACE long *sums, global const long *narrow)
{
    ONE_BY_ONE for (int k = 0; k < PASS_LIMBS1; ++k)
        widen_limb(sums, LIMB_BITS * k + WIDE_LOW1 - PASS_LOW1, narrow[k]);
    ONE_BY_ONE for (int k = 0; k < PASS_LIMBS2; ++k)
        widen_limb(sums + WIDE_ROOM1, LIMB_BITS * k + WIDE_LOW2 - PASS_LOW2,
                   narrow[PASS_LIMBS1 + k]);
}
