/*
 * What is derived from accumulators (src/exact/statistics.h): which channels have wide ones, the inverse deviation, a
 * double as two floats. Statistics of sums and flags: int192.c and, against kernels, tests/device/combine.c.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "exact/statistics.h"
#include "support/tap.h"

enum { LENGTH = 32 };

static const sbn_eps plain = {1e-5, 0}, clamp = {1e-5, 1};

static void needs_wide(void)
{
    enum { INF = SBN_FLAG_PLUS_INF, OVER = SBN_FLAG_OVERFLOW, WIDE = SBN_FLAG_WIDE };
    static const int64_t flags[] = {WIDE, 0, WIDE | OVER, INF, INF | WIDE, 0, WIDE};
    static const unsigned char expected[] = {1, 0, 1, 0, 0, 0, 1};
    enum { CHANNELS = sizeof expected };
    const size_t length = sbn__accumulator_length(&sbn_forward_narrow);
    int64_t wire[CHANNELS * LENGTH] = {0};
    unsigned char wide[CHANNELS];
    for (size_t c = 0; c < CHANNELS; ++c)
        wire[(c + 1) * length - 1] = flags[c];
    const sbn_accumulators accumulators = {wire, &sbn_forward_narrow};
    const size_t count = sbn__needs_wide(&accumulators, CHANNELS, wide);
    tap_ok(count == 3 && memcmp(wide, expected, CHANNELS) == 0 &&
               sbn__needs_wide(&accumulators, 0, wide) == 0,
           "wide accumulators count where there are terms in them and the sums are finite");
}

static void small_slices(void)
{
    tap_ok(sbn__invstd(3.0, (sbn_eps){1.0, 0}) == 0.5, "1 / sqrt(3 + 1)");
    tap_ok(sbn__invstd(0.25, (sbn_eps){4.0, 1}) == 0.5 && sbn__is_clamped(0.25, (sbn_eps){4.0, 1}),
           "1 / sqrt(max(0.25, 4)), clamped");
    tap_ok(sbn__invstd(4.0, (sbn_eps){4.0, 1}) == 0.5 && !sbn__is_clamped(4.0, (sbn_eps){4.0, 1}),
           "1 / sqrt(max(4, 4)), not clamped");
    tap_ok(isnan(sbn__invstd(NAN, clamp)) && isnan(sbn__invstd(NAN, plain)), "a NaN stays one");
    const double list[] = {0.0, 1000.0 / 3, -1e-7 / 3, 1e30 / 7, 1e-20 / 7};
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        const sbn_double_float two = sbn__split_double(list[i]);
        const double left = fabs(list[i] - two.high - two.low), most = fabs(list[i]) * 0x1p-48;
        tap_ok(left <= most, "two floats for %g leave %g of at most %g", list[i], left, most);
    }
    const sbn_double_float infinite = sbn__split_double(1e300);
    tap_ok(isinf(infinite.high) && infinite.low == 0.0f, "two floats for 1e300: Inf and 0");
    int64_t wire[LENGTH] = {0};
    wire[sbn_wide.limbs1 + 8] = INT64_C(0xffffff) << 8; /* of one value: 2^128 - 2^104 */
    const sbn_accumulators largest = {wire, &sbn_wide};
    double mean, var;
    sbn__moments_of(&largest, 1, NULL, 1, &mean, &var);
    tap_ok(var == FLT_MAX, "the largest float is a finite variance: %g", var);
}

int main(void)
{
    needs_wide();
    small_slices();
    return tap_done();
}
