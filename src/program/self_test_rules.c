#include "program/self_test_rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "program/kernel_constants.h"
#include "program/self_test_run.h"

enum {
    CASES = SBN_SELF_TEST_CASES,
    REALS = 7,
    INTEGERS = 13,
    SUMMING = 4,           /* of doubles: where sums use them */
    DOUBLES = SUMMING + 5, /* the others: where devices combine */
    TERMS = 8              /* of a sum, after the first */
};

/*
 * The kernel's arguments on the host. After the last row of integer results the kernel writes
 * whether the kernels sum with doubles, and whether they combine: 1 or 0.
 */
typedef struct test_data {
    float reals[REALS + DOUBLES][3][CASES];
    uint64_t integers[INTEGERS][2][CASES];
    uint32_t terms;
    float real_results[REALS][CASES];
    uint64_t integer_results[INTEGERS + DOUBLES + 1][CASES];
} test_data;

/* Cases are repeated until there are CASES, so that each lane of a vector has some of each rule. */
typedef struct real_rule {
    const char *rule;
    struct {
        float a, b, c, expected;
    } cases[4];
} real_rule;

/*
 * In the order of the kernel's rows. No operand, result or step is a denormal: devices may flush
 * those. 8392705 * 8384513 = 2^46 + 1 and 8388607 * 8388609 = 2^46 - 1: fma in doubles, rounded
 * again to float, meets a tie that is none.
 */
static const real_rule real_rules[REALS] = {
    {"fma(a, b, c) rounds once",
     {{0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f, 0x1p-46f},
      {8392705 * 0x1p-35f, 8384513 * 0x1p-35f, 1.0f, 0x1.000002p0f},
      {8388607 * 0x1p-35f, 8388609 * 0x1p-35f, 0x1.000002p0f, 0x1.000002p0f},
      {-0x1.fffffep-1f, 0x1.fffffep-1f, 0x1.fffffcp-1f, -0x1p-48f}}},
    {"a * b + c rounds twice",
     {{0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f, 0.0f},
      {0x1.fffffep-1f, 0x1.fffffep-1f, -0x1.fffffcp-1f, 0.0f},
      {-0x1.001p0f, 0x1.001p0f, 0x1.002p0f, 0.0f},
      {2.0f, 3.0f, 1.0f, 7.0f}}},
    {"a + b is rounded to the nearest, ties to even",
     {{1.0f, 0x1p-24f, 0.0f, 1.0f},
      {0x1.000002p0f, 0x1p-24f, 0.0f, 0x1.000004p0f},
      {-1.0f, -0x1.000002p-24f, 0.0f, -0x1.000002p0f},
      {1.0f, -0x1p-25f, 0.0f, 1.0f}}},
    {"a * b is rounded to the nearest, ties to even",
     {{0x1.001p0f, 0x1.001p0f, 0.0f, 0x1.002p0f},
      {-0x1.001p0f, 0x1.001002p0f, 0.0f, -0x1.002004p0f},
      {0x1.fffffep0f, 0x1.fffffep0f, 0.0f, 0x1.fffffcp1f},
      {0x1p127f, 4.0f, 0.0f, INFINITY}}},
    {"a + b - a - b is computed in this order",
     {{0x1p24f, 1.0f, 0.0f, -1.0f},
      {1.0f, 0x1p-30f, 0.0f, -0x1p-30f},
      {-0x1p24f, -1.0f, 0.0f, 1.0f},
      {1.0f, 2.0f, 0.0f, 0.0f}}},
    {"a sum adds its terms in order, a + b + b + b + b + b + b + b + b",
     {{1.0f, 0x1p-24f, 0.0f, 1.0f},
      {0x1p24f, 1.0f, 0.0f, 0x1p24f},
      {-1.0f, -0x1p-24f, 0.0f, -1.0f},
      {-0x1p24f, 1.0f, 0.0f, -16777208.0f}}},
    {"a - a is 0, and NaN of an infinity or NaN",
     {{INFINITY, 0.0f, 0.0f, NAN},
      {NAN, 0.0f, 0.0f, NAN},
      {-INFINITY, 0.0f, 0.0f, NAN},
      {0x1.8p100f, 0.0f, 0.0f, 0.0f}}},
};

