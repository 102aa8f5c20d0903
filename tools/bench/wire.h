/* What a pass sends to the other ranks of its group, as a transport sees it. */
#ifndef TOOLS_BENCH_WIRE_H
#define TOOLS_BENCH_WIRE_H

#include "program/opencl.h"
#include "bench/contender.h"

typedef struct wire {
    size_t messages;                 /* reductions a pass */
    size_t bytes, bytes_per_channel; /* bytes whatever the channels are, and for each of them */
} wire;

/* Counts those of forward and backward (by bench_pass) on a queue. Statuses as of runner_create. */
int bench_wire_count(cl_command_queue queue, wire counted[BENCH_PASSES], char *error);

#endif
