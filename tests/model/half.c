/*
 * The 16-bit types of checkpoints (src/safetensors/half.h): every value is read and written. How
 * floats between two are rounded: tests/pass/storage, by devices.
 */
#include "safetensors/half.h"

#include <math.h>

#include "support/tap.h"

/* Halves by their definition, and back, of a NaN its payload, too; bfloats to floats and back. */
static void check_half(void)
{
    int wrong = 0, wrong_back = 0, wrong_bfloat = 0;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const unsigned exponent = bits >> 10 & 31, mantissa = bits & 1023;
        double value = exponent == 31  ? mantissa ? NAN : INFINITY
                       : exponent == 0 ? ldexp(mantissa, -24)
                                       : ldexp(1024 + mantissa, (int)exponent - 25);
        if (bits & 0x8000)
            value = -value;
        const float got = sbn__float_of_half((uint16_t)bits);
        wrong += isnan(value) ? !isnan(got) : got != value || !signbit(got) != !signbit(value);
        const uint16_t back = sbn__half_of_float(got);
        wrong_back += back != (isnan(got) ? bits | 0x200 : bits);
        const float wide = sbn__float_of_bfloat((uint16_t)bits);
        const uint16_t narrow = sbn__bfloat_of_float(wide);
        wrong_bfloat += narrow != (isnan(wide) ? bits | 0x40 : bits);
    }
    tap_ok(!wrong && !wrong_back, "65536 halves: %d read wrongly, %d written wrongly", wrong,
           wrong_back);
    tap_ok(!wrong_bfloat, "65536 bfloats: %d wrong", wrong_bfloat);
    tap_ok(sbn__half_of_float(65519.996f) == 0x7bff && sbn__half_of_float(65520.0f) == 0x7c00 &&
               sbn__half_of_float(-INFINITY) == 0xfc00,
           "the largest half, and beyond");
}

int main(void)
{
    check_half();
    return tap_done();
}
