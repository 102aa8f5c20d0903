/* One problem measured: every contender timed in turns, then every result checked. */
#ifndef SYNCBN_CLI_BENCH_H
#define SYNCBN_CLI_BENCH_H

#include "devices.h"
#include "queues.h"
#include "timing.h"

enum { BENCH_MAX_SERIES = 64, BENCH_MAX_CONTENDERS = 32 };

typedef struct bench_config {
    const device_info *const *devices; /* one context each; the first is measured alone */
    size_t num_devices;
    const char *build_options; /* for the library, or NULL */
    timing_budget budget;
} bench_config;

typedef struct bench bench;

/* Statuses and `error` as of runner_create. */
int bench_open(const bench_config *config, bench **made, char *error);
void bench_close(bench *b);

/* What was measured. */
typedef struct bench_result {
    int ok;
    char error[RUNNER_ERROR]; /* why not */
    size_t elements;          /* of the tensor */
    size_t rounds;
    size_t count;
    series *series;
    contender contenders[BENCH_MAX_CONTENDERS]; /* closed, but for their names */
    const char *copy;                           /* the fastest one's name */
    double seconds;                             /* in all */
} bench_result;

/* 0 if the problem can be measured, or a sentence that says why not. */
const char *bench_refuses(const problem *p);

/* Always fills `result`; free it with bench_result_free. */
void bench_run(bench *b, const problem *p, bench_result *result);
void bench_result_free(bench_result *result);

/* A series of the result; NULL if there is none. */
const series *bench_series(const bench_result *result, const char *contender, bench_pass pass);

/* Bytes that a pass must at least move. */
double bench_bytes(const bench_result *result, bench_pass pass);

/*
 * Of a series, the share of the copy's speed at which it moved its bytes, by
 * the rounds' own quotients: 1 is as fast as copying.
 */
spread bench_share_of_copy(const bench_result *result, const series *s);

#endif
