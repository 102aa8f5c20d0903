/* The runner's inside: one problem under way. */
#ifndef SYNCBN_CLI_JOB_H
#define SYNCBN_CLI_JOB_H

#include "runner.h"
#include "tensors.h"

typedef struct job {
    const problem *p;
    const geometry *g;
    const inputs *in;
    outputs *out;
    char *error;
    size_t replicas;
    tensors *tensors;
    sbn_share *shares;
    cl_event *done; /* of each replica's last pass */
    sbn_batchnorm *layer;
    sbn_saved *saved;
} job;

/* Writes a failed call of the library into `error`, with the library's sentence; returns status. */
int job_failed(char *error, const char *call, int status);

/* A failed OpenCL call of our own, for which the library has no sentence. */
int job_failed_here(char *error, const char *call, int status);

/* After the passes: reads everything back into the job's outputs. */
int job_collect(job *j);

#endif
