/*
 * Something that the benchmark times and checks: the library, a copy, a
 * baseline, another library. Each file of bench_*.c brings one.
 */
#ifndef TOOLS_BENCH_CONTENDER_H
#define TOOLS_BENCH_CONTENDER_H

#include "device/opencl.h"
#include "check/job.h"

typedef enum bench_pass {
    BENCH_COPY,
    BENCH_FORWARD,
    BENCH_BACKWARD,
    BENCH_EVALUATE,
    BENCH_PASSES
} bench_pass;

/* "copy", "forward", ...; how often each moves the whole tensor between memory and device. */
extern const char *const bench_pass_names[BENCH_PASSES];
extern const double bench_pass_moves[BENCH_PASSES];

/* The problem that all contenders solve, in buffers that all share: memory's luck is the same. */
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
     * Runs a pass from its start to its end on the device; or, where there is a `finish`, until its
     * call returns, and `finish` waits for the end. These functions return SBN_SUCCESS or a status,
     * and then a sentence in the scene's error.
     */
    int (*run)(void *self, bench_pass pass);
    int (*finish)(void *self);
    /* After the timing: overwrites outputs, runs every pass again and judges what they leave. */
    int (*check)(void *self);
    void (*close)(void *self);
    int spins; /* its threads wait busily for a while after a run */
} contender;

#endif
