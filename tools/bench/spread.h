/* What is said of a row of measurements: the median, and how far they spread. */
#ifndef TOOLS_BENCH_SPREAD_H
#define TOOLS_BENCH_SPREAD_H

#include <stddef.h>

/* Most measurements in a row. */
enum { SPREAD_MAX = 1024 };

/* Quartiles lie between two measurements where they must: linear interpolation, as numpy's. */
typedef struct spread {
    size_t count; /* 0: nothing was measured, and all below is NaN */
    double least, quartile1, median, quartile3, most;
} spread;

/* Of up to SPREAD_MAX values, those that are NaN left out. */
spread spread_of(const double *values, size_t count);

/*
 * Of the quotients a[i] / b[i], for each i where both were measured: a drift of the machine meets
 * both sides of a quotient and none of the medians of a and b alone.
 */
spread spread_of_quotients(const double *a, const double *b, size_t count);

/* Of a[i] - b[i], in the same way. */
spread spread_of_differences(const double *a, const double *b, size_t count);

/* The same times a constant >= 0. */
spread spread_times(spread s, double factor);

#endif
