/*
 * Wide accumulators: exact sums of the blocks that do not fit the narrow format. There is one for
 * each channel of a replica, in global memory, with WIDE_LIMBS1 and WIDE_LIMBS2 limbs of WIDE_BITS
 * bits from 2^-WIDE_LOW1 and 2^-WIDE_LOW2 on. Every work-group adds to it at once, without a carry:
 * a limb holds the terms of 2^29 blocks. It is 0 before the reduction.
 *
 * This is rare: loops run over memory and not over registers, which the main loops need.
 */
#define WIDE_LIMBS (WIDE_LIMBS1 + WIDE_LIMBS2)

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

static uint mantissa(uint bits)
{
    return (bits & 0x7fffffu) | (min((bits >> 23) & 255u, 1u) << 23);
}

/* Adds n a b to a sum. Bits below the lowest are cut toward zero. */
static void add_wide(global long *limbs, int low, uint n, float a, float b)
{
    const uint bits_a = as_uint(a), bits_b = as_uint(b);
    const int place = (int)max((bits_a >> 23) & 255u, 1u) + (int)max((bits_b >> 23) & 255u, 1u) +
                      (low - 300);
    const ulong all = (ulong)mantissa(bits_a) * n * mantissa(bits_b);
    const ulong m = all >> clamp(-place, 0, 63);
    const uint at = (uint)max(place, 0), shift = at & (WIDE_BITS - 1);
    const bool negative = (int)(bits_a ^ bits_b) < 0;
    limbs += quotient(at, WIDE_BITS);
    /* Three limbs have all 57 bits. */
    ONE_BY_ONE for (int i = 0; i < 3; ++i) {
        const int down = WIDE_BITS * i - (int)shift;
        const ulong digit = (down < 0 ? m << shift : m >> min(down, 63)) & 0xffffffffUL;
        if (digit != 0)
            add_word(limbs + i, negative ? -(long)digit : (long)digit);
    }
}

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
