/*
 * Planes of one element at the ends of what their sums hold (cl/cpu/rows_of_one.cl): x from 2^-17 and dy to 2^7, their
 * products from 2^-49 to 2^6, with full mantissas, so that 64 rows need every bit; a step beyond, where bits are cut;
 * all of them times powers of two, with which all, none or some fit the narrow format. What remains where sums cancel
 * must be that of exact sums in integers, here of 128 bits. On every usable device; make check shows PoCL's alone.
 */
#include <math.h>
#include <stdio.h>

#include "check/mix.h"
#include "support/tap.h"
#include "support/trial.h"

#ifdef __SIZEOF_INT128__

#define LARGEST 0x1.fffffep6f
#define LEAST 0x1p-17f
#define LEAST_ODD 0x1.000002p-17f

/*
 * What fills a channel: `value`, if there is one. With `tiny`, 128 rows of `large` and then as many of
 * -large, but for one row in 128, which is all that is left of the sum, and one that is `beside` it, if that
 * is not 0. Otherwise `large` everywhere, of the channel's sign, but for one row that is `odd`, if that is
 * not 0. If balanced, times a number of an odd mantissa whose sign changes from row to row.
 */
typedef struct pattern {
    const char *what;
    float large, tiny, beside, odd;
    float (*value)(size_t row, size_t c);
    int balanced;
} pattern;

static float value_of(const pattern *p, size_t row, size_t c)
{
    const float factor = !p->balanced ? 1.0f : (row + c) % 2 ? -0x1.000002p0f : 0x1.000002p0f;
    if (p->value)
        return p->value(row, c);
    if (p->tiny != 0 && row % 128 == c % 128)
        return factor * p->tiny;
    if (p->beside != 0 && row % 128 == (c + 1) % 128)
        return factor * p->beside;
    if (p->odd != 0 && row == 70 + c)
        return p->odd;
    return (p->tiny != 0 ? row / 128 % 2 : c % 2) ? factor * -p->large : factor * p->large;
}

/* Of all powers between, of any mantissa and sign; some are 0. */
static float any(size_t row, size_t c)
{
    const uint64_t bits = mix(row, c);
    const float v = ldexpf((float)((bits & 0x7fffff) | 0x800000),
                           (int)(bits >> 32 & 255) % 24 - 40);
    return bits >> 50 == 0 ? 0.0f : bits >> 63 ? -v : v;
}

/* A variance of 2^-80: one unit of x^2's lower digit would move it. */
static float neighbours(size_t row, size_t c)
{
    const float v = row % 2 ? 0x1.6a09e6p-17f : 0x1.6a09eap-17f;
    return c % 2 ? -v : v;
}

static float half_zero(size_t row, size_t c)
{
    return row % 4 < 2 ? 0.0f : (row + c) % 2 ? -0.5f : 0.5f;
}

/* Squares have bits below the format's, which it cuts unless eps is 0. */
static float cut_neighbours(size_t row, size_t c)
{
    (void)c;
    return row % 2 ? 0x1.6a09e6p-19f : 0x1.6a09f6p-19f;
}

/* dy and x whose products have 48 bits, and cancel but for what is cut of them. */
static float longest_dy(size_t row, size_t c)
{
    const float v = (row + c) % 4 < 2 ? 0x1.800002p6f : -0x1.8p6f;
    return (row + c) % 2 ? -v : v;
}

static float longest_x(size_t row, size_t c)
{
    const float v = (row + c) % 4 < 2 ? 0x1.800002p0f : 0x1.800004p0f;
    return (row + c) % 2 ? -v : v;
}

static const pattern patterns[] = {
    {"sums that cancel", .large = LARGEST, .tiny = LEAST_ODD},
    {"larger ones", .large = 4 * LARGEST, .tiny = LEAST_ODD},
    {"less left", .large = LARGEST, .tiny = LEAST_ODD / 2},
    {"less left beside more", .large = LARGEST, .tiny = LEAST_ODD / 2, .beside = LEAST_ODD},
    {"the largest", .large = LARGEST},
    {"the least", .large = LEAST_ODD},
    {"any between", .value = any},
    {"two neighbours", .value = neighbours},
    {"squares that are cut", .value = cut_neighbours},
    {"one at the top", .large = LARGEST, .odd = 0x1p7f},
    {"one below", .large = LEAST_ODD, .odd = LEAST / 2},
    {"zeros but for one", .odd = -LEAST},
};

/* dy and x whose products cancel but for what is left of dy, and what is beside that. */
#define PRODUCTS(what, dy_size, left, beside_it, x_size) \
    .dy = {what, .large = dy_size, .tiny = left, .beside = beside_it, .balanced = 1}, \
    .x = {.large = x_size, .balanced = 1}

