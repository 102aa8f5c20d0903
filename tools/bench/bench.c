#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bench/kernels.h"
#include "check/elements.h"

const char *const bench_pass_names[BENCH_PASSES] = {"copy", "forward", "backward", "evaluate"};

/*
 * oneDNN is timed from this many values per channel on. The variance of fewer may by
 * chance be so small that E[x^2] - mean^2 has no correct digit.
 */
enum { PEER_VALUES = 32 };

int bench_open(bench *b, char *error)
{
    cl_device_id ids[PROBLEM_MAX_REPLICAS];
    for (size_t i = 0; i < b->num_devices; ++i)
        ids[i] = b->devices[i]->id;
    return queues_open(&(runner_config){.devices = ids,
                                        .num_devices = b->num_devices,
                                        .contexts = RUNNER_PLATFORMS,
                                        .build_options = b->build_options},
                       &b->queues, error);
}

const char *bench_refuses(const problem *p)
{
    const int is_other = p->frozen || p->no_dx || p->no_residual_grad || p->memory || p->by_host ||
                         p->begin || p->stored || p->given || p->branch;
    size_t values = p->samples;
    for (int i = 0; i < p->space_dims; ++i)
        values *= p->space[i];
    return p->offset               ? "off: tensors start where their memory does here"
           : p->shuffle            ? "shuffle: samples are dealt in order here"
           : p->has_sizes          ? "sizes: all samples are of one size here"
           : p->out_of_order       ? "ooo: queues are in order here"
           : p->in_place           ? "inplace: outputs are apart here"
           : p->passes != PASS_ALL ? "passes: all are measured"
           : is_other ? "frozen, nodx, nograd, host, copied, byhost, begin, stored, given, branch: "
                        "passes are the usual ones here"
           : p->forward_flags  ? "keep: running statistics are updated here"
           : p->backward_flags ? "accumulate, global: gradients are local and overwritten here"
           : values < 1        ? "an empty batch: there is nothing to measure"
           : values < 2        ? "one value per channel: a batch of it has no statistics"
                               : NULL;
}

/* The device memory of a new group after its first passes. */
static int weigh(scene *s, size_t before, size_t *workspace)
{
    int status = job_forward(&s->job, NULL);
    status = status ? status : job_backward(&s->job, NULL);
    status = status ? status : job_evaluate(&s->job);
    status = status ? status : job_finish(&s->job);
    *workspace = sbn_device_memory() - before;
    return status;
}

static int open_contenders(const bench *b, const problem *p, scene *s, contender_list *all)
{
    /* What only this library has. */
    const int own = s->p.gap || s->p.from_output;
    /* The other contenders add eps, and their sums lose digits that unusual numbers need. */
    const int common = !own && s->p.data == DATA_NORMAL && s->p.grad == DATA_NORMAL &&
                       s->p.eps_mode == SBN_EPS_ADD;
    /* The benchmark's own kernels of sums read dense floats, and nothing follows them. */
    const int plain = s->p.type == SBN_F32 && !problem_is_fused(&s->p) && common;
    /* oneDNN runs on the CPU: beside another device its times mean nothing. */
    const int is_cpu = strcmp(b->devices[0]->type, "cpu") == 0;
    int status = bench_program_make(s);
    status = status ? status : bench_library_open(s, all);
    status = status ? status : bench_copy_open(s, all);
    if (!status && plain)
        status = bench_unordered_open(s, all);
    if (!status)
        status = bench_replicas_open(s, p, b->queues, all);
    if (!status && common && is_cpu && s->g.values >= PEER_VALUES)
        status = bench_onednn_open(s, all);
    return status;
}

/* A series for each pass of each contender. */
static void make_series(bench_result *result)
{
    for (size_t i = 0; i < result->contenders.count; ++i) {
        const contender *c = &result->contenders.of[i];
        for (bench_pass pass = BENCH_COPY; pass < BENCH_PASSES; ++pass)
            if (c->passes & 1u << pass && result->count < TIMING_SERIES)
                result->series[result->count++] = (series){.of = c, .pass = pass};
    }
}

/* A sentence about a contender's results begins with its name. */
static int measure(const bench *b, const scene *s, bench_result *result)
{
    make_series(result);
    int status = timing_run(result->series, result->count, &b->budget, &result->rounds);
    for (size_t i = 0; i < result->contenders.count && !status; ++i) {
        const contender *c = &result->contenders.of[i];
        status = c->check(c->self);
        if (status)
            snprintf(result->error, sizeof result->error, "%s: %.900s", c->name, s->error);
    }
    result->copy = bench_fastest(result, BENCH_COPY, "");
    return status;
}

void bench_run(const bench *b, const problem *p, bench_result *result)
{
    const double start = sbn__seconds();
    scene s = {.replica = NULL};
    memset(result, 0, sizeof *result);
    /* A group keeps its working memory, and this problem's is to be measured alone. */
    queues_forget_groups(b->queues);
    const size_t before = sbn_device_memory();
    int status = scene_open(&s, b->queues, p);
    status = status ? status : weigh(&s, before, &result->workspace);
    result->bytes = s.g.elements * sbn__type_size(p->type);
    result->residual = p->residual;
    status = status ? status : open_contenders(b, p, &s, &result->contenders);
    status = status ? status : measure(b, &s, result);
    result->ok = !status;
    if (!*result->error)
        memcpy(result->error, s.error, sizeof result->error);
    for (size_t i = result->contenders.count; i-- > 0;)
        if (result->contenders.of[i].close)
            result->contenders.of[i].close(result->contenders.of[i].self);
    scene_close(&s);
    result->seconds = sbn__seconds() - start;
}
