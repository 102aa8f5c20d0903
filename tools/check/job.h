/* One problem under way: its layer, its buffers, its passes, its results. */
#pragma once

#include "check/queues.h"
#include "check/tensors.h"

typedef struct job {
    const problem *p;
    const placement *g;
    const inputs *in;
    outputs *out;
    char *error;
    const runner_ranks *ranks; /* NULL: all replicas are here */
    size_t first, replicas;    /* of this process */
    tensors *tensors;
    sbn_shard *shards;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    struct job *beside; /* the other layer of each pass, or NULL */
    int borrows;        /* tensors and shards are another job's */
} job;

/* Writes a failed call of the library into `error`, with the library's sentence; returns status. */
int job_failed(char *error, const char *call, int status);

/* A failed OpenCL call of our own, for which the library has no sentence. */
int job_failed_here(char *error, const char *call, int status);

/*
 * Makes layer, buffers and shards for p, g and in, which stay the caller's and must live as long.
 * Statuses as of check_passes; job_close in any case.
 */
int job_open(job *j, sbn_group *group, cl_command_queue *queue);
void job_close(job *j);

/*
 * The same on buffers of another job, which lives longer: of replicas `first` and those behind it. Only the
 * layer, and what its forward saves, are its own.
 */
int job_open_on(job *j, const job *of, size_t first, size_t replicas, sbn_group *group);

/* Running statistics as they are before the passes; where replicas are given them, the number of batches. */
int job_reset(job *j);

/* 1 if a replica has running statistics in buffers. */
int job_is_given(const job *j);

/* The passes; each has ended on the device only where its queue says so. */
int job_forward(job *j, sbn_result *result);
int job_backward(job *j, sbn_result *result);
int job_evaluate(job *j);
int job_recompute(job *j);

/* All that the problem has, in their order. */
int job_run(job *j);

/* Waits for the queues of its replicas. */
int job_finish(const job *j);
