/* One problem measured. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels.h"
#include "bench/onednn.h"
#include "check/check.h"
#include "check/elements.h"

const char *const bench_pass_names[BENCH_PASSES] = {"copy", "forward", "backward", "evaluate"};

/*
 * oneDNN is timed from this many values per channel on. The variance of fewer may by
 * chance be so small that E[x^2] - mean^2 has no correct digit.
 */
enum { PEER_VALUES = 32 };

struct bench {
    bench_config config;
    queues *queues;
    /* The benchmark's kernels as last built: the next problem mostly needs the same. */
    cl_program program;
    sbn_kernel_form form;
    wire wire[BENCH_PASSES];
};

static int count_wire(bench *b, char *error)
{
    cl_command_queue *queue;
    sbn_group *group;
    problem any = {.form = SBN_FORM_AUTO};
    int status = queues_group(b->queues, &any, 1, &group, &queue);
    return status ? job_failed(error, "making the group", status)
                  : bench_wire_count(*queue, b->wire, error);
}

int bench_open(const bench_config *config, bench **made, char *error)
{
    cl_device_id ids[PROBLEM_MAX_REPLICAS];
    bench *b = calloc(1, sizeof *b);
    *made = NULL;
    if (!b)
        return job_failed_here(error, "opening the devices", SBN_OUT_OF_MEMORY);
    b->config = *config;
    for (size_t i = 0; i < config->num_devices; ++i)
        ids[i] = config->devices[i]->id;
    int status = queues_open(&(runner_config){.devices = ids,
                                              .num_devices = config->num_devices,
                                              .one_context = 1,
                                              .build_options = config->build_options},
                             &b->queues);
    if (status) {
        free(b);
        return job_failed_here(error, "opening the devices", status);
    }
    status = count_wire(b, error);
    if (status) {
        bench_close(b);
        return status;
    }
    *made = b;
    return SBN_SUCCESS;
}

const wire *bench_wire(const bench *b, bench_pass pass)
{
    return &b->wire[pass];
}

static void forget_program(bench *b)
{
    if (b->program) {
        clReleaseProgram(b->program);
        b->program = NULL;
    }
}

void bench_close(bench *b)
{
    if (b) {
        forget_program(b);
        queues_close(b->queues);
        free(b);
    }
}

const char *bench_refuses(const problem *p)
{
    const int is_other = p->frozen || p->no_dx || p->no_residual_grad || p->memory || p->by_host ||
                         p->begin || p->stored || p->given || p->branch;
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
           : p->samples * p->channels < 1 ? "an empty batch: there is nothing to measure"
                                          : NULL;
}

static int program_for(bench *b, scene *s)
{
    if (b->program && b->form == s->form)
        return SBN_SUCCESS;
    forget_program(b);
    b->form = s->form;
    int status = bench_program_make(s, &b->program);
    if (status)
        forget_program(b);
    return status;
}

/* The group of one replica on the first device, and the library's layer and buffers on it. */
static int open_scene(bench *b, const problem *p, scene *s)
{
    cl_command_queue *queue;
    s->p = *p;
    problem_set_replicas(&s->p, 1);
    s->p.passes = PASS_FORWARD | PASS_BACKWARD | PASS_EVALUATE;
    s->device = b->config.devices[0]->id;
    s->form = p->form == SBN_FORM_AUTO ? b->config.devices[0]->form : p->form;
    int status = placement_make(&s->p, 1, &s->g);
    status = status ? status : inputs_make(&s->p, &s->g, &s->in);
    if (status)
        return job_failed_here(s->error, "making inputs", status);
    status = queues_group(b->queues, &s->p, 1, &s->group, &queue);
    if (status)
        return job_failed(s->error, "making the group", status);
    s->queue = *queue;
    status = clGetCommandQueueInfo(s->queue, CL_QUEUE_CONTEXT, sizeof s->context, &s->context,
                                   NULL);
    if (status)
        return job_failed_here(s->error, "clGetCommandQueueInfo", status);
    s->job = (job){.p = &s->p, .g = &s->g, .in = &s->in, .out = &s->right, .error = s->error};
    status = job_open(&s->job, s->group, queue);
    return status ? status : bench_finish(s);
}

