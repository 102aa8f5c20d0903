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

typedef struct {
    ulong mantissa;
    int exponent; /* value = +-mantissa 2^exponent */
    uint negative;
} term;

static term term_of(float x)
{
    const uint bits = as_uint(x);
    const uint biased = (bits >> 23) & 255u;
    term t;
    t.mantissa = (bits & 0x7fffffu) | (biased ? 0x800000u : 0u);
    t.exponent = (int)(biased ? biased : 1u) - 150;
    t.negative = bits >> 31;
    return t;
}

/* Mantissas of 24 and 24 bits and, for the count, 11 more: 59 of the 64 that there are. */
static term times(term a, term b)
{
    a.mantissa *= b.mantissa;
    a.exponent += b.exponent;
    a.negative ^= b.negative;
    return a;
}

static term count_times(uint n, term a)
{
    a.mantissa *= n;
    return a;
}

static term twice(term a)
{
    a.exponent += 1;
    return a;
}

static void add(private long *digits, int low, term t)
{
    int place = t.exponent + low;
    ulong m = t.mantissa;
    if (place < 0) {
        m = place > -64 ? m >> -place : 0;
        place = 0;
    }
    private long *d = digits + (place >> 5);
    const int shift = place & 31;
    const ulong upper = (m >> 1) >> (31 - shift);
    const long d0 = (long)((m << shift) & 0xffffffffUL);
    const long d1 = (long)(upper & 0xffffffffUL);
    const long d2 = (long)(upper >> 32);
    d[0] += t.negative ? -d0 : d0;
    d[1] += t.negative ? -d1 : d1;
    d[2] += t.negative ? -d2 : d2;
}

/* What a pivot that is not finite says of its block. */
static long flags_of(float pivot)
{
    if (isnan(pivot))
        return FLAG_PLUS_INF | FLAG_MINUS_INF;
    return pivot > 0.0f ? FLAG_PLUS_INF : FLAG_MINUS_INF;
}

/* A channel's sums in private memory. */
#define SUMS(PASS) \
    typedef struct { \
        long first[PASS##_DIGITS1 + PADDING]; \
        long second[PASS##_DIGITS2 + PADDING]; \
        long flags; \
    }

SUMS(FORWARD) forward_sums;
SUMS(BACKWARD) backward_sums;

/* Copies digits out and returns where the next go. */
static global long *store_digits(private const long *digits, int count, global long *out)
{
    for (int k = 0; k < count; ++k)
        out[k] = digits[k];
    return out + count;
}

static void zero_digits(private long *digits, int count)
{
    for (int k = 0; k < count; ++k)
        digits[k] = 0;
}
