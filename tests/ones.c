/*
 * Planes of one element at the ends of what their sums hold in doubles (cl/rows_of_one.cl): 2^-17
 * and 2^7, with full mantissas, so that 64 rows need every bit; and a step beyond. Mean and
 * variance must be those of exact sums in integers, here of 128 bits. On every usable device.
 */
#include <math.h>
#include <stdio.h>

#include "cli/mix.h"
#include "tap.h"
#include "trial.h"

#ifdef __SIZEOF_INT128__

#define LARGEST 0x1.fffffep6f
#define LEAST 0x1p-17f
#define LEAST_ODD 0x1.000002p-17f

/* Rows of one sign, then as many of the other: only what is tiny is left. */
static float cancel(size_t row, size_t c, float large, float tiny)
{
    return row % 128 == c % 128 ? tiny : row / 128 % 2 ? -large : large;
}

static float cancelling(size_t row, size_t c)
{
    return cancel(row, c, LARGEST, LEAST_ODD);
}

static float cancelling_above(size_t row, size_t c)
{
    return cancel(row, c, 4 * LARGEST, LEAST_ODD);
}

static float cancelling_below(size_t row, size_t c)
{
    return cancel(row, c, LARGEST, LEAST_ODD / 2);
}

static float largest(size_t row, size_t c)
{
    (void)row;
    return c % 2 ? -LARGEST : LARGEST;
}

static float least(size_t row, size_t c)
{
    (void)row;
    return c % 2 ? -LEAST_ODD : LEAST_ODD;
}

/* Of all powers between, of any mantissa and sign; some are 0. */
static float any(size_t row, size_t c)
{
    const uint64_t bits = mix(row, c);
    const float v = ldexpf((float)((bits & 0x7fffff) | 0x800000),
                           (int)(bits >> 32 & 255) % 24 - 40);
    return bits >> 50 == 0 ? 0.0f : bits >> 63 ? -v : v;
}

static float from_above(size_t row, size_t c)
{
    return row == 70 + c ? 0x1p7f : largest(row, c);
}

static float from_below(size_t row, size_t c)
{
    return row == 70 + c ? LEAST / 2 : least(row, c);
}

static float zeros(size_t row, size_t c)
{
    return row == 3 && c == 5 ? -LEAST : c % 2 ? -0.0f : 0.0f;
}

static const struct {
    const char *what;
    float (*value)(size_t row, size_t c);
} patterns[] = {
    {"sums that cancel", cancelling},
    {"larger ones", cancelling_above},
    {"less left", cancelling_below},
    {"the largest", largest},
    {"the least", least},
    {"any between", any},
    {"one at the top", from_above},
    {"one below", from_below},
    {"zeros", zeros},
};

static const char *const lines[] = {
    "mb256ic19,r1,passes=f",          "mb256ic19,r1,last,passes=f",
    "mb256ic300,r1,passes=f",         "mb256ic19,r2,split100-156,passes=f",
    "mb256ic19,r1,form=gpu,passes=f",
};

/* In units of 2^-41, and of 2^-82; differences of products of sums in units of 2^-82 too. */
static int matches(const trial *t, size_t c, float (*value)(size_t, size_t), char *why, size_t size)
{
    const int64_t n = (int64_t)t->g.samples;
    __int128 sum = 0, squares = 0;
    for (size_t row = 0; row < t->g.samples; ++row) {
        const __int128 x = (__int128)ldexp((double)value(row, c), 41);
        sum += x;
        squares += x * x;
    }
    const double mean = ldexp((double)sum, -41) / (double)n;
    const double var = ldexp((double)(n * squares - sum * sum), -82) / (double)n / (double)n;
    const double came[] = {t->out.of[OUT_MEAN].data[c], t->out.of[OUT_VAR].data[c]};
    snprintf(why, size, "channel %zu: mean %a, variance %a expected, %a, %a came", c, mean, var,
             came[0], came[1]);
    return came[0] == (float)mean && came[1] == (float)var;
}

static void check(runner *r, const char *device, size_t pattern, const char *line)
{
    char why[RUNNER_ERROR];
    trial t;
    trial_make(&t, line, 1);
    for (size_t row = 0; row < t.g.samples; ++row)
        for (size_t c = 0; c < t.g.channels; ++c)
            t.in.x[geometry_plane_start(&t.g, row, c)] = patterns[pattern].value(row, c);
    int good = !trial_run(&t, r, why);
    for (size_t c = 0; c < t.g.channels && good; ++c)
        good = matches(&t, c, patterns[pattern].value, why, sizeof why);
    tap_ok(good, "%s: %s, %s: %s", device, line, patterns[pattern].what, why);
    trial_free(&t);
}

int main(void)
{
    char device[256];
    runner *r;
    size_t devices = 0;
    for (; (r = trial_runner_number(devices, device, sizeof device)); ++devices) {
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i)
            for (size_t k = 0; k < sizeof lines / sizeof *lines; ++k)
                check(r, device, i, lines[k]);
        runner_destroy(r);
    }
    if (devices == 0)
        tap_missing("no usable OpenCL device here");
    return tap_done();
}

#else

int main(void)
{
    tap_missing("no integers of 128 bits here");
    return tap_done();
}

#endif