/* The device memory of a new group after its first passes. */
static int weigh(scene *s, size_t before, size_t *workspace)
{
    int status = job_forward(&s->job, NULL);
    status = status ? status : job_backward(&s->job, NULL);
    status = status ? status : job_evaluate(&s->job);
    status = status ? status : bench_finish(s);
    *workspace = sbn_device_memory() - before;
    return status;
}

static void close_scene(scene *s)
{
    job_close(&s->job);
    outputs_free(&s->right);
    inputs_free(&s->in);
    placement_free(&s->g);
}

static int open_contenders(bench *b, const problem *p, scene *s, contender *list, size_t *count)
{
    size_t copies = 0, variants = 0, replicas = 0, layouts = 0;
    *count = 0;
    int status = program_for(b, s);
    status = status ? status : bench_library_open(s, &list[*count]);
    *count += !status;
    status = status ? status : bench_copy_open(s, b->program, &list[*count], &copies);
    *count += copies;
    status = status ? status : bench_variants_open(s, b->program, &list[*count], &variants);
    *count += variants;
    /* What only this library has. */
    const int own = s->p.gap || s->p.from_output;
    /* The benchmark's own kernels of sums read dense floats, and nothing follows them. */
    const int plain = s->p.type == SBN_F32 && !problem_is_fused(&s->p) && !own;
    if (!status && plain) {
        status = bench_unordered_open(s, b->program, &list[*count]);
        *count += !status;
    }
    status = status ? status
                    : bench_replicas_open(s, p, b->queues, b->config.build_options, &list[*count],
                                          &replicas);
    *count += replicas;
    /* oneDNN runs on the CPU: beside another device its times mean nothing. */
    if (!status && !own && strcmp(b->config.devices[0]->type, "cpu") == 0 &&
        s->g.values >= PEER_VALUES) {
        status = bench_onednn_open(s, &list[*count], &layouts);
        *count += layouts;
    }
    return status;
}

/* A series for each pass of each contender. */
static int make_series(bench_result *result, size_t contenders)
{
    result->series = calloc(BENCH_MAX_SERIES, sizeof *result->series);
    for (size_t i = 0; i < contenders && result->series; ++i) {
        for (bench_pass pass = BENCH_COPY; pass < BENCH_PASSES; ++pass) {
            if (result->contenders[i].passes & 1u << pass && result->count < BENCH_MAX_SERIES) {
                result->series[result->count++] = (series){.of = &result->contenders[i],
                                                           .pass = pass};
            }
        }
    }
    return result->series ? SBN_SUCCESS : SBN_OUT_OF_MEMORY;
}

static int measure(bench *b, scene *s, size_t contenders, bench_result *result)
{
    int status = make_series(result, contenders);
    if (status)
        return job_failed_here(s->error, "making room for measurements", status);
    status = timing_run(result->series, result->count, &b->config.budget, &result->rounds);
    for (size_t i = 0; i < contenders && !status; ++i)
        status = result->contenders[i].check(result->contenders[i].self);
    result->copy = bench_copy_fastest(result);
    return status;
}

void bench_run(bench *b, const problem *p, bench_result *result)
{
    double start = check_clock();
    size_t contenders = 0;
    scene *s = calloc(1, sizeof *s);
    *result = (bench_result){.ok = 0};
    if (!s) {
        job_failed_here(result->error, "measuring", SBN_OUT_OF_MEMORY);
        return;
    }
    /* A group keeps its working memory, and this problem's is to be measured alone. */
    queues_forget_groups(b->queues);
    size_t before = sbn_device_memory();
    int status = open_scene(b, p, s);
    status = status ? status : weigh(s, before, &result->workspace);
    result->bytes = s->g.elements * element_size(p->type);
    result->residual = p->residual;
    status = status ? status : open_contenders(b, p, s, result->contenders, &contenders);
    status = status ? status : measure(b, s, contenders, result);
    result->ok = !status;
    memcpy(result->error, s->error, sizeof result->error);
    while (contenders) {
        contender *c = &result->contenders[--contenders];
        c->close(c->self);
    }
    close_scene(s);
    free(s);
    result->seconds = check_clock() - start;
}

void bench_result_free(bench_result *result)
{
    free(result->series);
    result->series = NULL;
}
