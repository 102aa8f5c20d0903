/*
 * A channel's sums as integers of 64-bit words, least significant first, in the wide format: words
 * for all floats. One channel at a time, in global memory: wide.cl says why.
 */
#if COMBINES

#define WIDE_SUM_WORDS 6    /* of the first sum, of 2^35 blocks */
#define WIDE_SQUARE_WORDS 8 /* of the second */
#define WIDE_VARIANCE_WORDS 12

/*
 * Behind a channel's wide accumulator: its sums over all sources as limbs, or the two terms of the
 * variance in their place; and as integers.
 */
#if WIDE_STRIDE < 2 * WIDE_LENGTH + WIDE_SUM_WORDS + WIDE_SQUARE_WORDS
#error "no room for the integers"
#endif
#if WIDE_LENGTH < 2 * WIDE_VARIANCE_WORDS
#error "the terms of the variance lie where the limbs were"
#endif

/* Limbs, not carried, as the magnitude of an integer. Returns whether it is negative. */
static bool wide_words(global const long *limbs, int count, global ulong *number, int size)
{
    long above = 0;
    ONE_BY_ONE for (int i = 0; i < size; ++i)
        number[i] = 0;
    ONE_BY_ONE for (int k = 0; k < count; ++k) {
        above += limbs[k];
        number[k >> 1] |= ((ulong)above & 0xffffffffUL) << (WIDE_BITS * (k & 1));
        above >>= WIDE_BITS;
    }
    /* The bits above all limbs, with the sign, fill the remaining words. */
    ONE_BY_ONE for (int i = count >> 1, shift = WIDE_BITS * (count & 1); i < size; ++i, shift = 0) {
        number[i] |= (ulong)above << shift;
        above >>= shift == 0 ? 63 : 64 - shift;
    }
    const bool negative = above < 0;
    ulong carry = negative;
    ONE_BY_ONE for (int i = 0; i < size && negative; ++i) {
        number[i] = ~number[i] + carry;
        carry &= number[i] == 0;
    }
    return negative;
}

/* round_words of one channel. */
static double round_wide(ulong high, ulong low, ulong sticky, int exponent)
{
    const ulong shift = clz(high) & 63;
    const ulong head = high << shift | (shift == 0 ? 0 : low >> (64 - shift));
    const ulong rest = (head & 1) | (low << shift) | sticky;
    const long rounded = (long)(head >> 1 | (rest != 0));
    return convert_double(rounded) * as_double((long)(exponent + 65 - (int)shift + 1023) << 52);
}

/* The number's value times 2^exponent, rounded once. */
static double wide_double(global const ulong *number, int size, int exponent)
{
    int top = size - 1;
    while (top > 0 && number[top] == 0)
        --top;
    ulong sticky = 0;
    ONE_BY_ONE for (int i = 0; i < top - 1; ++i)
        sticky |= number[i];
    return round_wide(number[top], top > 0 ? number[top - 1] : 0, sticky,
                      exponent + 64 * (top - 1));
}

/* A sum's value. */
static double wide_value(global const long *limbs, int count, global ulong *number, int size)
{
    const bool negative = wide_words(limbs, count, number, size);
    const double magnitude = wide_double(number, size, -WIDE_LOW);
    return negative ? -magnitude : magnitude;
}

/* Adds a b 2^(64 place) to a number. */
static void add_multiple(global ulong *number, int size, int place, ulong a, ulong b)
{
    ulong low = a * b, high = mul_hi(a, b);
    number[place] += low;
    ulong carry = number[place] < low;
    ONE_BY_ONE for (int i = place + 1; i < size; ++i) {
        number[i] += carry;
        carry = number[i] < carry;
        number[i] += high;
        carry += number[i] < high;
        high = 0;
    }
}

/*
 * n^2 times the variance, n squares - sum^2, rounded once; 0 if negative. `scratch` has room for two
 * numbers.
 */
static double wide_n2_variance(global const ulong *sum, global const ulong *squares, bool negative,
                               ulong n, global ulong *scratch)
{
    global ulong *number = scratch, *square = scratch + WIDE_VARIANCE_WORDS;
    ONE_BY_ONE for (int i = 0; i < WIDE_VARIANCE_WORDS; ++i)
        number[i] = square[i] = 0;
    ONE_BY_ONE for (int i = 0; i < WIDE_SQUARE_WORDS; ++i)
        add_multiple(number, WIDE_VARIANCE_WORDS, i, squares[i], n);
    /* In units of 2^(-2 WIDE_LOW), as the square. */
    const int whole = WIDE_LOW >> 6, bits = WIDE_LOW & 63;
    ONE_BY_ONE for (int i = WIDE_VARIANCE_WORDS - 1; i >= 0; --i) {
        const ulong at = i >= whole ? number[i - whole] : 0;
        const ulong below = i > whole ? number[i - whole - 1] : 0;
        number[i] = bits == 0 ? at : at << bits | below >> (64 - bits);
    }
    ONE_BY_ONE for (int i = 0; i < WIDE_SUM_WORDS; ++i)
        ONE_BY_ONE for (int j = 0; j < WIDE_SUM_WORDS; ++j)
            add_multiple(square, WIDE_VARIANCE_WORDS, i + j, sum[i], sum[j]);
    ulong borrow = 0;
    ONE_BY_ONE for (int i = 0; i < WIDE_VARIANCE_WORDS; ++i) {
        const ulong less = number[i] - square[i];
        const ulong borrowed = number[i] < square[i] || less < borrow;
        number[i] = less - borrow;
        borrow = borrowed;
    }
    return borrow || negative ? 0.0
                              : wide_double(number, WIDE_VARIANCE_WORDS, -2 * WIDE_LOW);
}
#endif
