/*
 * The same batch over several replicas, synchronised in one group and apart in
 * a group each: what synchronising costs, in the same buffers and queues.
 */
#ifndef TOOLS_BENCH_REPLICAS_H
#define TOOLS_BENCH_REPLICAS_H

#include "program/opencl.h"
#include "bench/contender.h"
#include "check/queues.h"

/* Groups of one replica each, kept while their queues are the same. */
typedef struct apart_groups {
    size_t count;
    cl_command_queue queue[PROBLEM_MAX_REPLICAS];
    sbn_group *group[PROBLEM_MAX_REPLICAS];
    sbn_kernel_form form;
} apart_groups;

void apart_groups_free(apart_groups *kept);

/*
 * "synchronised" and "apart", over the problem's replicas or two. None if a replica would have
 * fewer than two values per channel, too few for statistics of its own.
 */
int bench_replicas_open(scene *s, const problem *p, queues *q, const char *build_options,
                        apart_groups *kept, contender *made, size_t *count);

#endif
