/*
 * Doubles in integers, for devices without them: a number is the bits of an IEEE double, of which all
 * are allowed. Each result is the exact one rounded once, to nearest, ties to even.
 */
#if COMBINES && !HAS_DOUBLES

/* Inlined everywhere they would be four times the instructions of the kernels that combine (dg2). */
#define OUT_OF_LINE static __attribute__((noinline))

#define SIGN_BIT (1UL << 63)
#define EXPONENT_BITS (2047UL << 52)
#define FRACTION_BITS ((1UL << 52) - 1)
#define NAN_BITS (EXPONENT_BITS | 1UL << 51)

static bool soft_is_zero(ulong a)
{
    return (a & ~SIGN_BIT) == 0;
}

static bool soft_is_infinite(ulong a)
{
    return (a & ~SIGN_BIT) == EXPONENT_BITS;
}

static bool soft_is_nan(ulong a)
{
    return (a & ~SIGN_BIT) > EXPONENT_BITS;
}

/*
 * The exponent of a number, below all others of 0 and above them of Inf and NaN; and the digits of one
 * that is neither, as an integer from 2^52 to below 2^53.
 */
static int soft_exponent(ulong a)
{
    const int biased = (int)(a >> 52) & 2047;
    return biased > 0 ? biased - 1023 : -1011 - (int)clz(a & FRACTION_BITS);
}

static ulong soft_digits(ulong a)
{
    const ulong fraction = a & FRACTION_BITS;
    return (a & EXPONENT_BITS) != 0 ? fraction | (1UL << 52) : fraction << (clz(fraction) - 11);
}

/* `digits` without the last 1 to 63 of them, rounded. */
static ulong soft_round(ulong digits, int drop)
{
    const ulong kept = digits >> drop, rest = digits << (64 - drop);
    return kept + (rest > SIGN_BIT || (rest == SIGN_BIT && (kept & 1) != 0));
}

/*
 * digits 2^(exponent - 62) as a number, with 2^62 <= digits < 2^63 and the last digit 1 if anything
 * was left out below it. What rounding carries over joins the exponent.
 */
OUT_OF_LINE ulong soft_pack(ulong sign, int exponent, ulong digits)
{
    if (exponent > 1023)
        return sign | EXPONENT_BITS;
    if (exponent < -1075)
        return sign;
    const int below_normal = max(-1022 - exponent, 0);
    const ulong above = below_normal > 0 ? 0 : (ulong)(exponent + 1022) << 52;
    return sign | (above + soft_round(digits, 10 + below_normal));
}

OUT_OF_LINE ulong soft_sum(ulong a, ulong b)
{
    const bool swaps = (a & ~SIGN_BIT) < (b & ~SIGN_BIT);
    const ulong large = swaps ? b : a, small = swaps ? a : b;
    const bool differ = ((a ^ b) & SIGN_BIT) != 0;
    if (soft_is_nan(large) || (soft_is_infinite(small) && differ))
        return NAN_BITS;
    if (soft_is_zero(small))
        return soft_is_zero(large) ? a & b : large;
    if (soft_is_infinite(large))
        return large;
    const int apart = min(soft_exponent(large) - soft_exponent(small), 62);
    const ulong x = soft_digits(large) << 9, y = soft_digits(small) << 9;
    const ulong moved = y >> apart | ((y & ((1UL << apart) - 1)) != 0);
    const ulong sum = differ ? x - moved : x + moved;
    if (sum == 0)
        return 0;
    const int up = (int)clz(sum) - 1;
    return soft_pack(large & SIGN_BIT, soft_exponent(large) + 1 - up, sum << up);
}

