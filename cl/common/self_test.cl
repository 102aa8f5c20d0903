/*
 * Tests the arithmetic that the other kernels rely on, before a device's first use: each rule of
 * src/program/self_test_rules.c, on CASES cases. Rows of operands and results are in the order of that file:
 *
 *   reals:    [row][3][CASES], real_results [row][CASES]
 *   integers: [row][2][CASES], integer_results [row][CASES]
 *
 * One work-group: a work-item computes WIDTH cases, in the types that the kernels use. `terms` is
 * an argument so that the compiler cannot unroll the loop of a sum. After the last row of integers
 * there are two flags: whether the kernels sum with doubles, and whether they combine.
 */
#define REALS(row, operand) LOAD(reals + ((row) * 3 + (operand)) * CASES + at)
#if CPU_FORM
#define SELF_TEST_ITEMS 1
#define INTEGERS(row, operand) vload16(0, integers + ((row) * 2 + (operand)) * CASES + at)
#define PUT_REALS(row, v) store_vector(v, real_results + (row) * CASES + at)
#define PUT_INTEGERS(row, v) vstore16(AS(ulong, v), 0, integer_results + (row) * CASES + at)
#else
#define SELF_TEST_ITEMS CASES
#define INTEGERS(row, operand) (integers[((row) * 2 + (operand)) * CASES + at])
#define PUT_REALS(row, v) (real_results[(row) * CASES + at] = (v))
#define PUT_INTEGERS(row, v) (integer_results[(row) * CASES + at] = AS(ulong, v))
#endif

static real self_test_sum(real first, real term, uint terms)
{
    real sum = first;
    for (uint i = 0; i < terms; ++i)
        sum += term;
    return sum;
}

static ulong self_test_class(float v)
{
    return (isnan(v) ? 1 : 0) | (isinf(v) ? 2 : 0) | (v > 0.0f ? 4 : 0) | (v == v ? 8 : 0);
}

/* Rows of reals. */
static void self_test_reals(global const float *reals, global float *real_results, uint terms,
                            uint at)
{
    PUT_REALS(0, fma(REALS(0, 0), REALS(0, 1), REALS(0, 2)));
    PUT_REALS(1, REALS(1, 0) * REALS(1, 1) + REALS(1, 2));
    PUT_REALS(2, REALS(2, 0) + REALS(2, 1));
    PUT_REALS(3, REALS(3, 0) * REALS(3, 1));
    PUT_REALS(4, REALS(4, 0) + REALS(4, 1) - REALS(4, 0) - REALS(4, 1));
    PUT_REALS(5, self_test_sum(REALS(5, 0), REALS(5, 1), terms));
    PUT_REALS(6, REALS(6, 0) - REALS(6, 0));
}

static real self_test_real(uwides bits)
{
    return AS(float, CONVERT(uint, bits));
}

/* Rows of integers; in rows 9 and 12 operands are the bits of floats. */
static void self_test_integers(global const ulong *integers, global ulong *integer_results, uint at)
{
    PUT_INTEGERS(0, INTEGERS(0, 0) << INTEGERS(0, 1));
    PUT_INTEGERS(1, INTEGERS(1, 0) >> INTEGERS(1, 1));
    PUT_INTEGERS(2, AS(long, INTEGERS(2, 0)) >> INTEGERS(2, 1));
    PUT_INTEGERS(3, INTEGERS(3, 0) + INTEGERS(3, 1));
    PUT_INTEGERS(4, INTEGERS(4, 0) * INTEGERS(4, 1));
    PUT_INTEGERS(5, CONVERT(long, AS(int, CONVERT(uint, INTEGERS(5, 0)))));
    PUT_INTEGERS(6, CONVERT(ulong, CONVERT(uint, INTEGERS(6, 0))));
    for (uint i = at; i < at + WIDTH; ++i) {
        global const ulong *operand = integers + i;
        integer_results[7 * CASES + i] = quotient(operand[14 * CASES], operand[15 * CASES]);
        integer_results[8 * CASES + i] = quotient_long(operand[16 * CASES], operand[17 * CASES]);
        integer_results[9 * CASES + i] = self_test_class(as_float((uint)operand[18 * CASES]));
        integer_results[10 * CASES + i] = mul_hi(operand[20 * CASES], operand[21 * CASES]);
    }
    PUT_INTEGERS(11, clz(INTEGERS(11, 0)));
    const real product = self_test_real(INTEGERS(12, 0)) * self_test_real(INTEGERS(12, 1));
    PUT_INTEGERS(12, CONVERT(ulong, AS(uint, plus_zero(product))));
}

