/*
 * The part of the mean that its upper float leaves out, in weight_grad. With dy near 1 and a mean
 * large against the spread, sum dy (x - mean) is what remains after mean_low sum dy is taken off:
 * the lower part in a float's 24 bits is not enough. Every sum within blocks is exact here, so
 * that nothing else can hide the difference.
 */
#include <math.h>

#include "support/tap.h"
#include "support/trial.h"

/* x = X 2^-14, dy = DY 2^-20, with integers that leave all sums below 2^63. */
static int64_t x_of(size_t i, size_t c)
{
    return 1000 * 16384 + (int64_t)((7 * i * i + 5 * c) % 97);
}

static int64_t dy_of(size_t i, size_t c)
{
    return (1 << 20) + (int64_t)((5 * i + 3 * i * i * c) % 89);
}

static void check(runner *r, const device_info *device)
{
    char error[RUNNER_ERROR];
    trial t;
    trial_make(&t, "mb5ic8ih3iw37,r2,global,passes=fb", 1);
    for (size_t s = 0; s < t.g.samples; ++s)
        for (size_t c = 0; c < t.g.channels; ++c)
            for (size_t i = 0; i < t.g.sample[s].plane; ++i) {
                const size_t at = placement_plane_start(&t.g, s, c) + i;
                t.in.x[at] = (float)ldexp((double)x_of(111 * s + i, c), -14);
                t.in.dy[at] = (float)ldexp((double)dy_of(111 * s + i, c), -20);
            }
    const int ran = !trial_run(&t, r, error);
    tap_ok(ran, "%s: forward and backward", device->name);
    for (size_t c = 0; ran && c < t.g.channels; ++c) {
        const int64_t n = 555;
        int64_t x = 0, xx = 0, dy = 0, dyx = 0;
        for (size_t i = 0; i < (size_t)n; ++i) {
            /* About 1000 and 1, which moves neither sum of products about its means. */
            const int64_t a = x_of(i, c) - 1000 * 16384, b = dy_of(i, c) - (1 << 20);
            x += a;
            xx += a * a;
            dy += b;
            dyx += a * b;
        }
        const double var = ldexp((double)(n * xx - x * x), -28) / (double)(n * n);
        const double invstd = 1.0 / sqrt(var + t.p.eps);
        const double expected = ldexp((double)(n * dyx - x * dy), -34) / (double)n * invstd;
        /* Two roundings of a float, and the mean's own of a double. */
        const double bound = ldexp(fabs(expected), -23) + ldexp(1000.0 * (double)n * invstd, -52);
        const double came = t.out.of[OUT_WEIGHT_GRAD].data[c];
        tap_ok(fabs(came - expected) <= bound,
               "%s, channel %zu: weight_grad %.9g, expected %.9g, off by %.2g of %.2g",
               device->name, c, came, expected, fabs(came - expected), bound);
    }
    trial_free(&t);
}

int main(void)
{
    return trial_every_device(check);
}
