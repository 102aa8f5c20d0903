/* Comparisons between the series of a result. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"

static const series *find(const bench_result *result, const char *name, bench_pass pass)
{
    for (const series *s = result->series; s < result->series + result->count; ++s)
        if (s->pass == pass && strcmp(s->of->name, name) == 0)
            return s;
    return NULL;
}

/* How many times a pass reads or writes a whole tensor. */
static double moves_of(const bench_result *result, bench_pass pass)
{
    static const double moves[BENCH_PASSES] = {2, 3, 5, 2};
    return moves[pass] + (result->residual && pass != BENCH_COPY);
}

/* Its bytes for an element, as a multiple of the problem's: "f32" stands beside types of two bytes. */
static double size_of(const series *s)
{
    return strcmp(s->of->name, "f32") == 0 ? 2 : 1;
}

double bench_bytes(const bench_result *result, const series *s)
{
    return moves_of(result, s->pass) * size_of(s) * (double)result->bytes;
}

spread bench_share_of_copy(const bench_result *result, const series *s)
{
    const series *copy = find(result, result->copy, BENCH_COPY);
    const double moves = moves_of(result, s->pass) * size_of(s) / moves_of(result, BENCH_COPY);
    double shares[SPREAD_MAX];
    for (size_t i = 0; i < result->rounds; ++i)
        shares[i] = copy->seconds[i] / s->seconds[i] * moves;
    return spread_of(shares, result->rounds);
}

/* The name of the contender that `name` is compared with, or NULL. */
static const char *counterpart(const char *name)
{
    return strcmp(name, "synchronised") == 0                           ? "apart"
           : strcmp(name, "syncbn") == 0 || strcmp(name, "apart") == 0 ? NULL
                                                                       : "syncbn";
}

int bench_compare(const bench_result *result, const series *s, comparison_of *made)
{
    const size_t rounds = result->rounds;
    const char *other = counterpart(s->of->name);
    const series *with = other ? find(result, other, s->pass) : NULL;
    if (!with)
        return 0;
    /* The library is the first of the two; of the replicas, the synchronised ones. */
    const int swap = strcmp(other, "syncbn") == 0;
    const series *a = swap ? with : s, *b = swap ? s : with;
    *made = (comparison_of){.pass = s->pass,
                            .of = a->of->name,
                            .with = b->of->name,
                            .quotient = spread_of_quotients(a->seconds, b->seconds, rounds),
                            .difference = spread_of_differences(a->seconds, b->seconds, rounds)};
    return 1;
}

const char *bench_fastest(const bench_result *result, bench_pass pass, const char *prefix)
{
    const char *name = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < result->count; ++i) {
        const series *s = &result->series[i];
        const double median = spread_of(s->seconds, result->rounds).median;
        if (s->pass == pass && strncmp(s->of->name, prefix, strlen(prefix)) == 0 &&
            median < least) {
            name = s->of->name;
            least = median;
        }
    }
    return name;
}
