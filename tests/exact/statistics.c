/*
 * From accumulators made by hand to statistics (src/exact/statistics.h): what flags mean, which channels have
 * wide accumulators. Random sums: int192.c; of several channels, as devices compute them: tests/pass/same.
 */
#include <math.h>
#include <string.h>

#include "exact/statistics.h"
#include "support/tap.h"

enum { LENGTH = 32 };

static const sbn_eps plain = {1e-5, 0}, clamp = {1e-5, 1};

static const struct {
    const char *name;
    const sbn_format *format;
} formats[] = {{"narrow forward", &sbn_forward_narrow},
               {"narrow backward", &sbn_backward_narrow},
               {"wide", &sbn_wide}};

/* Adds a value, a multiple of 2^-low, to a sum's limbs. */
static void put(int64_t *limbs, int count, int low, int bits, double value)
{
    double rest = fabs(value);
    for (int k = count; k-- > 0;) {
        const double unit = ldexp(1.0, bits * k - low), limb = floor(rest / unit);
        rest -= limb * unit;
        limbs[k] += (int64_t)(value < 0.0 ? -limb : limb);
    }
}

/* Adds the accumulators of one replica whose sums are these to `wire`. */
static void add(int64_t *wire, const sbn_format *w, double first, double second, int64_t flags)
{
    int64_t accumulators[LENGTH] = {0};
    put(accumulators, sbn__limbs1(w), w->low1, w->limb_bits, first);
    put(accumulators + sbn__limbs1(w), sbn__limbs2(w), w->low2, w->limb_bits, second);
    accumulators[sbn__accumulator_length(w) - 1] = flags;
    sbn__accumulators_add(accumulators, w, 1, wire);
}

static sbn_moments moments_of(const int64_t *wire, const sbn_format *w, uint64_t count)
{
    const sbn_accumulators accumulators = sbn__accumulators_at(wire, w);
    sbn_moments m;
    sbn__moments_of(&accumulators, 1, NULL, count, &m.mean, &m.var);
    return m;
}

static sbn_gradient_sums products_of(const int64_t *wire, const sbn_format *w, double mean)
{
    const sbn_accumulators accumulators = sbn__accumulators_at(wire, w);
    sbn_gradient_sums p;
    sbn__gradient_sums_of(&accumulators, 1, NULL, &mean, &p.dy, &p.dy_xmu);
    return p;
}

static void flagged(const char *name, const sbn_format *w)
{
    const struct {
        int64_t flags;
        double mean, var, dy, dy_xmu;
    } list[] = {
        {SBN_FLAG_PLUS_INF, INFINITY, NAN, INFINITY, NAN},
        {SBN_FLAG_MINUS_INF | SBN_FLAG_OVERFLOW, -INFINITY, NAN, -INFINITY, NAN},
        {SBN_FLAG_PLUS_INF | SBN_FLAG_MINUS_INF | SBN_FLAG_WIDE, NAN, NAN, NAN, NAN},
        {SBN_FLAG_OVERFLOW, 2.5, INFINITY, 10, NAN},
        {SBN_FLAG_WIDE, 2.5, 1.25, 10, 30},
    };
#define EQUAL(a, b) ((a) == (b) || (isnan(a) && isnan(b)))
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        int64_t wire[LENGTH] = {0};
        add(wire, w, 10, 30, list[i].flags);
        const sbn_moments m = moments_of(wire, w, 4);
        const sbn_gradient_sums p = products_of(wire, w, 0.0);
        tap_ok(EQUAL(m.mean, list[i].mean) && EQUAL(m.var, list[i].var) &&
                   EQUAL(p.dy, list[i].dy) && EQUAL(p.dy_xmu, list[i].dy_xmu),
               "%s: flags %d: expected %g %g %g %g, got %g %g %g %g", name, (int)list[i].flags,
               list[i].mean, list[i].var, list[i].dy, list[i].dy_xmu, m.mean, m.var, p.dy,
               p.dy_xmu);
    }
#undef EQUAL
    int64_t wire[LENGTH] = {0};
    add(wire, w, -12, 5, 0);
    /* Which has more digits than a float. */
    const sbn_gradient_sums p = products_of(wire, w, 1.0 + 0x1.000001p-25);
    tap_ok(p.dy == -12 && p.dy_xmu == 5 + 12 * 0x1.000001p-25,
           "%s: what the mean's upper float left out is taken off: got %a", name, p.dy_xmu);
}

/* Two values, 2^exponent and its opposite. */
static void large(void)
{
    for (int exponent = 63; exponent <= 64; ++exponent) {
        int64_t wire[LENGTH] = {0};
        const double expected = exponent == 63 ? 0x1p126 : INFINITY;
        add(wire, &sbn_wide, 0.0, ldexp(2.0, 2 * exponent), 0);
        const double var = moments_of(wire, &sbn_wide, 2).var;
        tap_ok(var == expected, "a variance of 2^%d: expected %g, got %g", 2 * exponent, expected,
               var);
    }
}

static void needs_wide(void)
{
    enum { INF = SBN_FLAG_PLUS_INF, OVER = SBN_FLAG_OVERFLOW, WIDE = SBN_FLAG_WIDE };
    static const int64_t flags[] = {0, WIDE, WIDE | OVER, INF, INF | WIDE, 0, WIDE};
    static const unsigned char expected[] = {0, 1, 1, 0, 0, 0, 1};
    enum { CHANNELS = sizeof expected };
    const size_t length = sbn__accumulator_length(&sbn_forward_narrow);
    int64_t wire[CHANNELS * LENGTH] = {0};
    unsigned char wide[CHANNELS];
    for (size_t c = 0; c < CHANNELS; ++c)
        wire[(c + 1) * length - 1] = flags[c];
    const sbn_accumulators accumulators = sbn__accumulators_at(wire, &sbn_forward_narrow);
    const size_t count = sbn__needs_wide(&accumulators, CHANNELS, wide);
    tap_ok(count == 3 && memcmp(wide, expected, CHANNELS) == 0,
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
}

int main(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i)
        flagged(formats[i].name, formats[i].format);
    large();
    needs_wide();
    small_slices();
    return tap_done();
}
