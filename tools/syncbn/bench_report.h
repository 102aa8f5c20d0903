/* What `syncbn bench` prints: a table for people, JSON for programs. */
#pragma once

#include "bench/bench.h"
#include "syncbn/options.h"

typedef struct bench_report {
    json_output *out;
    json_t *devices, *problems;
} bench_report;

void bench_report_begin(bench_report *r, const device_list *list, const device_choice *chosen,
                        json_output *out);
void bench_report_problem(bench_report *r, const problem *p, const bench_result *result);

/* Writes JSON, where there is an output; returns as json_output_write. */
int bench_report_end(bench_report *r);