typedef struct integer_rule {
    const char *rule;
    struct {
        uint64_t a, b, expected;
    } cases[4];
} integer_rule;

static const integer_rule integer_rules[INTEGERS] = {
    {"a << b of 64 bits",
     {{1, 63, UINT64_C(0x8000000000000000)},
      {UINT64_C(0x0123456789abcdef), 4, UINT64_C(0x123456789abcdef0)},
      {UINT64_MAX, 0, UINT64_MAX},
      {3, 32, UINT64_C(0x300000000)}}},
    {"a >> b of 64 bits",
     {{UINT64_C(0x8000000000000000), 63, 1},
      {UINT64_C(0xfedcba9876543210), 36, 0xfedcba9},
      {UINT64_MAX, 0, UINT64_MAX},
      {UINT64_C(0xffffffff00000000), 32, 0xffffffff}}},
    {"a >> b of signed 64 bits",
     {{UINT64_C(0xffff000000000000), 48, UINT64_MAX},
      {UINT64_C(0x8000000000000000), 31, UINT64_C(0xffffffff00000000)},
      {UINT64_C(0x7fff000000000000), 48, 0x7fff},
      {UINT64_C(0xfedcba9876543210), 4, UINT64_C(0xffedcba987654321)}}},
    {"a + b of 64 bits",
     {{0xffffffff, 1, UINT64_C(0x100000000)},
      {UINT64_MAX, 1, 0},
      {UINT64_C(0x7fffffffffffffff), 1, UINT64_C(0x8000000000000000)},
      {UINT64_C(0xffff000000000000), UINT64_C(0xffffffffffff), UINT64_MAX}}},
    {"a * b of 64 bits",
     {{0xffffffff, 0xffffffff, UINT64_C(0xfffffffe00000001)},
      {UINT64_C(0x123456789), UINT64_C(0x987654321), UINT64_C(0xd77d742cce1833a9)},
      {UINT64_MAX, UINT64_MAX, 1},
      {UINT64_C(0x100000001), 0x80000007, UINT64_C(0x8000000780000007)}}},
    {"conversion of a signed integer to 64 bits",
     {{0x80000000, 0, UINT64_C(0xffffffff80000000)},
      {0xffffffff, 0, UINT64_MAX},
      {0x7fffffff, 0, 0x7fffffff},
      {0, 0, 0}}},
    {"conversion of an unsigned integer to 64 bits",
     {{0x80000000, 0, 0x80000000},
      {0xffffffff, 0, 0xffffffff},
      {0x7fffffff, 0, 0x7fffffff},
      {0, 0, 0}}},
    {"a / b of 32 bits",
     {{0xffffffff, 3, 0x55555555}, {0xfffffffe, 0xffffffff, 0}, {100, 7, 14}, {99, 100, 0}}},
    {"a / b of 64 bits",
     {{UINT64_MAX, 3, UINT64_C(0x5555555555555555)},
      {UINT64_C(1000000000000000000), 1000000007, 999999993},
      {UINT64_C(0x8000000000000000), UINT64_C(0x8000000000000001), 0},
      {100, 7, 14}}},
    {"NaN and infinities are recognised",
     {{0x7fc00000, 0, 1}, {0x7f800000, 0, 14}, {0xff800000, 0, 10}, {0x40400000, 0, 12}}},
    {"the high half of a * b of 64 bits",
     {{UINT64_MAX, UINT64_MAX, UINT64_C(0xfffffffffffffffe)},
      {UINT64_C(0x100000000), UINT64_C(0x100000000), 1},
      {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210), UINT64_C(0x121fa00ad77d742)},
      {0xffffffff, 0xffffffff, 0}}},
    {"leading zeros of 64 bits",
     {{1, 0, 63}, {UINT64_MAX, 0, 0}, {UINT64_C(0x100000000), 0, 31}, {0xffffffff, 0, 32}}},
    /* Of the bits of floats. */
    {"a zero is stored as +0",
     {{0x80000000, 0x3f800000, 0},
      {0, 0xc0400000, 0},
      {0x3f800000, 0x80000000, 0},
      {0xc0000000, 0x3f000000, 0xbf800000}}},
};

