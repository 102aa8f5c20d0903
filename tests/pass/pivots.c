/*
 * Planes whose first 16 elements, which a block's pivot comes from, are unlike the rest: a border
 * of zeros, or a step of 10, 100 and 1000 standard deviations. y and dx are off by no more than
 * those of other planes: 3 units of 2^-24 of the channel's largest y, and for dx, as a rule, of the
 * largest invstd (dy - mean of dy), from which it may cancel. Without a second sum around the mean
 * y would be off by 10 to 30.
 */
#include <math.h>
#include <stdio.h>

#include "support/tap.h"
#include "support/trial.h"

/* The mean of (a - ma)(b - mb), or of a where b is NULL. */
static double mean_of(const float *a, double ma, const float *b, double mb, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += b ? (a[i] - ma) * (b[i] - mb) : a[i];
    return sum / (double)n;
}

/* The largest error of a channel's y and dx, in units. */
static void measure(const trial *t, size_t c, double *y_units, double *dx_units)
{
    const size_t n = t->g.sample[0].plane, start = placement_plane_start(&t->g, 0, c);
    const float *x = t->in.x + start, *dy = t->in.dy + start;
    const float *y = t->out.of[OUT_Y].data + start, *dx = t->out.of[OUT_DX].data + start;
    const double mean = mean_of(x, 0, NULL, 0, n), g = mean_of(dy, 0, NULL, 0, n);
    const double invstd = 1 / sqrt(mean_of(x, mean, x, mean, n) + t->p.eps);
    const double k = invstd * invstd * mean_of(dy, g, x, mean, n);
    double y_most = 0, dx_most = 0, y_error = 0, dx_error = 0;
    for (size_t i = 0; i < n; ++i) {
        const double right_y = (x[i] - mean) * invstd, own = (dy[i] - g) * invstd;
        const double right_dx = own - right_y * k;
        y_most = fmax(y_most, fabs(right_y));
        dx_most = fmax(dx_most, fabs(own));
        y_error = fmax(y_error, fabs(y[i] - right_y));
        dx_error = fmax(dx_error, fabs(dx[i] - right_dx));
    }
    *y_units = fmax(*y_units, ldexp(y_error / y_most, 24));
    *dx_units = fmax(*dx_units, ldexp(dx_error / dx_most, 24));
}

static void check(runner *r, const device_info *device)
{
    static const double most_y = 3;
    /* Where x and dy go together, the variance's error is in dx three times. */
    static const struct {
        const char *data;
        double most_dx;
    } kinds[] = {
        {"data=border", 3},         {"data=step", 3},
        {"grad=step", 3},           {"data=border,grad=border", 6},
        {"data=step,grad=step", 6},
    };
    static const char *const places[] = {"", ",last", ",form=gpu", ",last,form=gpu"};
    enum { KINDS = sizeof kinds / sizeof *kinds, PLACES = sizeof places / sizeof *places };
    for (size_t i = 0; i < KINDS * PLACES; ++i) {
        char line[128], error[RUNNER_ERROR] = "";
        double y = 0, dx = 0;
        trial t;
        snprintf(line, sizeof line, "mb1ic96ih16iw16,plain,passes=fb,%s%s", kinds[i % KINDS].data,
                 places[i / KINDS]);
        trial_make(&t, line, 1);
        const int ran = !trial_run(&t, r, error);
        for (size_t c = 0; ran && c < t.g.channels; ++c)
            measure(&t, c, &y, &dx);
        const double most_dx = kinds[i % KINDS].most_dx;
        tap_ok(ran && y <= most_y && dx <= most_dx,
               "%s: %s: y %.2f, dx %.2f units off, expected %g and %g at most%s%s", device->name,
               line, y, dx, most_y, most_dx, *error ? ": " : "", error);
        trial_free(&t);
    }
}

int main(void)
{
    return trial_every_device(check);
}
