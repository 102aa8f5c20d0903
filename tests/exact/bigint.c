/*
 * Wide integers (src/exact/bigint.h) against the compiler's 128-bit ones, on random numbers of every
 * length, and against values known beforehand where 128 bits do not reach.
 */
#include <math.h>
#include <string.h>

#include "check/mix.h"
#include "exact/bigint.h"
#include "support/tap.h"

/* A limb of up to `bits` bits and a sign; short ones are as frequent as long ones. */
static int64_t random_limb(uint64_t number, int bits)
{
    const int64_t value = (int64_t)(mix(1, number) >> 1) >> (mix(2, number) % 63);
    const int64_t kept = bits < 63 ? value & ((INT64_C(1) << bits) - 1) : value;
    return mix(3, number) & 1 ? -kept : kept;
}

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 wide;

enum { ROUNDS = 200000 };

static sbn_bigint big_of(int64_t value)
{
    sbn_bigint result;
    sbn__bigint_from_limbs(&result, &value, 1, 32);
    return result;
}

/* value 2^-low, rounded once: the compiler rounds to nearest, ties to even. */
static double expected_of(wide value, int low)
{
    return ldexp((double)value, -low);
}

static void limbs_against_128_bits(int bits)
{
    int wrong = 0;
    uint64_t first = 0;
    for (uint64_t i = 0; i < ROUNDS; ++i) {
        const int64_t limbs[2] = {random_limb(2 * i, 63), random_limb(2 * i + 1, 126 - bits - 1)};
        /* Not a shift: the limb may be negative. */
        const wide value = limbs[0] + limbs[1] * ((wide)1 << bits);
        sbn_bigint big;
        sbn__bigint_from_limbs(&big, limbs, 2, bits);
        if (sbn__bigint_to_double(&big, -7) != expected_of(value, 7) && !wrong++)
            first = i;
    }
    tap_ok(!wrong, "%d numbers from two limbs of %d bits, of both signs: %d wrong, first no. %llu",
           ROUNDS, bits, wrong, (unsigned long long)first);
}

static void arithmetic_against_128_bits(void)
{
    int products = 0, differences = 0, shifts = 0;
    for (uint64_t i = 0; i < ROUNDS; ++i) {
        const int64_t a = random_limb(2 * i, 63), b = random_limb(2 * i + 1, 63);
        const int64_t c = a < 0 ? -a : a, d = b < 0 ? -b : b;
        const int by = (int)(mix(4, i) % 200);
        const sbn_bigint p = big_of(a), q = big_of(b), r = big_of(c), s = big_of(d);
        sbn_bigint result;
        sbn__bigint_multiply(&result, &p, &q);
        products += sbn__bigint_to_double(&result, 0) != (double)((wide)a * b);
        sbn__bigint_subtract(&result, &r, &s);
        differences += sbn__bigint_to_double(&result, 0) != (double)((wide)c - d);
        sbn__bigint_shift_left(&result, &p, by);
        shifts += sbn__bigint_to_double(&result, -by) != (double)a;
    }
    tap_ok(!products, "%d products of 63 bits: %d wrong", ROUNDS, products);
    tap_ok(!differences, "%d differences: %d wrong", ROUNDS, differences);
    tap_ok(!shifts, "%d shifts by 0 to 199: %d wrong", ROUNDS, shifts);
}
#endif

static void known_limbs(void)
{
    const struct {
        const char *what;
        int bits, count;
        int64_t limbs[4];
        double value;
    } list[] = {
        {"zero", 32, 3, {0, 0, 0}, 0.0},
        {"one", 32, 1, {1}, 1.0},
        {"minus one", 48, 1, {-1}, -1.0},
        {"a borrow through all limbs", 32, 4, {-1, 0, 0, 1}, 0x1p96},
        {"a carry through all limbs", 32, 3, {0x100000000, 0xffffffff, 0xffffffff}, 0x1p96},
        {"a limb that exceeds its bits", 48, 2, {INT64_C(1) << 60, 1}, 0x1p60 + 0x1p48},
        {"limbs that cancel", 48, 2, {-(INT64_C(1) << 48), 1}, 0.0},
        {"the lowest int64", 32, 2, {INT64_MIN, 0}, -0x1p63},
        {"the lowest int64 on top", 48, 2, {0, INT64_MIN}, -0x1p111},
        {"the highest int64 on top", 48, 3, {0, 0, INT64_MAX}, 0x1p159},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        sbn_bigint big;
        sbn__bigint_from_limbs(&big, list[i].limbs, list[i].count, list[i].bits);
        const double value = sbn__bigint_to_double(&big, 0);
        tap_ok(value == list[i].value && (value != 0.0 || (!big.negative && big.length == 0)),
               "%s: expected %a, got %a", list[i].what, list[i].value, value);
    }
}

/* 2^53 + 2^53 odd + half + rest, `up` bits higher: rounding looks at all that lies below. */
static void known_roundings(void)
{
    int wrong = 0, cases = 0;
    for (int up = 70; up < 700; ++up)
        for (int odd = 0; odd < 2; ++odd)
            for (int half = 0; half < 2; ++half)
                for (int rest = 0; rest < 2; ++rest)
                    for (int sign = -1; sign < 2; sign += 2) {
                        /* The rest is the very lowest bit, far from the half. */
                        sbn_bigint head, big;
                        sbn__bigint_from_uint64(&head, (UINT64_C(1) << 53) + 2 * (unsigned)odd +
                                                           (unsigned)half);
                        sbn__bigint_shift_left(&big, &head, up);
                        big.limb[0] |= (unsigned)rest;
                        big.negative = sign < 0;
                        const double unit = 0x1p-52, nearest = half && (odd || rest) ? unit : 0.0;
                        const double expected = sign * (1.0 + odd * unit + nearest);
                        wrong += sbn__bigint_to_double(&big, -53 - up) != expected;
                        ++cases;
                    }
    tap_ok(!wrong, "to nearest, ties to even, with bits down to 700 below: %d of %d wrong", wrong,
           cases);
}

/* (2^448 - 1)^2 = 2^896 - 2^449 + 1, and 2^896 - 1 less that is 2^449 - 2. */
static void longest_numbers(void)
{
    sbn_bigint ones, square, one, power, difference, rest;
    int64_t limbs[14];
    for (int k = 0; k < 14; ++k)
        limbs[k] = 0xffffffff;
    sbn__bigint_from_limbs(&ones, limbs, 14, 32);
    sbn__bigint_multiply(&square, &ones, &ones);
    sbn__bigint_from_uint64(&one, 1);
    sbn__bigint_shift_left(&power, &one, 896);
    sbn__bigint_subtract(&difference, &power, &square);
    sbn__bigint_subtract(&rest, &difference, &one);
    sbn__bigint_shift_left(&power, &one, 449);
    sbn__bigint_subtract(&one, &power, &rest);
    tap_ok(sbn__bigint_to_double(&rest, -449) == 1.0 && sbn__bigint_to_double(&one, 0) == 2.0,
           "2^896 - (2^448 - 1)^2 - 1 = 2^449 - 2");
    sbn__bigint_subtract(&rest, &square, &square);
    tap_ok(rest.length == 0 && !rest.negative, "a - a is zero, without a sign");
}

int main(void)
{
#ifdef __SIZEOF_INT128__
    limbs_against_128_bits(32);
    limbs_against_128_bits(48);
    arithmetic_against_128_bits();
#else
    tap_skip("this compiler has no 128-bit integers");
#endif
    known_limbs();
    known_roundings();
    longest_numbers();
    return tap_done();
}
