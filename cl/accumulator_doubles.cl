/*
 * The sums of accumulator.cl by arithmetic on doubles, for devices of the CPU form that
 * have them: several times as fast, where no bit of a term would be cut, which
 * is nearly always. The limbs are the same.
 *
 * A double splits into a limb and the rest by adding 1.5 2^52 units of the
 * limb: what then stands in the low bits of the sum is the limb, rounded, as
 * an integer, and the rest is exact.
 */
#if SUMS_DOUBLES && !WIDE
#define DOUBLES 1

/* The number that splits off limb k of a format, whose unit is 2^(LIMB_BITS k - low). */
#define SPLITTER(low, k) as_double((1075L + LIMB_BITS * (k) - (low)) << 52 | 0x8000000000000L)

/* The exponent of v's lowest bit; of 0 a large one. */
static ints lowest_bit(real v)
{
    const uints bits = AS(uint, v), biased = (bits >> 23) & 255u;
    const uints m = mantissa_of(bits, biased), lowest = m & -m;
    return select(AS(int, max(biased, (uints)1) - clz(lowest)) + (31 - 150), (ints)1000, v == 0.0f);
}

/* Takes limb k from t. */
static double16 split_limb(private wides *limbs, int low, int k, double16 t)
{
    const double splitter = SPLITTER(low, k);
    const double16 sum = t + splitter;
    limbs[k] += as_long16(sum) - as_long(splitter);
    return t - (sum - splitter);
}

/* Adds t, a multiple of the lowest limb's unit, of `count` limbs. */
static void add_double(private wides *limbs, int low, int count, double16 t)
{
#pragma unroll
    for (int k = count - 1; k >= 0; --k)
        t = split_limb(limbs, low, k, t);
}
#else
#define DOUBLES 0
#endif
