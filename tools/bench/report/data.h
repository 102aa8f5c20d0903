/* The report as columns for gnuplot. */
#ifndef TOOLS_BENCH_REPORT_DATA_H
#define TOOLS_BENCH_REPORT_DATA_H

#include <jansson.h>

/*
 * A line for each problem: its shape, its layout, and for forward and backward the
 * share of the copy's speed of the library, unordered sums, oneDNN's fastest layout and the
 * baseline; NaN where there is none. A comment names the columns. Problems
 * of the fixed cost are left out.
 */
void data_print(const json_t *report);

#endif
