/* One problem measured: every contender timed in turns, then every result checked. */
#pragma once

#include "check/devices.h"
#include "check/queues.h"
#include "bench/timing.h"

typedef struct bench {
    const device_info *const *devices; /* of one platform; the first is measured alone */
    size_t num_devices;
    const char *build_options; /* for the library, or NULL */
    timing_budget budget;
    queues *queues; /* of these devices, from bench_open on */
} bench;

/* Opens the queues; close them with queues_close. Statuses and `error` as of queues_open. */
int bench_open(bench *b, char *error);

/* What was measured. */
typedef struct bench_result {
    int ok;
    char error[RUNNER_ERROR]; /* why not */
    size_t bytes;             /* of the tensor */
    int residual;             /* passes read or write one tensor more */
    size_t workspace;         /* bytes of device memory that the library took for its passes */
    size_t rounds;
    size_t count;
    series series[TIMING_SERIES];
    contender_list contenders; /* closed, but for their names */
    const char *copy;          /* the fastest one's name */
    double seconds;            /* in all */
} bench_result;

/* 0 if the problem can be measured, or a sentence that says why not. */
const char *bench_refuses(const problem *p);

/* Always fills `result`, which is too large for a stack. */
void bench_run(const bench *b, const problem *p, bench_result *result);

/* Bytes that the pass of a series must at least move. */
double bench_bytes(const bench_result *result, const series *s);

/*
 * The share of the copy's speed of a series, by the quotients of each round: 1 is as fast as
 * copying.
 */
spread bench_share_of_copy(const bench_result *result, const series *s);

/*
 * A pass of two contenders, by the quotients and differences of each round, in seconds. A quotient
 * above 1 means that `of` takes longer than `with`.
 */
typedef struct comparison_of {
    bench_pass pass;
    const char *of, *with;
    spread quotient, difference;
} comparison_of;

/*
 * How a series compares: the library with every other implementation and with itself of other
 * settings, and the replicas synchronised with those apart. Returns 0 if it is compared with none.
 */
int bench_compare(const bench_result *result, const series *s, comparison_of *made);

/* The name of the fastest contender in a pass, of those that begin with `prefix`, or NULL. */
const char *bench_fastest(const bench_result *result, bench_pass pass, const char *prefix);
