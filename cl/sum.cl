/*
 * Exact sums: a block's results become integers in a fixed-point window and
 * are added to a channel's words without rounding. Bits below the window are
 * cut toward zero per term, so that no order of terms matters.
 *
 * A window is a number of digits of 32 bits, each held in an int64, the lowest
 * in units of 2^-low. A channel has two sums and a word of flags:
 *
 *   first:  forward sum x,    backward sum dy
 *   second: forward sum x^2,  backward sum dy (x - mean)
 *
 * The macros WIDE, FORWARD_* and BACKWARD_* come from src/window.c: each
 * program is built for one window. A block is added only if all its terms lie
 * below the limits, which the window holds with room for 2^31 blocks.
 */
#define FLAG_PLUS_INF 1 /* the first sum met +Inf; with FLAG_MINUS_INF as well, it is NaN */
#define FLAG_MINUS_INF 2
#define FLAG_OVER 4  /* narrow: a block did not fit, repeat wide; wide: the second sum is lost */
#define FLAG_CLEAR 8 /* a block well above the window's bottom */
#define FLAG_FAINT 16 /* a block that is not zero, but near the bottom */

/* A term covers up to three digits, so two beyond the highest may be touched, with zero. */
#define PADDING 2

/*
 * Adds n a b to the digits from `base` on, exactly but for the bits below the
 * window: 11 bits of n and two mantissas of 24 make 59 of the 64 that there
 * are. (Scalars only: Mesa's llvmpipe mixes up structures passed by value, and
 * loses writes to arrays within them.)
 */
static void add_product(private long *sums, int base, int low, uint n, float a, float b)
{
    const uint bits_a = as_uint(a), bits_b = as_uint(b);
    const uint biased_a = (bits_a >> 23) & 255u, biased_b = (bits_b >> 23) & 255u;
    const uint mantissa_a = (bits_a & 0x7fffffu) | (biased_a ? 0x800000u : 0u);
    const uint mantissa_b = (bits_b & 0x7fffffu) | (biased_b ? 0x800000u : 0u);
    const bool negative = (bits_a ^ bits_b) >> 31;
    ulong m = (ulong)mantissa_a * mantissa_b * n;
    int place = (int)(max(biased_a, 1u) + max(biased_b, 1u)) - 300 + low;
    if (place < 0) {
        m = place > -64 ? m >> -place : 0;
        place = 0;
    }
    const int k = base + (place >> 5), shift = place & 31;
    const ulong upper = (m >> 1) >> (31 - shift);
    const long d0 = (long)((m << shift) & 0xffffffffUL);
    const long d1 = (long)(upper & 0xffffffffUL);
    const long d2 = (long)(upper >> 32);
    sums[k] += negative ? -d0 : d0;
    sums[k + 1] += negative ? -d1 : d1;
    sums[k + 2] += negative ? -d2 : d2;
}

/* What a pivot that is not finite says of its block. */
static long flags_of(float pivot)
{
    if (isnan(pivot))
        return FLAG_PLUS_INF | FLAG_MINUS_INF;
    return pivot > 0.0f ? FLAG_PLUS_INF : FLAG_MINUS_INF;
}

/*
 * A channel's sums in private memory: one array, first sum, second sum, flags.
 */
#define FORWARD_SECOND (FORWARD_DIGITS1 + PADDING)
#define FORWARD_FLAGS (FORWARD_SECOND + FORWARD_DIGITS2 + PADDING)
#define FORWARD_SUMS (FORWARD_FLAGS + 1)
#define BACKWARD_SECOND (BACKWARD_DIGITS1 + PADDING)
#define BACKWARD_FLAGS (BACKWARD_SECOND + BACKWARD_DIGITS2 + PADDING)
#define BACKWARD_SUMS (BACKWARD_FLAGS + 1)

static void zero_sums(private long *sums, int count)
{
    for (int k = 0; k < count; ++k)
        sums[k] = 0;
}

/* Copies the words of a channel out: digits1, digits2, flags. */
static void store_sums(private const long *sums, int digits1, int digits2, global long *out)
{
    for (int k = 0; k < digits1; ++k)
        out[k] = sums[k];
    for (int k = 0; k < digits2; ++k)
        out[digits1 + k] = sums[digits1 + PADDING + k];
    out[digits1 + digits2] = sums[digits1 + digits2 + 2 * PADDING];
}
