/*
 * What tests/pass/bits compares: problems, and the configurations each is computed in. A line of
 * either is in the problem language of check/problem.h; a configuration's settings are appended.
 */
#ifndef TESTS_PASS_BITS_H
#define TESTS_PASS_BITS_H

#include <stddef.h>

/* A configuration runs in a process of its own, because drivers read their settings once. */
typedef struct machine {
    const char *name;
    const char *pocl_devices;  /* POCL_DEVICES */
    const char *devices[3][2]; /* platform and device, as for trial_runner */
    int under_oclgrind;        /* tiny problems only: it is slow */
} machine;

typedef struct configuration {
    const char *machine, *settings;
} configuration;

typedef struct subject {
    const char *line;
    int tiny; /* small enough for Oclgrind */
    int wide; /* needs the wide format */
} subject;

extern const machine machines[];
extern const size_t machine_count;
extern const configuration configurations[];
extern const size_t configuration_count;
extern const subject subjects[];
extern const size_t subject_count;

/* Whether this problem runs in this configuration. */
int bits_runs(const machine *m, size_t c, size_t s);

/* The process of one machine: prints a line for each configuration and subject. */
int bits_worker(const char *machine_name);

#endif
