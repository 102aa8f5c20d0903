/* A rank of the job that tools/bench/scaling/main.c measures, and the passes that it times. */
#ifndef TOOLS_BENCH_SCALING_RANK_H
#define TOOLS_BENCH_SCALING_RANK_H

#include <syncbn-mpi.h>

#include "program/opencl.h"
#include "bench/contender.h"
#include "bench/spread.h"

/* The same layer in three groups. */
typedef enum scaling_group {
    SCALING_ALONE,
    SCALING_ECHO,
    SCALING_JOINED,
    SCALING_GROUPS
} scaling_group;

typedef struct scaling_rank {
    int rank, world_size;
    double pause; /* seconds of other work for scaling_hidden */
    cl_context context;
    cl_command_queue queue;
    sbn_mpi *mpi, *bare; /* of the joined group, and of sums without a group */
    sbn_group *groups[SCALING_GROUPS];
    problem problem;
    placement placement;
    inputs inputs;
    outputs outputs;
    job jobs[SCALING_GROUPS];
    int64_t *words;
    size_t count; /* of words */
    char error[RUNNER_ERROR];
} scaling_rank;

/* On PoCL's first device. Failures end the job. */
void scaling_open(scaling_rank *r);
void scaling_close(scaling_rank *r);
void scaling_open_channels(scaling_rank *r, const char *channels);
void scaling_close_channels(scaling_rank *r);

/*
 * All ranks call these together. They return the seconds from when the last rank began to when the
 * last had ended, by the clock of the one machine that all run on. scaling_hidden is a joined
 * forward less the pauses made between begin and end, with or without calls of progress.
 */
double scaling_sum(scaling_rank *r);
double scaling_pass(scaling_rank *r, scaling_group group, bench_pass pass);
double scaling_hidden(scaling_rank *r, int progress);

#endif
