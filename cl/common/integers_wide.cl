/*
 * A channel's sums as integers of 64-bit words, least significant first, in the wide format: words
 * for all floats. One channel at a time.
 */
#if COMBINES

#define WIDE_SUM_WORDS 6    /* of the first sum, of 2^35 blocks */
#define WIDE_SQUARE_WORDS 8 /* of the second */
#define WIDE_VARIANCE_WORDS 12

/* Limbs, not carried, as the magnitude of an integer. Returns whether it is negative. */
static bool wide_words(private const long *limbs, int count, private ulong *integer, int size)
{
    long above = 0;
    ONE_BY_ONE for (int i = 0; i < size; ++i)
        integer[i] = 0;
    ONE_BY_ONE for (int k = 0; k < count; ++k) {
        above += limbs[k];
        integer[k >> 1] |= ((ulong)above & 0xffffffffUL) << (WIDE_BITS * (k & 1));
        above >>= WIDE_BITS;
    }
    /* The bits above all limbs, with the sign, fill the remaining words. */
    ONE_BY_ONE for (int i = count >> 1, shift = WIDE_BITS * (count & 1); i < size; ++i, shift = 0) {
        integer[i] |= (ulong)above << shift;
        above >>= shift == 0 ? 63 : 64 - shift;
    }
    const bool negative = above < 0;
    ulong carry = negative;
    ONE_BY_ONE for (int i = 0; i < size && negative; ++i) {
        integer[i] = ~integer[i] + carry;
        carry &= integer[i] == 0;
    }
    return negative;
}

/* round_words of one channel. */
#if ABREAST > 1
static number round_wide(ulong high, ulong low, ulong sticky, long exponent)
{
    const ulong shift = clz(high) & 63;
    const ulong head = high << shift | (shift == 0 ? 0 : low >> (64 - shift));
    const ulong rest = (head & 1) | (low << shift) | sticky;
    const long rounded = (long)(head >> 1 | (rest != 0));
    return convert_double(rounded) * as_double((exponent + 65 - (long)shift + 1023) << 52);
}
#else
#define round_wide round_words
#endif

/* The number's value times 2^exponent, rounded once. */
static number wide_double(private const ulong *integer, int size, int exponent)
{
    int top = size - 1;
    while (top > 0 && integer[top] == 0)
        --top;
    ulong sticky = 0;
    ONE_BY_ONE for (int i = 0; i < top - 1; ++i)
        sticky |= integer[i];
    return round_wide(integer[top], top > 0 ? integer[top - 1] : 0, sticky,
                      exponent + 64 * (top - 1));
}

/* A sum's value. */
static number wide_value(private const long *limbs, int count, int low)
{
    ulong integer[WIDE_SQUARE_WORDS];
    const bool negative = wide_words(limbs, count, integer, WIDE_SQUARE_WORDS);
    const number magnitude = wide_double(integer, WIDE_SQUARE_WORDS, -low);
    return negative ? NEGATIVE(magnitude) : magnitude;
}

/* Adds a b 2^(64 place) to a number. */
static void add_multiple(private ulong *integer, int size, int place, ulong a, ulong b)
{
    ulong low = a * b, high = mul_hi(a, b);
    integer[place] += low;
    ulong carry = integer[place] < low;
    ONE_BY_ONE for (int i = place + 1; i < size; ++i) {
        integer[i] += carry;
        carry = integer[i] < carry;
        integer[i] += high;
        carry += integer[i] < high;
        high = 0;
    }
}

/* n^2 times the variance, n squares - sum^2, rounded once; 0 if negative. */
static number wide_n2_variance(private const ulong *sum, private const ulong *squares,
                               bool negative, ulong n)
{
    ulong integer[WIDE_VARIANCE_WORDS], square[WIDE_VARIANCE_WORDS];
    ONE_BY_ONE for (int i = 0; i < WIDE_VARIANCE_WORDS; ++i)
        integer[i] = square[i] = 0;
    ONE_BY_ONE for (int i = 0; i < WIDE_SQUARE_WORDS; ++i)
        add_multiple(integer, WIDE_VARIANCE_WORDS, i, squares[i], n);
    /* In units of 2^(-2 WIDE_LOW1), as the square. */
    const int up = 2 * WIDE_LOW1 - WIDE_LOW2, whole = up >> 6, bits = up & 63;
    ONE_BY_ONE for (int i = WIDE_VARIANCE_WORDS - 1; i >= 0; --i) {
        const ulong at = i >= whole ? integer[i - whole] : 0;
        const ulong below = i > whole ? integer[i - whole - 1] : 0;
        integer[i] = at << bits | mul_hi(below, 1UL << bits); /* not two shifts: rounding.cl */
    }
    ONE_BY_ONE for (int i = 0; i < WIDE_SUM_WORDS; ++i)
        ONE_BY_ONE for (int j = 0; j < WIDE_SUM_WORDS; ++j)
            add_multiple(square, WIDE_VARIANCE_WORDS, i + j, sum[i], sum[j]);
    ulong borrow = 0;
    ONE_BY_ONE for (int i = 0; i < WIDE_VARIANCE_WORDS; ++i) {
        const ulong less = integer[i] - square[i];
        const ulong borrowed = integer[i] < square[i] || less < borrow;
        integer[i] = less - borrow;
        borrow = borrowed;
    }
    return borrow || negative ? ZERO
                              : wide_double(integer, WIDE_VARIANCE_WORDS, -2 * WIDE_LOW1);
}
#endif