/* x - mean is x. dy cancels, or its products with x do, but for their lowest bits. */
static const struct {
    pattern dy, x;
} gradients[] = {
    {{"dy that cancels", .large = LARGEST, .tiny = 0x1.000002p-48f},
     {.large = 0.5f, .balanced = 1}},
    {PRODUCTS("products that cancel", 0x1.fffff8p5f, 0x1.000002p-49f, -0x1p-49f, 1.0f)},
    {PRODUCTS("larger products", 0x1.fffff8p8f, 0x1.000002p-49f, -0x1p-49f, 1.0f)},
    {PRODUCTS("products that cancel to more", 0x1.fffff8p5f, 0x1.000002p-38f, -0x1p-38f, 1.0f)},
    {{"products of 48 bits", .value = longest_dy}, {.value = longest_x}},
    {{"dy that is x - mean", .large = 0.5f, .balanced = 1}, {.large = 0.5f, .balanced = 1}},
    {{"products with 0", .large = 0.5f}, {.value = half_zero}},
    {PRODUCTS("products too large", 0x1.fffff8p5f, 0x1.000002p-49f, -0x1p-49f, 16.0f)},
    {PRODUCTS("products that are cut", 0x1.fffff8p5f, 0x1.000004p-52f, -0x1p-52f, 1.0f)},
};

static const char *const lines[] = {
    "mb256ic19,r1,global,passes=fb",
    "mb256ic300,r2,split100-156,last,global,passes=fb",
    "mb256ic19,r1,form=gpu,global,passes=fb",
    "mb256ic19,r1,eps=0,global,passes=fb",
    "mb256ic19,r1,form=gpu,eps=0,global,passes=fb",
    "mb256ic19,r1,pitch5,last,global,passes=fb",
};

/*
 * By which powers of two x is larger where the moments are judged, and dy and x where the gradients are: with the
 * second all fit the narrow format; with the fourth the products are too large and not dy.
 */
static const struct larger {
    int alone, dy, x;
} powers[] = {{0, 0, 0}, {10, 12, 8}, {40, 80, 0}, {20, 12, 58}, {-31, -64, 0}, {-40, -64, -57}};
enum { POWERS = sizeof powers / sizeof *powers };

/* A term without its lowest bits, which a format cuts toward zero. */
static __int128 cut(__int128 term, int bits)
{
    const __int128 unit = (__int128)1 << (bits > 0 ? bits : 0);
    return term / unit * unit;
}

/* In units of 2^-42 times the power, and of 2^-84 times its square, as are differences of products of sums. */
static void moments_of(const trial *t, size_t c, const struct larger *by, double expected[2])
{
    const int64_t n = (int64_t)t->g.samples;
    const int power = by->alone;
    __int128 sum = 0, squares = 0;
    for (size_t row = 0; row < t->g.samples; ++row) {
        const __int128 x = (__int128)ldexp((double)t->in.x[placement_plane_start(&t->g, row, c)],
                                           42 - power);
        sum += x;
        squares += cut(x * x, power != 0 ? -76 - 2 * power : t->p.eps > 0 ? 4 : 0);
    }
    expected[0] = ldexp((double)sum, power - 42) / (double)n;
    expected[1] = ldexp((double)(n * squares - sum * sum), 2 * power - 84) / (double)n / (double)n;
}

/* dy in units of 2^-79, products of 2^-103, cut at 2^-96 or 2^-160, squares of x of 2^-48, all times the powers. */
static void gradients_of(const trial *t, size_t c, const struct larger *by, double expected[2])
{
    __int128 sum = 0, product = 0, squares = 0;
    for (size_t row = 0; row < t->g.samples; ++row) {
        const size_t at = placement_plane_start(&t->g, row, c);
        const __int128 dy = (__int128)ldexp((double)t->in.dy[at], 79 - by->dy);
        const __int128 x = (__int128)ldexp((double)t->in.x[at], 24 - by->x);
        sum += dy;
        product += cut(dy * x, by->dy == 0 ? 7 : -57 - by->dy - by->x);
        squares += x * x;
    }
    const double invstd = 1 / sqrt(ldexp((double)squares, 2 * by->x - 48) / (double)t->g.samples +
                                   t->p.eps);
    expected[0] = ldexp((double)sum, by->dy - 79);
    expected[1] = ldexp((double)product, by->dy + by->x - 103) * invstd;
}

