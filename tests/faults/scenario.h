/* Sequences of calls of the library, in which the calls into OpenCL, the system or the allocator fail (driver.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <syncbn.h>

typedef struct scenario {
    const char *name;
    /* In what it differs from others with the same functions, which read trying->variant. */
    const void *variant;
    /* What the steps need; nothing fails here. */
    void (*begin)(void);
    /* The calls, in `steps` steps: a status. One that fails is repeated until it succeeds or says SBN_GROUP_FAILED. */
    int (*step)(int number);
    int steps;
    /* A digest of what a step that fails must not change; 0: nothing is promised now. */
    uint64_t (*kept)(int number);
    /* A digest of what the steps have made so far. */
    uint64_t (*result)(void);
    /* Destroys what begin and the steps have made; calls fail here, too. */
    void (*end)(void);
    /* Functions whose failure may have no other consequence: -1 ends the list; NULL: releases. */
    const int *survived;
    /* May memory stay allocated, as after a timeout? NULL: never. */
    int (*may_leak)(void);
    /*
     * Mostly waits for deadlines: many points are tried side by side. Calls fewer functions than the others: a program
     * with one does not check that all are called.
     */
    int waits;
    /* Which functions fail, as for wraps_fail; 0: every one. WRAP_SYMMETRIC: on all ranks of a job alike. */
    int fails;
    /*
     * Running statistics and gradients may be updated by a pass whose command a device refuses, and are once more when
     * it is repeated (pass.h): 1: where the driver has no memory for the event of its last command or refuses to flush
     * it; 2: a pass of several layers, or of several replicas with running statistics of their own, at any failure.
     */
    int may_track;
} scenario;

/* A name, and what else there is. */
#define SCENARIO(text, ...) \
    { \
        .name = text, __VA_ARGS__ \
    }

/* The one that runs now. */
extern const scenario *trying;

/* Each list ends with a scenario without a name; the list of a program's lists with NULL. */
extern const scenario group_scenarios[], pass_scenarios[], branch_scenarios[], layer_scenarios[],
    model_scenarios[], parallel_scenarios[], rank_scenarios[];
extern const scenario *const scenario_lists[];

/* Nothing can be done about an object that is not released; a device's name is for a sentence, if one is needed. */
#define SURVIVED_RELEASES \
    WRAP_DEVICE_INFO, WRAP_UNMAP, WRAP_RELEASE_QUEUE, WRAP_RELEASE_BUFFER, WRAP_RELEASE_EVENT, \
        WRAP_RELEASE_KERNEL, WRAP_RELEASE_PROGRAM

/* What waits for an earlier pass before it uses its memory again finds it ended, if with an error. */
extern const int survived_waits[];
