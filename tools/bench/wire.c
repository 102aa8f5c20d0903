/* Counting what a transport is asked to add. */
#include "bench/wire.h"

#include <stdio.h>
#include <string.h>

/* A transport whose other rank always sends the same words: all sums are twice ours. */
typedef struct echo {
    size_t messages, words;
} echo;

static int start(void *context, int stream, int64_t *words, size_t count, void **request)
{
    echo *e = context;
    (void)stream;
    for (size_t i = 0; i < count; ++i)
        words[i] *= 2;
    ++e->messages;
    e->words += count;
    *request = e;
    return 0;
}

static int test(void *context, void *request, int *done)
{
    (void)context;
    (void)request;
    *done = 1;
    return 0;
}

/* The passes of a small batch with this many channels. */
static int run(job *j, sbn_group *group, cl_command_queue queue, echo *e,
               echo counted[BENCH_PASSES])
{
    int status = job_open(j, group, &queue);
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD && !status; ++pass) {
        *e = (echo){0, 0};
        status = pass == BENCH_FORWARD ? job_forward(j, NULL) : job_backward(j, NULL);
        counted[pass] = *e;
    }
    job_close(j);
    return status;
}

static int count(sbn_group *group, cl_command_queue queue, echo *e, size_t channels,
                 echo counted[BENCH_PASSES], char *error)
{
    char line[32];
    problem p;
    placement g;
    inputs in;
    outputs out = {.count = 0};
    snprintf(line, sizeof line, "mb4ic%zu,passes=fb", channels);
    if (problem_parse(line, &p, error, RUNNER_ERROR))
        return SBN_INVALID_ARGUMENT;
    int status = placement_make(&p, 1, &g);
    if (status)
        return job_failed_here(error, "laying out a batch", status);
    status = inputs_make(&p, &g, &in);
    if (status) {
        placement_free(&g);
        return job_failed_here(error, "making inputs", status);
    }
    job j = {.p = &p, .g = &g, .in = &in, .out = &out, .error = error};
    status = run(&j, group, queue, e, counted);
    inputs_free(&in);
    placement_free(&g);
    return status;
}

int bench_wire_count(cl_command_queue queue, wire counted[BENCH_PASSES], char *error)
{
    echo e, one[BENCH_PASSES], two[BENCH_PASSES];
    const sbn_transport transport = {.size = sizeof transport,
                                     .context = &e,
                                     .rank = 0,
                                     .world_size = 2,
                                     .start = start,
                                     .test = test};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &queue;
    config.replicas = 1;
    config.transport = &transport;
    sbn_group *group;
    int status = sbn_group_create(&config, &group);
    if (status)
        return job_failed(error, "sbn_group_create", status);
    status = count(group, queue, &e, 1, one, error);
    status = status ? status : count(group, queue, &e, 2, two, error);
    sbn_group_destroy(group);
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD && !status; ++pass) {
        size_t each = two[pass].words - one[pass].words;
        counted[pass] = (wire){.messages = one[pass].messages,
                               .bytes = (one[pass].words - each) * sizeof(int64_t),
                               .bytes_per_channel = each * sizeof(int64_t)};
    }
    return status;
}
