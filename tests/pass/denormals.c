/*
 * How far denormals matter to the bits: under -cl-denorms-are-zero they stay as long as the spreads of x and
 * of dy in a channel are RANGE or more; below, results stay within a bound. Without it, the least denormals
 * have a mean. On PoCL, whose compiler implements that option.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/tap.h"
#include "support/trial.h"

/* Standard deviations from 2^-RANGE on keep their bits. */
enum { RANGE = 48 };

/* Runs a line with x and dy scaled by powers of two; ends in a failed check if that fails. */
static int run(trial *t, queues *r, const char *line, int scale_x, int scale_dy)
{
    char error[RUNNER_ERROR];
    trial_make(t, line, 1);
    for (size_t i = 0; i < t->g.elements; ++i) {
        t->in.x[i] = ldexpf(t->in.x[i], -scale_x);
        t->in.dy[i] = ldexpf(t->in.dy[i], -scale_dy);
    }
    return !trial_run(t, r, error) || !tap_ok(0, "%s: %s", line, error);
}

/* How many outputs differ; their names go into `names`. */
static int differing(const outputs *a, const outputs *b, char *names, size_t size)
{
    int count = 0;
    *names = 0;
    for (int id = 0; id < OUTPUTS; ++id)
        if (a->of[id].digest != b->of[id].digest) {
            const size_t used = strlen(names);
            snprintf(names + used, size - used, " %s", output_names[id]);
            ++count;
        }
    return count;
}

/* Scales that bring the spread of x or dy down to RANGE; 0.003 is 2^-9, 1e-5 rounds to 2^-18. */
static void flushed_in_range(queues *as_is, queues *flushed)
{
    const struct {
        const char *line;
        int most_x, most_dy;
    } list[] = {
        {"mb8ic5ih32iw32,r2,global,form=cpu", RANGE - 1, RANGE - 1},
        {"mb8ic5ih31iw37,r2,global,form=gpu,last", RANGE - 1, RANGE - 1},
        {"mb64ic37,r2,global,form=cpu,last", RANGE - 1, RANGE - 1},
        {"mb8ic5ih31iw31,r2,global,form=cpu,eps=0", RANGE - 1, RANGE - 1},
        {"mb8ic5ih31iw31,r2,global,form=gpu,data=outlier", RANGE - 1, RANGE - 1},
        {"mb8ic5ih32iw32,r2,global,form=cpu,data=large_mean,grad=one", RANGE - 10, RANGE - 18},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i)
        for (int step = 0; step < 8; ++step) {
            const int x = step & 4 ? list[i].most_x : list[i].most_x * (step & 1);
            const int dy = step & 4 ? list[i].most_dy - 5 * (step & 3)
                                    : list[i].most_dy * (step >> 1 & 1);
            trial a, b;
            char names[256];
            const int ran = run(&a, as_is, list[i].line, x, dy) &
                            run(&b, flushed, list[i].line, x, dy);
            const int count = differing(&a.out, &b.out, names, sizeof names);
            tap_ok(ran && !count, "denormals flushed, %s, x 2^-%d, dy 2^-%d: the same bits%s%s",
                   list[i].line, x, dy, count ? " but for" : "", names);
            trial_free(&a);
            trial_free(&b);
        }
}

/* The faintest there are: x / n is 0 in floats, and so is x^2; still the mean is x. */
static void faintest(queues *as_is, const char *line)
{
    char error[RUNNER_ERROR];
    trial t;
    trial_make(&t, line, 1);
    for (size_t i = 0; i < t.g.elements; ++i)
        t.in.x[i] = FLT_TRUE_MIN;
    tap_ok(!trial_run(&t, as_is, error) && t.out.of[OUT_MEAN].data[0] == FLT_TRUE_MIN,
           "2^-149 everywhere is the mean, too: %s", line);
    trial_free(&t);
}

static double largest(const float *data, size_t count)
{
    double most = 0.0;
    for (size_t i = 0; i < count; ++i)
        most = fmax(most, fabs(data[i]));
    return most;
}

