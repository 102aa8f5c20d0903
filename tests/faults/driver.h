/*
 * In a scenario the n-th call into OpenCL, the system or the library's allocator fails, for n = 1,
 * 2, ... until there are no more; then the n-th and one after it, and all after it. Each time
 *
 *   the step in which it happens returns an error with a sentence, or survives what it may;
 *   what an error must not change has not changed;
 *   the same step succeeds the next time and all that follows has the bits of a run without
 *   failures, or it refuses with SBN_GROUP_FAILED and a fresh run has them;
 *   nothing is left open: no reference to an OpenCL object, no block, no descriptor.
 */
#ifndef TESTS_FAULTS_DRIVER_H
#define TESTS_FAULTS_DRIVER_H

#include <stdatomic.h>

#include "faults/scenario.h"

typedef struct totals {
    int points, pairs, survived, wrong;
    int calls;     /* that can fail, of a run without failures */
    char why[256]; /* a run without failures is wrong */
} totals;

/* Which points of a scenario: every parts-th from `part` on. `tried` counts those of all parts. */
typedef struct share {
    int part, parts;
    atomic_int *tried;
} share;

/* FAULT_POINTS in the environment; -1: all, but no two at a time; without it a sample. */
int fault_points(void);

/* So many points in all, at equal distances; 0 and -1: all. A note for each hundred of them. */
totals try_scenario(const scenario *s, int points, const share *own);

void add_totals(totals *to, const totals *more);

/* One check. */
void report_scenario(const scenario *s, const totals *t, int points);

#endif
