/*
 * A channel's sums as integers of 64-bit words, least significant first, in the wide format: words
 * for all floats. One channel at a time.
 */
#if COMBINES && WIDE

#define SUM_WORDS 6    /* 10 limbs, of 2^35 blocks */
#define SQUARE_WORDS 8 /* the second sum */
#define VARIANCE_WORDS 12

/* Limbs, possibly not carried, as the magnitude of an integer. Returns its sign as a mask. */
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
static doubles double_of(private const ulong *number, int size, int exponent)
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
static doubles n2_variance(private const ulong *sum, private const ulong *squares, ulong negative,
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
    return borrow || negative ? ZERO : double_of(number, VARIANCE_WORDS, exponent);
}
#endif