/* With dy the gradients are judged, else the moments. */
static void check(queues *r, const char *device, const char *line, const pattern *x,
                  const pattern *dy, const struct larger *by)
{
    const output_id first = dy ? OUT_BIAS_GRAD : OUT_MEAN, second = dy ? OUT_WEIGHT_GRAD : OUT_VAR;
    char why[RUNNER_ERROR];
    trial t;
    trial_make(&t, line, 1);
    for (size_t row = 0; row < t.g.samples; ++row)
        for (size_t c = 0; c < t.g.channels; ++c) {
            const size_t at = placement_plane_start(&t.g, row, c);
            t.in.x[at] = ldexpf(value_of(x, row, c), dy ? by->x : by->alone);
            t.in.dy[at] = dy ? ldexpf(value_of(dy, row, c), by->dy) : t.in.dy[at];
        }
    int good = !trial_run(&t, r, why);
    for (size_t c = 0; c < t.g.channels && good; ++c) {
        const double came[] = {t.out.of[first].data[c], t.out.of[second].data[c]};
        double expected[2];
        (dy ? gradients_of : moments_of)(&t, c, by, expected);
        good = came[0] == (float)expected[0] && came[1] == (float)expected[1];
        snprintf(why, sizeof why, "channel %zu: expected %s %a, %s %a, got %a, %a", c,
                 output_names[first], expected[0], output_names[second], expected[1], came[0],
                 came[1]);
    }
    tap_ok(good, "%s: %s, %s times 2^%d: %s", device, line, dy ? dy->what : x->what,
           dy ? by->dy + by->x : by->alone, why);
    trial_free(&t);
}

/*
 * Two rows in turn have a number of either sign, of all exponents from `least` on, but for one pair in each channel: 0
 * and what is left.
 */
typedef struct spread {
    int least, exponents, left, x;
} spread;

static const spread spreads[] = {
    {-20, 37, -24, 0}, {-100, 120, -60, 0}, {-120, 94, -122, 0}, {-60, 100, -88, 0},
    {20, 100, 40, 0},  {-126, 250, -30, 0}, {60, 60, 60, 30},
};

static float spread_value(const spread *s, size_t row, size_t c)
{
    if (row / 2 == c)
        return row % 2 ? ldexpf(0x1.800002p0f, s->left) : 0;
    const float v = ldexpf(0x1.000002p0f,
                           s->least + (int)((row / 2 * 31 + c) % (size_t)s->exponents));
    return row % 2 ? -v : v;
}

/* The x beside a pair of dy. */
static float spread_x(const spread *s, size_t pair)
{
    return ldexpf(pair % 2 ? -0x1.800002p0f : 0x1.800002p0f, s->x);
}

/*
 * All but what is left cancels. Forward that is x; backward dy, and its product with x, of as many bits as there may
 * be. Products that floats cannot hold make the gradient of weight NaN.
 */
static void check_spread(queues *r, const char *device, const char *line, const spread *s,
                         int is_backward)
{
    char why[RUNNER_ERROR];
    trial t;
    trial_make(&t, line, 1);
    for (size_t row = 0; row < t.g.samples; ++row)
        for (size_t c = 0; c < t.g.channels; ++c) {
            const size_t at = placement_plane_start(&t.g, row, c);
            t.in.dy[at] = spread_value(s, row, c);
            t.in.x[at] = is_backward ? spread_x(s, row / 2) : t.in.dy[at];
        }
    int good = !trial_run(&t, r, why);
    for (size_t c = 0; c < t.g.channels && good; ++c) {
        const int has_left = 2 * c < t.g.samples;
        const double left = has_left ? ldexp(0x1.800002p0, s->left) : 0;
        const double x = spread_x(s, c), n = (double)t.g.samples;
        const double invstd = 1 / sqrt(x * x + t.p.eps);
        const float mean = t.out.of[OUT_MEAN].data[c], bias_grad = t.out.of[OUT_BIAS_GRAD].data[c];
        const float weight_grad = t.out.of[OUT_WEIGHT_GRAD].data[c];
        if (is_backward)
            good = bias_grad == (float)left && (s->least + s->exponents + s->x > 128
                                                    ? isnan(weight_grad)
                                                    : weight_grad == (float)(left * x * invstd));
        else
            good = mean == (float)(left / n);
        snprintf(why, sizeof why, "channel %zu: left %a, got mean %a, bias_grad %a, weight_grad %a",
                 c, left, mean, bias_grad, weight_grad);
    }
    tap_ok(good, "%s: %s, %s from 2^%d to 2^%d: %s", device, line, is_backward ? "dy" : "x",
           s->least, s->least + s->exponents, why);
    trial_free(&t);
}

static void check_device(queues *r, const device_info *device)
{
    for (size_t k = 0; k < POWERS * (sizeof lines / sizeof *lines); ++k) {
        const char *line = lines[k / POWERS];
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i)
            check(r, device->name, line, &patterns[i], NULL, &powers[k % POWERS]);
        for (size_t i = 0; i < sizeof gradients / sizeof *gradients; ++i)
            check(r, device->name, line, &gradients[i].x, &gradients[i].dy, &powers[k % POWERS]);
    }
    for (size_t k = 0; k < sizeof lines / sizeof *lines; ++k)
        for (size_t i = 0; i < 2 * (sizeof spreads / sizeof *spreads); ++i)
            check_spread(r, device->name, lines[k], &spreads[i / 2], (int)(i % 2));
}

int main(void)
{
    return trial_every_device(check_device);
}

#else

int main(void)
{
    return tap_missing("no integers of 128 bits here");
}

#endif
