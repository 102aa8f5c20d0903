#include "bench/timing.h"

#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "check/mix.h"

/* Longer than an OpenMP thread spins before it sleeps. */
static const struct timespec rest = {0, 25 * 1000 * 1000};

/* The order of a round: by random keys. The highest bit puts contenders whose threads spin last. */
static void deal(const series *list, size_t count, uint64_t round, size_t *order)
{
    uint64_t key[TIMING_SERIES];
    for (size_t i = 0; i < count; ++i) {
        size_t at = i;
        key[i] = (uint64_t)list[i].of->spins << 63 | mix(round, i) >> 1;
        for (; at > 0 && key[order[at - 1]] > key[i]; --at)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static int run_once(const series *s, double *seconds, double *returned)
{
    double start = sbn__seconds();
    int status = s->of->run(s->of->self, s->pass);
    *returned = s->of->finish ? sbn__seconds() - start : NAN;
    if (!status && s->of->finish)
        status = s->of->finish(s->of->self);
    *seconds = sbn__seconds() - start;
    return status;
}

/* After a round: threads that still spin would slow the next one. */
static void settle(const series *list, size_t count)
{
    int spins = 0;
    for (size_t i = 0; i < count; ++i)
        spins |= list[i].of->spins;
    if (spins)
        nanosleep(&rest, NULL);
}

int timing_run(series *list, size_t count, const timing_budget *budget, size_t *rounds)
{
    double spent[TIMING_SERIES] = {0}, start = 0, ignored;
    size_t order[TIMING_SERIES], most = budget->rounds ? budget->rounds : SPREAD_MAX;
    int status = SBN_SUCCESS;
    *rounds = 0;
    count = count < TIMING_SERIES ? count : TIMING_SERIES;
    for (size_t i = 0; i < count && !status; ++i)
        status = run_once(&list[i], &ignored, &ignored);
    settle(list, count);
    start = sbn__seconds();
    for (size_t round = 0; round < most && !status; ++round) {
        double elapsed = sbn__seconds() - start;
        if (!budget->rounds && round >= TIMING_LEAST && elapsed >= budget->seconds)
            break;
        deal(list, count, round, order);
        for (size_t i = 0; i < count; ++i)
            list[i].seconds[round] = list[i].returned[round] = NAN;
        for (size_t i = 0; i < count && !status; ++i) {
            series *s = &list[order[i]];
            double *at = &s->seconds[round];
            if (budget->rounds || round < TIMING_LEAST ||
                spent[order[i]] <= 2 * elapsed / (double)count) {
                status = run_once(s, at, &s->returned[round]);
                spent[order[i]] += *at;
            }
        }
        settle(list, count);
        *rounds += !status;
    }
    return status;
}
