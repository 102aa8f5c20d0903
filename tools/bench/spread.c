#include "bench/spread.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which a fraction of the sorted values lies. */
static double quantile(const double *sorted, size_t count, double fraction)
{
    double at = fraction * (double)(count - 1);
    size_t below = (size_t)at;
    double rest = at - (double)below;
    return rest > 0 ? sorted[below] + rest * (sorted[below + 1] - sorted[below]) : sorted[below];
}

spread spread_of(const double *values, size_t count)
{
    double sorted[SPREAD_MAX];
    size_t n = 0;
    for (size_t i = 0; i < count && n < SPREAD_MAX; ++i)
        if (!isnan(values[i]))
            sorted[n++] = values[i];
    if (n == 0)
        return (spread){0, NAN, NAN, NAN, NAN, NAN};
    qsort(sorted, n, sizeof *sorted, by_size);
    return (spread){n,
                    sorted[0],
                    quantile(sorted, n, 0.25),
                    quantile(sorted, n, 0.5),
                    quantile(sorted, n, 0.75),
                    sorted[n - 1]};
}

static spread of_pairs(const double *a, const double *b, size_t count, int divide)
{
    double values[SPREAD_MAX];
    count = count < SPREAD_MAX ? count : SPREAD_MAX;
    for (size_t i = 0; i < count; ++i)
        values[i] = divide ? a[i] / b[i] : a[i] - b[i];
    return spread_of(values, count);
}

spread spread_of_quotients(const double *a, const double *b, size_t count)
{
    return of_pairs(a, b, count, 1);
}

spread spread_of_differences(const double *a, const double *b, size_t count)
{
    return of_pairs(a, b, count, 0);
}
