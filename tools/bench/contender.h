/*
 * Something that the benchmark times and checks: the library, a copy, plain kernels, another
 * library.
 */
#ifndef TOOLS_BENCH_CONTENDER_H
#define TOOLS_BENCH_CONTENDER_H

#include "program/opencl.h"
#include "check/collect.h"

typedef enum bench_pass {
    BENCH_COPY,
    BENCH_FORWARD,
    BENCH_BACKWARD,
    BENCH_EVALUATE,
    BENCH_PASSES
} bench_pass;

/* "copy", "forward", ... */
extern const char *const bench_pass_names[BENCH_PASSES];

/* The problem of all contenders. They share buffers, so that the placement of pages is the same. */
typedef struct scene {
    problem p;
    placement g;
    inputs in;
    job job;       /* the library's, on one replica */
    outputs right; /* of the library, once they have been verified */
    sbn_group *group;
    cl_command_queue queue;
    cl_context context;
    cl_device_id device;
    sbn_kernel_form form; /* of the benchmark's own kernels: never AUTO */
    char error[RUNNER_ERROR];
} scene;

typedef struct contender {
    const char *name;
    unsigned passes; /* bits 1 << bench_pass */
    void *self;
    /*
     * Runs a pass until its end on the device. If there is a `finish`, `run` ends when the pass's
     * call returns, and `finish` waits for the device. These functions return SBN_SUCCESS, or a
     * status with a sentence in the scene's error.
     */
    int (*run)(void *self, bench_pass pass);
    int (*finish)(void *self);
    /* After the timing: overwrites outputs, runs every pass again and judges the outputs. */
    int (*check)(void *self);
    void (*close)(void *self);
    int spins; /* its threads spin for a while after a run */
} contender;

#endif
