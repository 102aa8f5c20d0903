/* What `syncbn bench` prints: a table for people, JSON for programs. */
#ifndef TOOLS_SYNCBN_BENCH_REPORT_H
#define TOOLS_SYNCBN_BENCH_REPORT_H

#include "bench/bench.h"
#include "syncbn/json_output.h"

/* The table, problem by problem, on stdout. */
void bench_report_device(const device_info *device, size_t number);
void bench_report_problem(const problem *p, const bench_result *result);

/* JSON, collected and written at the end. */
typedef struct bench_json {
    json_t *devices, *problems;
} bench_json;

/* Nothing in it yet; returns 0, or -1 where there is no memory. */
int bench_json_begin(bench_json *j);
void bench_json_device(bench_json *j, const device_info *device, size_t number);
void bench_json_problem(bench_json *j, const problem *p, const bench_result *result);

/* Writes it, where there is an output, and frees; returns as json_output_write. */
int bench_json_end(bench_json *j, json_output *out);

#endif
