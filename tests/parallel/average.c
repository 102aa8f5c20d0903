/*
 * Means by integers against sums in extended precision: the error stays below the bound that
 * <syncbn/data_parallel.h> states, and the order of the replicas does not show. NaN, Inf, zeros, and
 * magnitudes from the smallest to the largest float.
 */
#include "parallel/average.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <syncbn/group.h>

#include "support/random.h"
#include "support/tap.h"

enum { COUNT = SBN_AVERAGE_BLOCK, MOST = 300 };

static float values[MOST + 1][COUNT], means[COUNT], again[COUNT];

/* A sign, 24 bits, and a power of two between the two. */
static float random_float(int low, int high)
{
    const float magnitude = ldexpf((float)(next() >> 41 | 1u << 22),
                                   low + (int)(next() % (unsigned)(high - low + 1)) - 22);
    return next() & 1 ? -magnitude : magnitude;
}

/* The replicas in an order that begins with `first`, in ranks of `each` replicas. */
static sbn_range mean_of(size_t replicas, size_t each, size_t first, float *to)
{
    static int64_t sums[COUNT], part[COUNT];
    int64_t ranges[SBN_RANGE_WORDS] = {0};
    for (size_t r = 0; r < replicas; r += each) {
        sbn_range range = {0};
        for (size_t i = r; i < r + each && i < replicas; ++i)
            sbn__range_include(&range, values[(i + first) % replicas], COUNT);
        sbn__range_put(range, ranges);
    }
    const sbn_range range = sbn__range_get(ranges);
    memset(sums, 0, sizeof sums);
    for (size_t r = 0; r < replicas; r += each) {
        memset(part, 0, sizeof part);
        for (size_t i = r; i < r + each && i < replicas; ++i)
            sbn__fixed_add(range, replicas, values[(i + first) % replicas], COUNT, part);
        for (size_t i = 0; i < COUNT; ++i)
            sums[i] += part[i];
    }
    sbn__fixed_mean(range, replicas, sums, COUNT, to);
    return range;
}

/* What the header says, for finite elements. */
static long double bound_of(size_t replicas, int special, long double largest, long double exact)
{
    int k = 0;
    while (replicas >> k)
        ++k;
    long double relative = ldexpl(1, replicas > 4096 ? -43 - 12 + k : -43);
    const long double of_special = ldexpl(1, -54 + 3 * k);
    if (special && of_special > relative)
        relative = of_special;
    const long double place = fabsl(exact) < FLT_MIN ? ldexpl(1, -150)
                                                     : ldexpl(1, ilogbl(fabsl(exact)) - 24);
    /* Two roundings to double on the way. */
    return relative * largest + place + ldexpl(fabsl(exact), -51) + ldexpl(1, -170);
}

/* The largest error over its bound; INFINITY where an element is not the one that must come, or not finite. */
static long double judge(size_t replicas, int special)
{
    long double worst = 0, largest = 0;
    for (size_t r = 0; r < replicas; ++r)
        for (size_t i = 0; i < COUNT; ++i)
            if (isfinite(values[r][i]) && fabsl(values[r][i]) > largest)
                largest = fabsl(values[r][i]);
    for (size_t i = 0; i < COUNT; ++i) {
        long double sum = 0;
        int up = 0, down = 0;
        for (size_t r = 0; r < replicas; ++r) {
            const float value = values[r][i];
            up += isnan(value) || value == INFINITY;
            down += isnan(value) || value == -INFINITY;
            sum += isfinite(value) ? value : 0;
        }
        if (up || down) {
            const float expected = up && down ? NAN : up ? INFINITY : -INFINITY;
            if (isnan(expected) ? !isnan(means[i]) : means[i] != expected)
                return INFINITY;
            continue;
        }
        if (!isfinite(means[i]))
            return INFINITY;
        const long double exact = sum / (long double)replicas;
        const long double off = fabsl(means[i] - exact) /
                                bound_of(replicas, special, largest, exact);
        worst = off > worst ? off : worst;
    }
    return worst;
}

static void check(const char *what, size_t replicas)
{
    values[replicas][0] = FLT_MAX; /* behind the last block: not read */
    const sbn_range range = mean_of(replicas, replicas, 0, means);
    const long double worst = judge(replicas, range.special);
    tap_ok(worst <= 1, "%s, %zu replicas: the error is %.3Lf of the bound", what, replicas, worst);
    int differ = 0;
    for (size_t each = 1; each < replicas; each = 2 * each + 1) {
        mean_of(replicas, each, replicas / 3, again);
        differ += memcmp(means, again, sizeof means) != 0;
    }
    tap_ok(!differ, "%s, %zu replicas: the same bits in any order and grouping", what, replicas);
}

static void fill(size_t replicas, int low, int high)
{
    for (size_t r = 0; r < replicas; ++r)
        for (size_t i = 0; i < COUNT; ++i)
            values[r][i] = random_float(low, high);
}