/* Where the kernels use doubles: of floats, results as bits of 64. 0x1.8p52 splits off the integer. */
typedef struct double_rule {
    const char *rule;
    struct {
        float a, b;
        uint64_t expected;
    } cases[4];
} double_rule;

static const double_rule double_rules[DOUBLES] = {
    {"a product of floats is exact in double precision",
     {{0x1.000002p0f, 0x1.000002p0f, UINT64_C(0x3ff0000040000040)},
      {0x1.fffffep0f, 0x1.fffffep0f, UINT64_C(0x400fffffc0000020)},
      {3.0f, 0.5f, UINT64_C(0x3ff8000000000000)},
      {-1.0f, 1.0f, UINT64_C(0xbff0000000000000)}}},
    {"a + b in double precision, less b as integers",
     {{3.75f, 0x1.8p52f, 4},
      {-2.5f, 0x1.8p52f, UINT64_MAX - 1},
      {0x1p40f, 0x1.8p52f, UINT64_C(0x10000000000)},
      {0.25f, 0x1.8p52f, 0}}},
    {"a - (a + b - b) in double precision is computed in this order",
     {{3.75f, 0x1.8p52f, UINT64_C(0xbfd0000000000000)},
      {-2.5f, 0x1.8p52f, UINT64_C(0xbfe0000000000000)},
      {3.0f, 0x1.8p52f, 0},
      {0.25f, 0x1.8p52f, UINT64_C(0x3fd0000000000000)}}},
    {"conversion of double precision to integers",
     {{0x1p40f, 0.0f, UINT64_C(0x10000000000)},
      {-3.0f, 0.0f, UINT64_MAX - 2},
      {0x1p62f, 0.0f, UINT64_C(0x4000000000000000)},
      {0.0f, 0.0f, 0}}},
    {"a / b in double precision is rounded to the nearest, ties to even",
     {{1.0f, 3.0f, UINT64_C(0x3fd5555555555555)},
      {-2.0f, 3.0f, UINT64_C(0xbfe5555555555555)},
      {5.0f, 3.0f, UINT64_C(0x3ffaaaaaaaaaaaab)},
      {1.0f, 0.0f, UINT64_C(0x7ff0000000000000)}}},
    {"a square root in double precision is rounded to the nearest",
     {{2.0f, 0.0f, UINT64_C(0x3ff6a09e667f3bcd)},
      {3.0f, 0.0f, UINT64_C(0x3ffbb67ae8584caa)},
      {0x1.4f8b58p-17f, 0.0f, UINT64_C(0x3f69e7c6deb632d0)},
      {1.0f, 0.0f, UINT64_C(0x3ff0000000000000)}}},
    {"(a + b)^2 - (a + b + b) in double precision rounds the square",
     {{1.0f, 0x1p-30f, 0},
      {1.0f, 0x1p-28f, 0},
      {1.0f, -0x1p-30f, 0},
      {2.0f, 1.0f, UINT64_C(0x4014000000000000)}}},
    {"conversion of a 2^38 + b of 64 bits to double precision is rounded to the nearest",
     {{16777215.0f, 256.0f, UINT64_C(0x43cfffffe0000000)},
      {16777215.0f, 768.0f, UINT64_C(0x43cfffffe0000002)},
      {16777215.0f, 257.0f, UINT64_C(0x43cfffffe0000001)},
      {-1.0f, 1.0f, UINT64_C(0xc24fffffffff8000)}}},
    {"conversion of a + b in double precision to single is rounded to the nearest, ties to even",
     {{1.0f, 0x1p-24f, 0x3f800000},
      {1.0f, 0x1.8p-23f, 0x3f800002},
      {1.0f, 0x1.000002p-24f, 0x3f800001},
      {0x1.fffffep127f, 0x1p103f, 0x7f800000}}},
};

