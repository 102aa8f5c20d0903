/*
 * Batches of integers whose every step is exact in floats: mean, variance, gradients and tensors
 * must equal what integer arithmetic gives here, bit for bit. On every usable device.
 *
 * There are as many values per channel as a power of two; eps makes var + eps a power of four, so
 * that 1 / sqrt of it is one of two; weights and biases are small powers of two and integers.
 */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "support/tap.h"
#include "support/trial.h"

typedef struct sums {
    int64_t n, x, xx, dy, dyx;
} sums;

/* x: pairs about an offset of the sample; dy: small integers that lean on x. */
typedef struct pattern {
    const char *what, *shape;
    int offset, step; /* of sample s: offset + step s */
    int spread;       /* the pairs' largest distance; 0: constant planes */
} pattern;

static const pattern patterns[] = {
    {"1, 2, 3, 4", "mb4ic2", 1, 1, 0},
    {"a large mean", "mb8ic3il64", 65536, 0, 1},
    {"a large mean, blocks of 256", "mb4ic2ih32iw32", 1000, 0, 3},
    {"planes of two blocks", "mb2ic2ih32iw64", 1000, 4, 3},
    {"means that change from sample to sample", "mb16ic5ih4iw4", -300, 40, 2},
    {"values far apart", "mb64ic17", -1000000, 31250, 0},
    {"pairs about 0", "mb2ic3id2ih4iw8", 0, 0, 3},
};

static const char *const spreads[] = {
    "r1",
    "r2,form=gpu",
    "r2,last",
    "r2,last,shuffle3,form=gpu,off3",
};

static void fill(const pattern *p, trial *t, size_t c)
{
    for (size_t s = 0; s < t->g.samples; ++s) {
        const size_t start = placement_plane_start(&t->g, s, c), n = t->g.sample[s].plane;
        const int offset = p->offset + p->step * (int)s + (int)c;
        for (size_t i = 0; i < n; ++i) {
            const int distance = p->spread ? 1 + (int)(i / 2 + s) % p->spread : 0;
            const int lean = i % 2 ? distance : -distance;
            t->in.x[start + i] = (float)(offset + lean);
            /* Constant pairs: their mean is exact in any block. */
            t->in.dy[start + i] = (float)(2 * lean + (s % 2 ? 3 : 1));
        }
    }
}

static sums sum_up(const trial *t, size_t c)
{
    sums a = {0, 0, 0, 0, 0};
    for (size_t s = 0; s < t->g.samples; ++s) {
        const size_t start = placement_plane_start(&t->g, s, c);
        for (size_t i = start; i < start + t->g.sample[s].plane; ++i) {
            const int64_t x = (int64_t)t->in.x[i], dy = (int64_t)t->in.dy[i];
            a.n += 1;
            a.x += x;
            a.xx += x * x;
            a.dy += dy;
            a.dyx += dy * x;
        }
    }
    return a;
}

/* All in doubles without rounding: the numbers are short and n is a power of two. */
static int matches(const trial *t, size_t c, double invstd, int judge_dx, char *why, size_t size)
{
    const sums a = sum_up(t, c);
    const double n = (double)a.n, mean = (double)a.x / n, dy_mean = (double)a.dy / n;
    const double var = (double)(a.n * a.xx - a.x * a.x) / n / n;
    const double product = (double)(a.n * a.dyx - a.x * a.dy) / n;
    const output *of = t->out.of;
    const struct {
        output_id id;
        double expected;
    } list[] = {{OUT_MEAN, mean},
                {OUT_VAR, var},
                {OUT_BIAS_GRAD, (double)a.dy},
                {OUT_WEIGHT_GRAD, product * invstd}};
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i)
        if (of[list[i].id].data[c] != (float)list[i].expected) {
            snprintf(why, size, "channel %zu: expected %s %a, got %a", c, output_names[list[i].id],
                     list[i].expected, of[list[i].id].data[c]);
            return 0;
        }
    const double k = invstd * invstd * product / n, p = t->in.weight[c] * invstd;
    for (size_t s = 0; s < t->g.samples; ++s) {
        const size_t start = placement_plane_start(&t->g, s, c);
        for (size_t i = start; i < start + t->g.sample[s].plane; ++i) {
            const double d = t->in.x[i] - mean;
            const double y = p * d + t->in.bias[c], dx = p * (t->in.dy[i] - dy_mean - k * d);
            if (of[OUT_Y].data[i] != (float)y || (judge_dx && of[OUT_DX].data[i] != (float)dx)) {
                snprintf(why, size, "channel %zu, x %g: expected y %a, dx %a, got %a, %a", c,
                         t->in.x[i], y, dx, of[OUT_Y].data[i], of[OUT_DX].data[i]);
                return 0;
            }
        }
    }
    return 1;
}

/* var + eps = 4^m, for the variance of channel 0; the others have the same. */
static double choose_eps(const trial *t, double *invstd)
{
    const sums a = sum_up(t, 0);
    const double n = (double)a.n, var = (double)(a.n * a.xx - a.x * a.x) / n / n;
    double power = 1.0;
    *invstd = 1.0;
    while (power <= var) {
        power *= 4.0;
        *invstd *= 0.5;
    }
    return power - var;
}

static int run(const pattern *p, const char *spread, runner *r, char *why, size_t size)
{
    char line[PROBLEM_LINE], error[RUNNER_ERROR];
    double invstd;
    trial t;
    snprintf(line, sizeof line, "%s,global,passes=fb,%s", p->shape, spread);
    trial_make(&t, line, 1);
    for (size_t c = 0; c < t.g.channels; ++c) {
        fill(p, &t, c);
        t.in.weight[c] = c % 2 ? -2.0f : 0.5f;
        t.in.bias[c] = (float)c;
    }
    t.p.eps = choose_eps(&t, &invstd);
    int good = !trial_run(&t, r, error);
    if (!good)
        snprintf(why, size, "%s", error);
    /* With values far apart, dx has intermediate results that a float does not hold. */
    for (size_t c = 0; c < t.g.channels && good; ++c)
        good = matches(&t, c, invstd, p->step < 1000, why, size);
    trial_free(&t);
    return good;
}

/*
 * Constant denormals, the faintest that there are: x / n is 0 in floats, and so is x^2; still the
 * mean is x.
 */
static void faintest(runner *r, const char *device)
{
    char error[RUNNER_ERROR];
    trial t;
    trial_make(&t, "mb2ic1ih32iw32,r1,passes=f", 1);
    for (size_t i = 0; i < t.g.elements; ++i)
        t.in.x[i] = FLT_TRUE_MIN;
    const int failed = trial_run(&t, r, error);
    const float mean = failed ? -1.0f : t.out.of[OUT_MEAN].data[0];
    if (mean == 0.0f)
        tap_ok(1, "%s: 2^-149 everywhere: a mean of 0, this device flushes denormals", device);
    else
        tap_ok(!failed && mean == FLT_TRUE_MIN, "%s: 2^-149 everywhere: got mean %a", device, mean);
    trial_free(&t);
}

static void check_device(runner *r, const device_info *device)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i)
        for (size_t s = 0; s < sizeof spreads / sizeof *spreads; ++s) {
            char why[RUNNER_ERROR] = "equal";
            const int good = run(&patterns[i], spreads[s], r, why, sizeof why);
            tap_ok(good, "%s: %s, %s,%s: %s", device->name, patterns[i].what, patterns[i].shape,
                   spreads[s], why);
        }
    faintest(r, device->name);
}

int main(void)
{
    return trial_every_device(check_device);
}
