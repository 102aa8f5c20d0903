/*
 * Two launch plans compared on a device: groups that differ in their tuned numbers alone
 * (device/tuning.h) run problems' passes in turns, on the same buffers.
 */
#pragma once

#include "bench/contender.h"
#include "check/devices.h"
#include "device/tuning.h"

enum { TUNER_PROBLEMS = 16, TUNER_LINES = 2 * TUNER_PROBLEMS };

/* A gain is more than this, too: less is not worth a file. */
#define TUNER_LEAST 0.02

typedef struct tuner {
    queues *queues;
    sbn_kernel_form form;
    size_t count;
    const problem *named[TUNER_PROBLEMS];
    scene scenes[TUNER_PROBLEMS]; /* of each problem; their group keeps the programs */
    char *error;
} tuner;

/*
 * Statuses and `error` as of queues_open; after an error there is nothing to close. The problems
 * are the caller's, and stay.
 */
int tuner_open(tuner *t, const device_info *device, sbn_kernel_form form,
               const problem *const *problems, size_t count, char *error);
void tuner_close(tuner *t);

/* A pass of a problem. */
typedef struct tuner_line {
    const problem *of;
    int is_backward;
    double before, after;   /* seconds, medians */
    double quotient, error; /* after / before by rounds: the median, and its standard error */
    double again;           /* the same of two equal plans */
} tuner_line;

typedef struct tuner_comparison {
    size_t count;
    tuner_line lines[TUNER_LINES];
    double quotient; /* the geometric mean of the lines' */
    double noise;    /* by which it may differ from 1 by chance */
    int gain;        /* it is below 1 by more, and no line is slower */
} tuner_comparison;

/* For `seconds` a problem, and at least some rounds. */
int tuner_compare(tuner *t, const sbn_tuning *before, const sbn_tuning *after, double seconds,
                  tuner_comparison *result);

/* Finds quotient, noise and gain from the lines. */
void tuner_judge(tuner_comparison *result);
