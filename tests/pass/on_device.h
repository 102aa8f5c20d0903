/* Passes that devices combine: a problem, and a group with one layer that is trained on it, on one of two queues. */
#pragma once

#include "support/main.h"

enum { MOST_REPLICAS = 2, MOST_CHANNELS = 20 };

typedef struct problem {
    const char *what;
    size_t channels, plane, samples[MOST_REPLICAS];
    float scale; /* of x and dy in every third channel; 0: 1 */
} problem;

/* A group with one layer and its replicas' buffers. */
typedef struct training {
    const problem *p;
    int apart; /* each replica has a queue of its own, in order */
    cl_command_queue queues[MOST_REPLICAS];
    size_t replicas;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice slices[MOST_REPLICAS];
    sbn_shard shards[MOST_REPLICAS];
    cl_event given; /* has completed: for training_wait */
} training;

/* Of the kernels. */
extern sbn_kernel_form training_form;

/* on: the queue of all replicas; NULL: each has one of its own, in order. on_host: the host combines. */
void training_open(training *t, const problem *p, cl_command_queue on, int on_host);
void training_close(training *t);

/* Outputs of which none is written, and running statistics of no batch. */
void training_reset(const training *t);

/* What passes wait for, `count` of them: 0 or 1. */
void training_wait(training *t, const cl_event *event, cl_uint count);

/* A forward and a backward pass; `more` are flags of the latter. */
void train(training *t, unsigned more);

/* What the passes have written, and what the layer and `saved` say. */
uint64_t training_digest(uint64_t digest, const training *t);

/* A number of checks each; the last one of a training whose replicas have queues of their own. */
typedef void training_check(training *t);
training_check check_calls, check_commands, check_copies, check_late_errors, check_failed_updates,
    check_failed_forward, check_failed_evaluation, check_failed_on_host, check_loading,
    check_refused_commands, check_late_between_queues;
