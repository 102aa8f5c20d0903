/* The judgement of an output, made value by value; compare.h says what is expected of each. */
#ifndef TOOLS_CHECK_VERDICT_H
#define TOOLS_CHECK_VERDICT_H

#include "check/outputs.h"

#include <syncbn.h>

typedef struct verdict {
    int judged;       /* 0: the problem has no such output */
    size_t failures;  /* values beyond their tolerance */
    size_t unbounded; /* values that no bound holds for: eps is 0, the variance may be */
    double ratio;     /* the largest error / tolerance */
    /* Where that was: */
    double error, tolerance, got, expected;
    size_t index; /* into the output's data */
} verdict;

/* A result that may be so far from what is expected. */
void verdict_value(verdict *v, sbn_type type, size_t index, float got, double expected,
                   double tolerance);

/* A result of which every bit is known. */
void verdict_bits(verdict *v, size_t index, float got, float expected);

#endif