/* Doubles: the operands are further rows of reals, the results further rows of integers. */
#if SUMS_DOUBLES
static void self_test_summing(global const float *reals, global ulong *integer_results, uint at)
{
    const double16 splitter = convert_double16(REALS(8, 1));
    const double16 sum = convert_double16(REALS(8, 0)) + splitter;
    const double16 other_sum = convert_double16(REALS(9, 0)) + splitter;
    PUT_INTEGERS(13, convert_double16(REALS(7, 0)) * convert_double16(REALS(7, 1)));
    PUT_INTEGERS(14, as_long16(sum) - as_long16(splitter));
    PUT_INTEGERS(15, convert_double16(REALS(9, 0)) - (other_sum - splitter));
    PUT_INTEGERS(16, convert_long16(convert_double16(REALS(10, 0))));
}
#endif

#if COMBINES
#define DOUBLES_OF(row, operand) \
    OF_FLOATS(LOAD_CHANNELS(reals + ((row) * 3 + (operand)) * CASES + at))
#define LONG_OF(row, operand) \
    CONVERT_CHANNELS(long, LOAD_CHANNELS(reals + ((row) * 3 + (operand)) * CASES + at))
#define PUT_WORDS(row, v) STORE_CHANNELS(v, integer_results + (row) * CASES + at)

static void self_test_combining(global const float *reals, global ulong *integer_results, uint at)
{
    const doubles a13 = DOUBLES_OF(13, 0), b13 = DOUBLES_OF(13, 1);
    const doubles sum13 = PLUS(a13, b13), square = TIMES(sum13, sum13);
    const signed_words sum14 = LONG_OF(14, 0) * (1L << 38) + LONG_OF(14, 1);
    const words minus14 = TRUTH(sum14 < 0);
    const doubles sum15 = PLUS(DOUBLES_OF(15, 0), DOUBLES_OF(15, 1));
    PUT_WORDS(17, BITS(divide_exactly(DOUBLES_OF(11, 0), DOUBLES_OF(11, 1))));
    PUT_WORDS(18, BITS(root(DOUBLES_OF(12, 0))));
    PUT_WORDS(19, BITS(MINUS(square, PLUS(sum13, b13))));
    PUT_WORDS(20, BITS(negative_where(minus14, round_words(abs(sum14), 0, 0, -64))));
    PUT_WORDS(21, CONVERT_CHANNELS(ulong, AS_CHANNELS(uint, TO_FLOATS(sum15))));
}
#endif

kernel __attribute__((reqd_work_group_size(SELF_TEST_ITEMS, 1, 1)))
void self_test(global const float *restrict reals, global const ulong *restrict integers,
               global const uint *restrict terms, global float *restrict real_results,
               global ulong *restrict integer_results)
{
    const uint at = get_local_id(0) * WIDTH;
    self_test_reals(reals, real_results, *terms, at);
    self_test_integers(integers, integer_results, at);
#if SUMS_DOUBLES
    self_test_summing(reals, integer_results, at);
#endif
#if COMBINES
    for (uint i = at; i < at + WIDTH; i += ABREAST)
        self_test_combining(reals, integer_results, i);
#endif
    if (at == 0) {
        integer_results[22 * CASES] = SUMS_DOUBLES;
        integer_results[22 * CASES + 1] = COMBINES;
    }
}
