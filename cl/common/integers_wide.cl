/*
 * A channel's sums as integers in the wide format, whose digits of WIDE_BITS bits stand where its limbs
 * were: in memory, as in registers they would cost the reductions on GPUs some. One channel at a time.
 */
#if COMBINES

/* Digits of n^2 times the variance. */
#define WIDE_VARIANCE_DIGITS 24

/*
 * Makes limbs, not carried, and one for what is above them, the digits of the integer's magnitude, of which there
 * are two more than limbs. Returns whether it is negative.
 */
static bool wide_digits(WIDE_SPACE long *limbs, int count)
{
    long above = 0;
    ONE_BY_ONE for (int k = 0; k <= count; ++k) {
        above += limbs[k];
        limbs[k] = above & DIGIT_MASK;
        above >>= WIDE_BITS;
    }
    limbs[count + 1] = above & DIGIT_MASK;
    const bool negative = above < 0;
    long carry = 1;
    ONE_BY_ONE for (int k = 0; k < count + 2 && negative; ++k) {
        carry += limbs[k] ^ DIGIT_MASK;
        limbs[k] = carry & DIGIT_MASK;
        carry >>= WIDE_BITS;
    }
    return negative;
}

/*
 * The highest word of an integer that is not 0, number `at`, and the one below it; `sticky`: whether
 * any digit is below these. Words come from the lowest on.
 */
typedef struct wide_top {
    ulong high, low, sticky, before, rest;
    int at;
} wide_top;

static void next_word(private wide_top *top, int at, ulong word)
{
    const bool is_top = word != 0;
    top->high = is_top ? word : top->high;
    top->low = is_top ? top->before : top->low;
    top->sticky = is_top ? top->rest : top->sticky;
    top->at = is_top ? at : top->at;
    top->rest |= top->before;
    top->before = word;
}

/* The integer's value times 2^exponent, rounded once. */
static number wide_double(wide_top top, int exponent)
{
    const doubles each = round_words(top.high, top.low, top.sticky, exponent + 64 * (top.at - 1));
#if ABREAST > 1
    return each.s0;
#else
    return each;
#endif
}

/* The value of `count` limbs and two more, which become digits. */
static number wide_value(WIDE_SPACE long *digits, int count, int low)
{
    const bool negative = wide_digits(digits, count);
    wide_top top = {0, 0, 0, 0, 0, 0};
    ONE_BY_ONE for (int k = 0; k <= count; k += 2)
        next_word(&top, k >> 1, (ulong)digits[k] | (ulong)digits[k + 1] << 32);
    const number magnitude = wide_double(top, -low);
    return negative ? NEGATIVE(magnitude) : magnitude;
}

/*
 * n^2 times the variance, n squares - sum^2, rounded once; 0 if negative. In units of
 * 2^(-2 WIDE_LOW1), digit by digit; what a digit carries has two words.
 */
static number wide_n2_variance(WIDE_SPACE const long *sum, WIDE_SPACE const long *squares,
                               bool negative, ulong n)
{
    const uint up = 2 * WIDE_LOW1 - WIDE_LOW2, bits = up & (WIDE_BITS - 1);
    const int whole = (int)quotient(up, WIDE_BITS);
    wide_top top = {0, 0, 0, 0, 0, 0};
    ulong low = 0, word = 0;
    long high = 0;
    ONE_BY_ONE for (int j = 0; j < WIDE_VARIANCE_DIGITS; ++j) {
        const int k = j - whole;
        const ulong digit = k >= 0 && k < WIDE_ROOM2 ? (ulong)squares[k] << bits : 0;
        const ulong product = digit * n;
        low += product;
        high += (long)mul_hi(digit, n) + (low < product);
        ONE_BY_ONE for (int i = max(0, j - WIDE_ROOM1 + 1); i <= min(j, WIDE_ROOM1 - 1); ++i) {
            const ulong square = (ulong)sum[i] * (ulong)sum[j - i];
            high -= low < square;
            low -= square;
        }
        if (j & 1)
            next_word(&top, j >> 1, word | low << 32);
        word = low & DIGIT_MASK;
        low = as_ulong((uint2)((uint)(low >> 32), (uint)high)); /* not two shifts: rounding.cl */
        high >>= 32;
    }
    return high < 0 || negative ? ZERO : wide_double(top, -2 * WIDE_LOW1);
}
#endif
