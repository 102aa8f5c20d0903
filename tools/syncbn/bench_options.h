/* What `syncbn bench` was asked for. */
#ifndef TOOLS_SYNCBN_BENCH_OPTIONS_H
#define TOOLS_SYNCBN_BENCH_OPTIONS_H

#include "syncbn/device_choice.h"
#include "syncbn/problem_list.h"
#include "bench/timing.h"

typedef struct bench_options {
    device_choice devices;
    const char *build_options;
    timing_budget budget;
    const char *json;  /* a file, "-" for stdout, or NULL */
    problem_list list; /* with --form in them */
} bench_options;

/* As options_read. */
int bench_options_read(int argc, char **argv, bench_options *o);
void bench_options_free(bench_options *o);

#endif
