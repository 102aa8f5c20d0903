/*
 * The sums of accumulator.cl in double arithmetic, for the CPU form on devices that have doubles: several times as
 * fast, with the same limbs. It is used if no bit of a term would be cut, which is nearly always the case.
 *
 * To split a double into a limb and a rest, 1.5 2^52 units of the limb are added: the low bits of the sum are then
 * the limb, rounded to an integer, and the difference, the rest, is exact.
 */
#if SUMS_DOUBLES

/* The number that splits off limb k of a format, whose unit is 2^(LIMB_BITS k - low). */
#define SPLITTER(low, k) as_double((1075L + LIMB_BITS * (k) - (low)) << 52 | 0x8000000000000L)

/*
 * The exponent of v's lowest set bit; a large number for 0. The mantissa's lowest bit, 2^23 at most, set in
 * the bits of the float 2^23, adds its own value, and the exponent of the difference is its place. Before
 * AVX-512 CPUs count leading zeros (clz) one component at a time.
 */
static ints lowest_bit(real v)
{
    const uints bits = AS(uint, v), biased = (bits >> 23) & 255u;
    const uints m = mantissa_of(bits, biased), lowest = m & -m;
    const ints exponent = AS(int, AS(float, lowest | AS(uint, (real)0x1p23f)) - 0x1p23f) >> 23;
    return select(AS(int, max(biased, (uints)1)) + exponent - (127 + 150), (ints)1000, v == 0.0f);
}

/* Adds t, which is a multiple of the lowest limb's unit and fits `count` limbs. */
static void add_double(private wides *limbs, int low, int count, double16 t)
{
#pragma unroll
    for (int k = count - 1; k >= 0; --k) {
        const double splitter = SPLITTER(low, k);
        const double16 sum = t + splitter;
        limbs[k] += as_long16(sum) - as_long(splitter);
        t -= sum - splitter;
    }
}
#endif