static void fill(test_data *t)
{
    memset(t, 0xa5, sizeof *t); /* a result that is never written is wrong */
    t->terms = TERMS;
    for (size_t l = 0; l < CASES; ++l) {
        const size_t i = l % 4;
        for (size_t r = 0; r < REALS; ++r) {
            t->reals[r][0][l] = real_rules[r].cases[i].a;
            t->reals[r][1][l] = real_rules[r].cases[i].b;
            t->reals[r][2][l] = real_rules[r].cases[i].c;
        }
        for (size_t r = 0; r < DOUBLES; ++r) {
            t->reals[REALS + r][0][l] = double_rules[r].cases[i].a;
            t->reals[REALS + r][1][l] = double_rules[r].cases[i].b;
        }
        for (size_t r = 0; r < INTEGERS; ++r) {
            t->integers[r][0][l] = integer_rules[r].cases[i].a;
            t->integers[r][1][l] = integer_rules[r].cases[i].b;
        }
    }
}

/* 1 if the results are right; else 0 and in `text` the first rule broken and the case. */
static int judge_reals(const test_data *t, char *text, size_t size)
{
    for (size_t r = 0; r < REALS; ++r)
        for (size_t l = 0; l < CASES; ++l) {
            const float *a = &t->reals[r][0][l], got = t->real_results[r][l];
            const float expected = real_rules[r].cases[l % 4].expected;
            if (got == expected || (isnan(got) && isnan(expected)))
                continue;
            snprintf(text, size, "%s: a %a, b %a, c %a: expected %a, got %a", real_rules[r].rule,
                     (double)a[0], (double)a[CASES], (double)a[2 * CASES], (double)expected,
                     (double)got);
            return 0;
        }
    return 1;
}

static int judge_integers(const test_data *t, char *text, size_t size)
{
    for (size_t r = 0; r < INTEGERS; ++r)
        for (size_t l = 0; l < CASES; ++l) {
            const uint64_t got = t->integer_results[r][l];
            const uint64_t expected = integer_rules[r].cases[l % 4].expected;
            if (got == expected)
                continue;
            snprintf(text, size,
                     "%s: a 0x%" PRIx64 ", b 0x%" PRIx64 ": expected 0x%" PRIx64 ", got 0x%" PRIx64,
                     integer_rules[r].rule, t->integers[r][0][l], t->integers[r][1][l], expected,
                     got);
            return 0;
        }
    return 1;
}

static int judge_doubles(const test_data *t, char *text, size_t size)
{
    /* Whether kernels sum with doubles, and whether they combine. */
    const uint64_t *has = t->integer_results[INTEGERS + DOUBLES];
    for (size_t r = 0; r < DOUBLES; ++r)
        for (size_t l = 0; l < CASES && has[r >= SUMMING]; ++l) {
            const uint64_t got = t->integer_results[INTEGERS + r][l];
            const uint64_t expected = double_rules[r].cases[l % 4].expected;
            if (got == expected)
                continue;
            snprintf(text, size, "%s: a %a, b %a: expected 0x%" PRIx64 ", got 0x%" PRIx64,
                     double_rules[r].rule, (double)t->reals[REALS + r][0][l],
                     (double)t->reals[REALS + r][1][l], expected, got);
            return 0;
        }
    return 1;
}

int sbn__self_test_arithmetic(const sbn_program *program)
{
    test_data t;
    char broken[256];
    fill(&t);
    const int status =
        sbn__self_test_run(program,
                           &(sbn_self_test_launch){
                               .kernel = "self_test",
                               .items = (size_t)sbn__form_sizes(program->form)->self_test_items,
                               .groups = {1, 1},
                               .count = 5,
                               .buffers = {{t.reals, sizeof t.reals},
                                           {t.integers, sizeof t.integers},
                                           {&t.terms, sizeof t.terms},
                                           {t.real_results, sizeof t.real_results},
                                           {t.integer_results, sizeof t.integer_results}},
                           });
    if (status ||
        (judge_reals(&t, broken, sizeof broken) && judge_integers(&t, broken, sizeof broken) &&
         judge_doubles(&t, broken, sizeof broken)))
        return status;
    return sbn__self_test_broken(program, "arithmetic", broken);
}
