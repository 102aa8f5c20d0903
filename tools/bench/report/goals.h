/* The project's goals for speed, held against a report. */
#ifndef TOOLS_BENCH_REPORT_GOALS_H
#define TOOLS_BENCH_REPORT_GOALS_H

#include <jansson.h>

/* Prints a line for each goal: the worst value, where it was, the goal, met or missed. */
void goals_print(const json_t *report);

#endif
