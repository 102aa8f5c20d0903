/*
 * Timing in turns: every round runs each series once, in a random order, so that drifts of the
 * machine's speed, and what a run leaves in the caches, affect all series alike.
 */
#pragma once

#include "bench/contender.h"
#include "bench/spread.h"

/*
 * The seconds of one pass of one contender in each round; NaN for rounds that it skipped. The times
 * until its call returned are NaN if the contender does not measure them.
 */
typedef struct series {
    const contender *of;
    bench_pass pass;
    double seconds[SPREAD_MAX], returned[SPREAD_MAX];
} series;

typedef struct timing_budget {
    double seconds; /* rounds go on for so long, and at least TIMING_LEAST of them */
    size_t rounds;  /* or for so many, if not 0 */
} timing_budget;

/* The most series, and the least rounds. */
enum { TIMING_SERIES = 64, TIMING_LEAST = 7 };

/*
 * Runs rounds, after one that is not timed. A series that has used more than twice its share of the
 * time skips rounds once it has TIMING_LEAST. Sets *rounds.
 */
int timing_run(series *list, size_t count, const timing_budget *budget, size_t *rounds);