static void check_sizes(size_t replicas)
{
    fill(replicas, -3, 0);
    check("of one size", replicas);
    fill(replicas, -30, 10);
    check("of many sizes", replicas);
    fill(replicas, 100, 127);
    check("large", replicas);
    fill(replicas, -149, -130);
    check("denormal", replicas);
    fill(replicas, -149, 127);
    check("of all sizes", replicas);
    for (int kind = 0; kind < 3; ++kind) {
        fill(replicas, -30, 10);
        values[0][0] = kind < 2 ? 0x1p100f : -INFINITY;
        values[0][1] = kind == 1 ? NAN : 1;
        check("the first far larger", replicas);
    }
    /* Sums that cancel but for one replica's last place. */
    fill(1, -3, 0);
    for (size_t r = 0; r < replicas; ++r)
        for (size_t i = 0; i < COUNT; ++i)
            values[r][i] = r % 2 ? -values[0][i] : values[0][i];
    values[replicas - 1][7] = nextafterf(values[replicas - 1][7], 9);
    check("cancelling", replicas);
    /* What must not be finite, and what must stay so. */
    fill(replicas, -10, 0);
    values[0][1] = NAN;
    values[replicas / 2][2] = INFINITY;
    values[replicas - 1][3] = -INFINITY;
    for (size_t r = 0; r < replicas; ++r) {
        values[r][4] = INFINITY;
        values[r][5] = r % 2 ? INFINITY : -INFINITY;
        values[r][6] = -INFINITY;
        values[r][8] = NAN;
    }
    check("NaN and Inf", replicas);
}

/* The largest floats do not overflow, zeros are +0, and whole numbers come out exactly. */
static void check_exact(void)
{
    int wrong = 0;
    for (size_t r = 0; r < 8; ++r)
        for (size_t i = 0; i < COUNT; ++i)
            values[r][i] = i % 3 == 0 ? FLT_MAX : i % 3 == 1 ? -FLT_MAX : -0.0f;
    mean_of(8, 2, 0, means);
    for (size_t i = 0; i < COUNT; ++i)
        wrong += means[i] != values[0][i] || (means[i] == 0 && signbit(means[i]));
    tap_ok(!wrong, "eight times FLT_MAX, -FLT_MAX and -0: %d wrong", wrong);
    for (size_t r = 0; r < 8; ++r)
        for (size_t i = 0; i < COUNT; ++i)
            values[r][i] = (float)(8 * i) + (float)r;
    mean_of(8, 1, 0, means);
    wrong = 0;
    for (size_t i = 0; i < COUNT; ++i)
        wrong += means[i] != (float)(8 * i) + 3.5f;
    tap_ok(!wrong, "whole numbers: %d wrong", wrong);
}

/* Ranges of as many ranks as there may be, all with the same and all with another. */
static void check_ranges(void)
{
    int wrong = 0;
    for (int level = 0; level < SBN_AVERAGE_LEVELS; ++level) {
        int64_t words[SBN_RANGE_WORDS] = {0};
        for (int rank = 0; rank < 4095; ++rank)
            sbn__range_put((sbn_range){rank % 7 ? level : level / 2, level % 2}, words);
        const sbn_range range = sbn__range_get(words);
        wrong += range.level != level || range.special != level % 2;
    }
    const int64_t none[SBN_RANGE_WORDS] = {0};
    wrong += sbn__range_get(none).level != 0 || sbn__range_get(none).special;
    tap_ok(!wrong, "ranges of 4095 ranks: %d wrong", wrong);
}

/*
 * The most replicas: all with the largest magnitude, or the least that is not rounded; one that is not finite.
 * Of 4096 the largest sum is a power of two.
 */
static void check_most(void)
{
    static const int places[] = {45, 49, 12, 22};
    static int64_t sums[COUNT];
    int wrong = 0;
    for (int kind = 0; kind < 4; ++kind) {
        const int special = kind > 1;
        const sbn_range range = {15, special};
        const size_t most = kind % 2 ? 4096 : SBN_MAX_REPLICAS;
        const float largest = nextafterf(ldexpf(1, 8 * 15 + 8 - 127), 0);
        for (size_t i = 0; i < COUNT; ++i)
            values[0][i] = i % 2 ? largest : -largest;
        values[0][7] = ldexpf(1, -places[kind]);
        values[0][8] = values[0][7] / 2; /* which rounds to 0 */
        memset(sums, 0, sizeof sums);
        for (size_t r = 0; r < most; ++r) {
            if (special)
                values[0][0] = r == 77 ? NAN : -largest;
            sbn__fixed_add(range, most, values[0], COUNT, sums);
        }
        sbn__fixed_mean(range, most, sums, COUNT, means);
        for (size_t i = 0; i < COUNT; ++i) {
            const double off = fabs((double)means[i] / values[0][i] - 1);
            wrong += i == 8              ? means[i] != 0
                     : special && i == 0 ? !isnan(means[i])
                                         : !(off < (special ? 0x1p-12 : 0x1p-24));
        }
    }
    tap_ok(!wrong, "%d and 4096 replicas: %d wrong", SBN_MAX_REPLICAS, wrong);
}

int main(void)
{
    static const size_t numbers[] = {2, 3, 8, 15, 100, MOST};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        check_sizes(numbers[i]);
    check_exact();
    check_ranges();
    check_most();
    return tap_done();
}
