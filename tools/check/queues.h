/*
 * What a runner keeps between problems: a context for each device, a queue
 * for each replica, and the groups made so far, for a group compiles kernels.
 */
#ifndef TOOLS_CHECK_QUEUES_H
#define TOOLS_CHECK_QUEUES_H

#include "check/problem.h"
#include "check/runner_config.h"

typedef struct queues queues;

int queues_open(const runner_config *config, queues **made);
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

#endif
