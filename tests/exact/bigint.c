/*
 * Wide integers (src/exact/bigint.h) against values known beforehand: those that borrow and carry through all
 * limbs, and longer ones than the 192 bits in which tests/exact/int192.c has random ones.
 */
#include <stddef.h>

#include "exact/bigint.h"
#include "support/tap.h"

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

static void signs(void)
{
    for (int64_t a = -3; a <= 3; a += 3)
        for (int64_t b = -5; b <= 5; b += 5) {
            sbn_bigint one, other, product;
            sbn__bigint_from_limbs(&one, &a, 1, 32);
            sbn__bigint_from_limbs(&other, &b, 1, 32);
            sbn__bigint_multiply(&product, &one, &other);
            const double value = sbn__bigint_to_double(&product, 0);
            tap_ok(value == (double)(a * b) && (value != 0.0 || !product.negative),
                   "%d times %d: got %g", (int)a, (int)b, value);
        }
}

int main(void)
{
    known_limbs();
    known_roundings();
    longest_numbers();
    signs();
    return tap_done();
}
