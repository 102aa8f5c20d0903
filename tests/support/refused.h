/*
 * A group of two replicas with two layers, on which passes are called wrongly:
 * each refusal with its sentence, and with nothing changed, neither statistics
 * nor outputs nor gradients.
 */
#ifndef TESTS_SUPPORT_REFUSED_H
#define TESTS_SUPPORT_REFUSED_H

#include "program/opencl.h"
#include "support/fixture.h"

enum { REPLICAS = 2, CHANNELS = 3, SAMPLES = 4, PLANE = 7 };

typedef enum operation { FORWARD, BACKWARD, EVALUATE, RECOMPUTE } operation;

/* "first" tracks running statistics, "second" does not. */
typedef struct stage {
    fixture device;
    cl_command_queue queue;
    sbn_group *group;
    sbn_batchnorm *layer, *second;
    sbn_saved *saved, *empty, *of_second; /* `empty` and `saved` are the first layer's */
    slice slices[REPLICAS];
    sbn_shard good[REPLICAS];
    long handles;
} stage;

/* 0, or 1 where there is no device. `saved` and `of_second` have been filled. */
int stage_open(stage *s);

/* Checks that the right calls still work and that no handle is left; the program's result. */
int stage_close(stage *s);

/* Outputs to the pattern. */
void stage_reset(const stage *s);

/* A digest of all that a pass may change, but for the outputs. */
uint64_t stage_state(const stage *s);

/* Calls wrongly and checks that it is refused, and that nothing has changed. */
void refused(stage *s, operation op, sbn_batchnorm *layer, const sbn_shard *shards,
             sbn_saved *saved, unsigned flags, int status, const char *words, const char *what);

#endif
