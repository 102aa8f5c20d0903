/*
 * Channels' sums as integers of 64-bit words, least significant first, in the narrow format: the
 * magnitude of a sum has three words, and n^2 times the variance four, enough for the blocks of 64
 * replicas. ABREAST channels at once (channels.cl).
 */
#if COMBINES

#define SUM_WORDS 3

/* Three or four limbs, possibly not carried, as the magnitude of an integer. Returns its sign as a mask. */
static words words_of(private const signed_words *limbs, int count, private words *sum)
{
    const signed_words second = limbs[1] + (limbs[0] >> LIMB_BITS);
    const signed_words third = limbs[2] + (second >> LIMB_BITS);
    const words digit0 = AS_CHANNELS(ulong, limbs[0] & LIMB_MASK);
    const words digit1 = AS_CHANNELS(ulong, second & LIMB_MASK);
    const words digit2 = AS_CHANNELS(ulong, third & LIMB_MASK);
    words w2 = AS_CHANNELS(ulong, third >> 32);
    if (count == 4)
        w2 = digit2 >> 32 | AS_CHANNELS(ulong, limbs[3] + (third >> LIMB_BITS)) << 16;
    const words sign = AS_CHANNELS(ulong, AS_CHANNELS(long, w2) >> 63);
    const words w0 = ((digit0 | digit1 << 48) ^ sign) - sign;
    const words carry0 = TRUTH(w0 == 0) & sign;
    const words w1 = ((digit1 >> 16 | digit2 << 32) ^ sign) - carry0;
    const words carry1 = TRUTH(w1 == 0) & carry0;
    sum[0] = w0;
    sum[1] = w1;
    sum[2] = (w2 ^ sign) - carry1;
    return sign;
}

/* round_words for a number of four words. */
static doubles round_four(words w0, words w1, words w2, words w3, int exponent)
{
    const words no3 = TRUTH(w3 == 0), no2 = no3 & TRUTH(w2 == 0), no1 = no2 & TRUTH(w1 == 0);
    const words high = choose(no1, w0, choose(no2, w1, choose(no3, w2, w3)));
    const words low = choose(no2, w0, choose(no3, w1, w2)) & ~no1;
    const words sticky = choose(no3, w0, w1 | w0) & ~no2;
    const words places = (words)3 + no1 + no2 + no3;
    return round_words(high, low, sticky,
                       (signed_words)(exponent - 64) + AS_CHANNELS(long, places << 6));
}

/* The value of `count` limbs from 2^-low on; `sum` is their magnitude. */
static doubles value_of(private const signed_words *limbs, int count, int low, private words *sum)
{
    const words negative = words_of(limbs, count, sum);
    return negative_where(negative, round_four(sum[0], sum[1], sum[2], 0, -low));
}

/* The borrow of a - b. */
static words below(words a, words b)
{
    return TRUTH(a < b) & 1;
}

/* n^2 times the variance, (n squares 2^shift - sum^2) 2^exponent, rounded once; 0 if negative. */
static doubles n2_variance(private const words *sum, private const words *squares, words negative,
                           words n, int shift, int exponent)
{
    /* The words of n squares, */
    const words high0 = high_product(squares[0], n), low1 = squares[1] * n;
    const words high1 = high_product(squares[1], n), low2 = squares[2] * n;
    const words p0 = squares[0] * n, p1 = low1 + high0, carry1 = below(p1, low1);
    const words part2 = low2 + high1, p2 = part2 + carry1;
    const words p3 = high_product(squares[2], n) + below(part2, low2) + below(p2, carry1);
    const words a0 = p0 << shift, a1 = p1 << shift | beyond(p0, shift);
    const words a2 = p2 << shift | beyond(p1, shift), a3 = p3 << shift | beyond(p2, shift);
    /* those of the square of a sum of two words, */
    const words cross_low = sum[0] * sum[1], cross_high = high_product(sum[0], sum[1]);
    const words twice0 = cross_low + cross_low;
    const words twice1 = cross_high + cross_high + below(twice0, cross_low);
    const words q0 = sum[0] * sum[0], q1 = high_product(sum[0], sum[0]) + twice0;
    const words top_low = sum[1] * sum[1], part = top_low + twice1;
    const words q2 = part + below(q1, twice0);
    const words q3 = high_product(sum[1], sum[1]) + (cross_high >> 63) + below(part, top_low) +
                     below(q2, part);
    /* and of the difference. */
    const words borrow0 = below(a0, q0), less1 = a1 - q1, r1 = less1 - borrow0;
    const words borrow1 = below(a1, q1) + below(less1, borrow0);
    const words less2 = a2 - q2, r2 = less2 - borrow1;
    const words borrow2 = below(a2, q2) + below(less2, borrow1);
    const words less3 = a3 - q3, r3 = less3 - borrow2;
    const words none = TRUTH(a3 < q3) | TRUTH(less3 < borrow2) | negative;
    return choose_double(none, ZERO, round_four(a0 - q0, r1, r2, r3, exponent));
}
#endif
