/*
 * In a scenario the n-th call of each step into OpenCL, the system or the library's allocator fails, for n = 1, 2, ...
 * until no step makes so many; then the n-th of each and one after it, and all after it. Each time
 *
 *   the step in which it happens returns an error with a sentence, or survives what it may;
 *   what an error must not change has not changed;
 *   the same step succeeds the next time and all that follows has the bits of a run without
 *   failures, or it refuses with SBN_GROUP_FAILED and a fresh run has them;
 *   nothing is left open: no reference to an OpenCL object, no block, no descriptor.
 */
#pragma once

#include "faults/scenario.h"

typedef struct totals {
    int points, pairs, survived, wrong;
    int calls;     /* of the step that makes most */
    char why[256]; /* a run without failures is wrong */
} totals;

/*
 * FAULT_POINTS in the environment: of so many n two calls fail, at equal distances; 0: of all;
 * without it of a few. One call fails of every n.
 */
int fault_points(void);

/* The part of a scenario with every parts-th n from part + 1 on. */
totals try_scenario(const scenario *s, int pairs, int part, int parts);

void add_totals(totals *to, const totals *more);

/* One check. */
void report_scenario(const scenario *s, const totals *t);
