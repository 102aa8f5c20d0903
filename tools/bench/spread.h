/* Median and quartiles of a series of measurements. */
#pragma once

#include <stddef.h>

/* The most measurements of a series. */
enum { SPREAD_MAX = 1024 };

/* Quartiles are interpolated linearly, as numpy does. */
typedef struct spread {
    size_t count; /* 0: nothing was measured, and all below is NaN */
    double least, quartile1, median, quartile3, most;
} spread;

/* Of up to SPREAD_MAX values; NaN is left out. */
spread spread_of(const double *values, size_t count);

/*
 * Of the quotients a[i] / b[i], for each i where both were measured. A drift of the machine's speed
 * cancels in each quotient, but not in the quotient of two medians.
 */
spread spread_of_quotients(const double *a, const double *b, size_t count);

/* Of a[i] - b[i], in the same way. */
spread spread_of_differences(const double *a, const double *b, size_t count);
