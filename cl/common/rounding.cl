/*
 * Integers of several 64-bit words as doubles, rounded once: what the formats' integers (integers_narrow.cl,
 * integers_wide.cl) have in common. ABREAST channels at once (channels.cl); conditions are masks.
 */
#if COMBINES

static words choose(words condition, words a, words b)
{
    return (a & condition) | (b & ~condition);
}

static doubles choose_double(words condition, doubles a, doubles b)
{
    return OF_BITS(choose(condition, BITS(a), BITS(b)));
}

/* The high half of a b. */
static words high_product(words a, words b)
{
#if ABREAST > 1
    /* In halves: CPUs have vector products of 32 bits only. */
    const words a0 = a & 0xffffffffUL, a1 = a >> 32, b0 = b & 0xffffffffUL, b1 = b >> 32;
    const words middle = a1 * b0 + ((a0 * b0) >> 32), other = a0 * b1 + (middle & 0xffffffffUL);
    return a1 * b1 + (middle >> 32) + (other >> 32);
#else
    return mul_hi(a, b);
#endif
}

/*
 * The bits that a left shift by 0 to 63 moves into the next word. Oclgrind lacks the funnel shift
 * that compilers make of two shifts.
 */
static words beyond(words a, words shift)
{
#if NATIVE
    return (a >> 1) >> (63 - shift);
#else
    return high_product(a, (words)1 << shift);
#endif
}

/*
 * (high 2^64 + low + sticky) 2^exponent, a normal double or 0, rounded once to nearest, ties to even:
 * of 63 bits, the lowest of which is 1 if anything below it is. If high is 0, so are low and sticky.
 */
static doubles round_words(words high, words low, words sticky, signed_words exponent)
{
    const words shift = clz(high) & 63;
    const words head = high << shift | beyond(low, shift);
    const words rest = (head & 1) | (low << shift) | sticky;
    const words digits = head >> 1 | (TRUTH(rest != 0) & 1);
    const signed_words above = exponent + 65 - AS_CHANNELS(long, shift);
#if HAS_DOUBLES
    return CONVERT_CHANNELS(double, AS_CHANNELS(long, digits)) * OF_BITS((above + 1023) << 52);
#else
    return high == 0 ? ZERO : soft_pack(0, (int)above + 62, digits);
#endif
}

/* v >= 0, or -v where the condition holds. */
static doubles negative_where(words condition, doubles v)
{
    return OF_BITS(BITS(v) | (condition & 0x8000000000000000UL));
}
#endif