/* The largest difference of an output, over `bound`; infinite for a NaN. */
static double ratio(const trial *a, const trial *b, output_id id, double bound)
{
    double most = 0.0;
    for (size_t i = 0; i < a->out.of[id].count; ++i) {
        const double off = fabs((double)a->out.of[id].data[i] - b->out.of[id].data[i]);
        most = isnan(off) ? INFINITY : fmax(most, off);
    }
    return most / bound;
}

/*
 * What flushing may change, beside roundings that fall otherwise. With F = 2^-126, the smallest
 * normal float, u = 2^-24, X and Y the largest |x| and |dy|, and c = 24 roundings in a block's
 * sum (16 in a lane, 6 folds, 2 to spare), in each of the two results:
 *
 *   mean      an input, its difference from the pivot and each addition lose at most F:
 *             4F + 2cu 2X;  so the mean of dy: 4F + 2cu 2Y
 *   variance  a square loses F: 2F + 2(c + 2)u 4X^2, which changes invstd by that over 2 eps
 *   y         a (error(mean) + 2F) + 2X a error(invstd) + 8u (2X a + |b|) + F
 *   dx        p (error(g) + 2F + k (error(mean) + 2F) + 2X error(k)) + 3F, and 16u of its terms;
 *             k <= invstd^2 4XY, error(k) = invstd^2 (4F + 2(c + 2)u 4XY) + F
 */
static void flushed_below(queues *as_is, queues *flushed, int scale)
{
    static const char line[] = "mb8ic5ih32iw32,r2,global,form=cpu";
    const double f = 0x1p-126, u = 0x1p-24, c = 24;
    trial a, b;
    char names[256];
    const int ran = run(&a, as_is, line, scale, scale) & run(&b, flushed, line, scale, scale);
    const int count = differing(&a.out, &b.out, names, sizeof names);
    const double x = largest(a.in.x, a.g.elements), y = largest(a.in.dy, a.g.elements);
    const double invstd = 1.0 / sqrt(a.p.eps), weight = largest(a.in.weight, a.g.channels);
    const double p = weight * invstd, k = invstd * invstd * 4 * x * y;
    const double mean = 4 * f + 2 * c * u * 2 * x, g = 4 * f + 2 * c * u * 2 * y;
    const double var = 2 * f + 2 * (c + 2) * u * 4 * x * x;
    const double spread = invstd * var / (2 * a.p.eps);
    const double k_error = invstd * invstd * (4 * f + 2 * (c + 2) * u * 4 * x * y) + f;
    const double out = p * (mean + 2 * f) + 2 * x * weight * spread + f +
                       8 * u * (2 * x * p + largest(a.in.bias, a.g.channels));
    const double dx = p * (g + 2 * f + k * (mean + 2 * f) + 2 * x * k_error) + 3 * f +
                      16 * u * p * (2 * y + k * 2 * x);
    const struct {
        output_id id;
        double bound;
    } list[] = {{OUT_MEAN, mean}, {OUT_VAR, var}, {OUT_Y, out}, {OUT_DX, dx}};
    tap_ok(ran && count > 0, "denormals flushed, %s, 2^-%d: other bits:%s", line, scale, names);
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        const double fraction = ratio(&a, &b, list[i].id, list[i].bound);
        tap_ok(ran && fraction <= 1.0, "2^-%d: %s within %.3g: %.3g of it", scale,
               output_names[list[i].id], list[i].bound, fraction);
    }
    trial_free(&a);
    trial_free(&b);
}

int main(void)
{
    char error[RUNNER_ERROR];
    queues *as_is = trial_pocl(NULL, error);
    if (!as_is)
        return tap_missing("%s", error);
    queues *flushed = trial_pocl("-cl-denorms-are-zero", error);
    if (tap_ok(flushed != NULL, "queues with and without denormals on PoCL")) {
        faintest(as_is, "mb2ic1ih32iw32,r1,passes=f");
        faintest(as_is, "mb2ic1,r1,passes=f");
        flushed_in_range(as_is, flushed);
        flushed_below(as_is, flushed, 60);
        flushed_below(as_is, flushed, 100);
        flushed_below(as_is, flushed, 120);
        flushed_below(as_is, flushed, 130);
    }
    queues_close(flushed);
    queues_close(as_is);
    return tap_done();
}
