/*
 * What is kept between problems: a context for each device, a queue
 * for each replica, and the groups made so far, for a group compiles kernels.
 * Replica r of a problem runs on devices[r % num_devices]; name a device twice
 * to give it two of three replicas.
 */
#pragma once

#include "program/opencl.h"
#include "check/problem.h"

/* The size of a sentence, and the status of a write outside a buffer's contents. */
enum { RUNNER_ERROR = 1024, RUNNER_SPOILT = -29999 };

/*
 * A problem spread over the ranks of a job: each rank has some of its replicas,
 * runs the same calls, and in the end holds all results. The functions are a
 * caller's, since nothing here knows of MPI.
 */
typedef struct runner_ranks {
    int rank, world_size;
    void *context;
    /* A transport for one more group; the context ends it when the queues have gone. */
    int (*transport)(void *context, sbn_transport *transport);
    /* Ors the bits of all ranks' data: what a rank does not have is 0 there. */
    int (*join)(void *context, float *data, size_t count);
} runner_ranks;

/* This rank's replicas of so many: *first and those behind it. `ranks` may be NULL: it has all. */
static inline size_t runner_ranks_replicas(const runner_ranks *ranks, size_t replicas,
                                           size_t *first)
{
    const size_t rank = ranks ? (size_t)ranks->rank : 0;
    const size_t world_size = ranks ? (size_t)ranks->world_size : 1;
    *first = replicas * rank / world_size;
    return replicas * (rank + 1) / world_size - *first;
}

/* What has a context of its own: a device, a platform's devices together, each entry of the list of devices. */
enum { RUNNER_DEVICES, RUNNER_PLATFORMS, RUNNER_ENTRIES };

typedef struct runner_config {
    const cl_device_id *devices;
    size_t num_devices;                    /* at most PROBLEM_MAX_REPLICAS */
    int contexts;                          /* RUNNER_ */
    cl_command_queue_properties profiling; /* CL_QUEUE_PROFILING_ENABLE, or 0 */
    const char *program_cache;             /* as of sbn_group_config */
    sbn_kernel_form form;                  /* instead of the problem's, unless SBN_FORM_AUTO */
    const char *build_options;             /* for the library, or NULL; stays the caller's */
    const runner_ranks *ranks;             /* NULL: this process alone */
} runner_config;

typedef struct queues queues;

/* Returns SBN_SUCCESS, or a negative status with a sentence in `error`, RUNNER_ERROR characters. */
int queues_open(const runner_config *config, queues **made, char *error);
void queues_close(queues *q); /* or NULL */

/* Replicas of a problem that leaves their number open: one per device, in each rank. */
size_t queues_replicas(const queues *q);

/* The ranks of the configuration, or NULL. */
const runner_ranks *queues_ranks(const queues *q);

/* The group for a problem over so many replicas, and its queues; both stay q's. */
int queues_group(queues *q, const problem *p, size_t replicas, sbn_group **group,
                 cl_command_queue **queue);

/* Ends all groups and their queues. */
void queues_forget_groups(queues *q);