OUT_OF_LINE ulong soft_product(ulong a, ulong b)
{
    const ulong sign = (a ^ b) & SIGN_BIT;
    const bool is_zero = soft_is_zero(a) || soft_is_zero(b);
    const bool is_infinite = soft_is_infinite(a) || soft_is_infinite(b);
    if (soft_is_nan(a) || soft_is_nan(b) || (is_zero && is_infinite))
        return NAN_BITS;
    if (is_zero || is_infinite)
        return is_zero ? sign : sign | EXPONENT_BITS;
    const ulong x = soft_digits(a) << 10, y = soft_digits(b) << 11;
    const ulong high = mul_hi(x, y), low = x * y;
    const int up = (int)clz(high) - 1; /* 0 or 1 */
    const ulong digits = high << up | (low != 0);
    return soft_pack(sign, soft_exponent(a) + soft_exponent(b) + 1 - up, digits);
}

/* Digit by digit: compilers would unroll the loop into thousands of instructions. */
OUT_OF_LINE ulong soft_quotient(ulong a, ulong b)
{
    const ulong sign = (a ^ b) & SIGN_BIT;
    const bool is_zero = soft_is_zero(a) || soft_is_infinite(b);
    const bool is_infinite = soft_is_infinite(a) || soft_is_zero(b);
    if (soft_is_nan(a) || soft_is_nan(b) || (is_zero && is_infinite))
        return NAN_BITS;
    if (is_zero || is_infinite)
        return is_zero ? sign : sign | EXPONENT_BITS;
    const ulong by = soft_digits(b);
    const bool less = soft_digits(a) < by;
    ulong rest = soft_digits(a) << less, digits = 0;
#pragma unroll 1
    for (int i = 0; i < 55; ++i) {
        const bool fits = rest >= by;
        digits = digits << 1 | fits;
        rest = (fits ? rest - by : rest) << 1;
    }
    return soft_pack(sign, soft_exponent(a) - soft_exponent(b) - less, digits << 8 | (rest != 0));
}

OUT_OF_LINE ulong soft_root(ulong a)
{
    if (soft_is_zero(a) || soft_is_nan(a) || a == EXPONENT_BITS)
        return a;
    if ((a & SIGN_BIT) != 0)
        return NAN_BITS;
    const int exponent = soft_exponent(a), odd = exponent & 1;
    ulong of = soft_digits(a) << (10 + odd), rest = 0, digits = 0;
#pragma unroll 1
    for (int i = 0; i < 55; ++i) {
        const ulong trial = digits << 2 | 1;
        rest = rest << 2 | of >> 62;
        of <<= 2;
        const bool fits = rest >= trial;
        rest = fits ? rest - trial : rest;
        digits = digits << 1 | fits;
    }
    return soft_pack(0, (exponent - odd) >> 1, digits << 8 | (rest != 0));
}

static bool soft_exceeds(ulong a, ulong b)
{
    const long x = (a & SIGN_BIT) != 0 ? -(long)(a & ~SIGN_BIT) : (long)a;
    const long y = (b & SIGN_BIT) != 0 ? -(long)(b & ~SIGN_BIT) : (long)b;
    return x > y && !soft_is_nan(a) && !soft_is_nan(b);
}

OUT_OF_LINE float soft_to_float(ulong a)
{
    const uint sign = (uint)(a >> 32) & 0x80000000u;
    const int exponent = soft_exponent(a);
    if (soft_is_nan(a))
        return as_float(0x7fc00000u);
    if (exponent > 127)
        return as_float(sign | 0x7f800000u);
    if (exponent < -150)
        return as_float(sign);
    const int below_normal = max(-126 - exponent, 0);
    const uint above = below_normal > 0 ? 0 : (uint)(exponent + 126) << 23;
    return as_float(sign | (above + (uint)soft_round(soft_digits(a) << 10, 39 + below_normal)));
}

OUT_OF_LINE ulong soft_of_float(float v)
{
    const uint bits = as_uint(v), fraction = bits & 0x7fffffu;
    const int biased = (int)(bits >> 23) & 255;
    const ulong sign = (ulong)(bits & 0x80000000u) << 32;
    if (biased == 255)
        return fraction != 0 ? NAN_BITS : sign | EXPONENT_BITS;
    const ulong digits = biased > 0 ? fraction | 0x800000u : fraction;
    const int up = (int)clz(digits) - 1;
    return digits == 0 ? sign : soft_pack(sign, max(biased, 1) - 88 - up, digits << up);
}
#endif
