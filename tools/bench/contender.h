/*
 * Something that the benchmark times and checks: the library, a copy, plain kernels, another
 * library.
 */
#pragma once

#include "device/device.h"
#include "check/collect.h"
#include "check/queues.h"

typedef enum bench_pass {
    BENCH_COPY,
    BENCH_FORWARD,
    BENCH_BACKWARD,
    BENCH_EVALUATE,
    BENCH_PASSES
} bench_pass;

/* "copy", "forward", ... */
extern const char *const bench_pass_names[BENCH_PASSES];

/*
 * The problem of all contenders, and the library's job on one replica. They share its buffers, so that the
 * placement of pages is the same.
 */
typedef struct scene {
    problem p;
    placement g;
    inputs in;
    job job;
    outputs right;        /* of the library, once they have been verified */
    sbn_replica *replica; /* the library's: its device, queue and form of kernels */
    cl_program program;   /* the benchmark's own kernels */
    char error[RUNNER_ERROR];
} scene;

/* On the first device of these queues. A status, with a sentence in the scene's error; close it in any case. */
int scene_open(scene *s, queues *q, const problem *p);
void scene_close(scene *s);

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
    void (*close)(void *self); /* NULL: another one's closes what it has */
    int spins;                 /* its threads spin for a while after a run */
} contender;

/* The passes of most contenders. */
enum { BENCH_TRAINING = 1 << BENCH_FORWARD | 1 << BENCH_BACKWARD };

enum { BENCH_MAX_CONTENDERS = 32 };

/* Functions that open some add them here, those made before an error, too, so that they can be closed. */
typedef struct contender_list {
    size_t count;
    contender of[BENCH_MAX_CONTENDERS];
} contender_list;

/* --- the contenders ------------------------------------------------------------------------- */

/*
 * Copies of x to y: "plain", "vector", "nontemporal" (where the compiler has it) and
 * "clEnqueueCopyBuffer".
 */
int bench_copy_open(scene *s, contender_list *all);

/*
 * "unordered": sums in any order, in floats (unordered*.cl), forward and backward. None in the GPU form,
 * and channels first none where the library does not make a pass in one launch.
 */
int bench_unordered_open(scene *s, contender_list *all);

/*
 * "syncbn", the library on one replica. Its check fills the scene's `right`.
 * And the library with other settings: "f32", a layer of floats, beside another type; "dense", beside views;
 * "from x", beside backward from the output; "norm alone", without the activation that is the problem's only
 * fusion. Results are compared with the float64 reference. And "separate", beside what is fused in dense tensors
 * of f32, of usual numbers: the library's batch norm, then kernels that add the residual and apply the
 * activation in place of its y; backward, a kernel that writes dy behind the activation, whose sign it has from
 * y, which tells it if the slope of a leaky ReLU is positive; then the library's.
 */
int bench_library_open(scene *s, contender_list *all);

/*
 * "synchronised" and "apart", over the problem's replicas or two. None if a replica would have
 * fewer than two values per channel, too few for statistics of its own.
 */
int bench_replicas_open(scene *s, const problem *p, queues *q, contender_list *all);

/* The names of oneDNN's contenders begin with this. */
#define BENCH_ONEDNN "onednn "

/*
 * oneDNN's batch normalisation on the CPU, left out if configure does not find oneDNN: "onednn nchw",
 * "onednn nChw8c", "onednn nChw16c", "onednn nhwc", forward and backward, except layouts that oneDNN
 * lacks on this CPU. A ReLU is fused in them; problems with a residual or a leaky ReLU have none. And the
 * version, "2.6.3", or NULL where it is left out.
 */
int bench_onednn_open(scene *s, contender_list *all);
const char *bench_onednn_version(void);
