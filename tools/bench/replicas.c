/*
 * The same batch over several replicas, synchronised in one group and apart in
 * a group each: what synchronising costs, in the same buffers and queues.
 */
#include "bench/contender.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/judge.h"

enum { DEFAULT_REPLICAS = 2 };

/* One replica by itself: its part of the batch as a problem of its own. */
typedef struct alone {
    problem p;
    placement g;
    inputs in; /* parts of the scene's */
    job job;   /* its tensors and shards are of the replicas together */
    outputs out;
} alone;

typedef struct replicas {
    scene *scene;
    problem p;
    placement g;
    job together;
    outputs out;
    sbn_group *groups[PROBLEM_MAX_REPLICAS]; /* of one replica each, and */
    alone apart[PROBLEM_MAX_REPLICAS];       /* what is in them */
} replicas;

static int run_together(void *self, bench_pass pass)
{
    replicas *r = self;
    int status = pass == BENCH_FORWARD ? job_forward(&r->together, NULL)
                                       : job_backward(&r->together, NULL);
    return status ? status : job_finish(&r->together);
}

/* All begin before the first ends, so that they run side by side, as synchronised ones do. */
static int run_apart(void *self, bench_pass pass)
{
    replicas *r = self;
    sbn_pass *begun[PROBLEM_MAX_REPLICAS];
    size_t count = 0;
    int status = SBN_SUCCESS;
    for (; count < r->g.replicas && !status; count += !status) {
        job *j = &r->apart[count].job;
        j->shards->y = tensors_buffer(j->tensors, TENSOR_Y);
        status = pass == BENCH_FORWARD
                     ? sbn_forward_begin(j->layer, j->shards, j->saved, 0, &begun[count])
                     : sbn_backward_begin(j->layer, j->shards, j->saved, 0, &begun[count]);
        if (status)
            job_failed(r->scene->error, "beginning a pass apart", status);
    }
    for (size_t i = 0; i < count; ++i) {
        int ended = sbn_pass_end(begun[i], NULL);
        status = status || !ended ? status : job_failed(r->scene->error, "sbn_pass_end", ended);
    }
    return status ? status : job_finish(&r->together);
}

/* The bits must equal those of one replica with the whole batch, which have been verified. */
static int check_together(void *self)
{
    static const output_id same[] = {OUT_MEAN, OUT_VAR, OUT_Y, OUT_DX, OUT_RESIDUAL_GRAD};
    replicas *r = self;
    int status = bench_overwrite(r->scene, &r->together);
    status = status ? status : run_together(r, BENCH_FORWARD);
    status = status ? status : run_together(r, BENCH_BACKWARD);
    status = status ? status : job_collect(&r->together);
    for (size_t i = 0; i < sizeof same / sizeof *same && !status; ++i) {
        const output *got = &r->out.of[same[i]], *right = &r->scene->right.of[same[i]];
        if (digest_floats(got->data, got->count) != digest_floats(right->data, right->count)) {
            snprintf(r->scene->error, RUNNER_ERROR, "the bits of %s are not those of one replica",
                     output_names[same[i]]);
            status = RUNNER_SPOILT;
        }
    }
    return status;
}

static int check_apart(void *self)
{
    replicas *r = self;
    int status = bench_overwrite(r->scene, &r->together);
    for (size_t i = 0; i < r->g.replicas && !status; ++i)
        status = job_reset(&r->apart[i].job);
    status = status ? status : run_apart(r, BENCH_FORWARD);
    status = status ? status : run_apart(r, BENCH_BACKWARD);
    for (size_t i = 0; i < r->g.replicas && !status; ++i)
        status = bench_judge_library(&r->apart[i].job);
    return status;
}

static void close(void *self)
{
    replicas *r = self;
    for (size_t i = 0; i < r->g.replicas; ++i) {
        job_close(&r->apart[i].job);
        sbn_group_destroy(r->groups[i]);
        placement_free(&r->apart[i].g);
        outputs_free(&r->apart[i].out);
    }
    job_close(&r->together);
    outputs_free(&r->out);
    placement_free(&r->g);
    free(r);
}

static int open_together(replicas *r, queues *q)
{
    sbn_group *group;
    cl_command_queue *queue;
    scene *s = r->scene;
    int status = queues_group(q, &r->p, r->g.replicas, &group, &queue);
    if (status)
        return job_failed(s->error, "making the group of replicas", status);
    r->together = (job){.p = &r->p, .g = &r->g, .in = &s->in, .out = &r->out, .error = s->error};
    status = job_open(&r->together, group, queue);
    return status ? status : job_finish(&r->together);
}

/* A replica's samples are contiguous in the batch. */
static int open_alone(replicas *r, size_t i, size_t first)
{
    alone *a = &r->apart[i];
    scene *s = r->scene;
    a->p = r->p;
    problem_set_replicas(&a->p, 1);
    a->p.samples = r->g.shape[i][0];
    a->in = s->in;
    a->in.x += r->g.sample[first].start;
    a->in.dy += r->g.sample[first].start;
    if (a->p.residual)
        a->in.residual += r->g.sample[first].start;
    const int status = placement_make(&a->p, 1, &a->g);
    if (status)
        return job_failed_here(s->error, "laying out a replica", status);
    a->job = (job){.p = &a->p, .g = &a->g, .in = &a->in, .out = &a->out, .error = s->error};
    return job_open_on(&a->job, &r->together, i, 1, r->groups[i]);
}

static int open_apart(replicas *r)
{
    int colours[PROBLEM_MAX_REPLICAS];
    size_t first = 0;
    for (size_t i = 0; i < r->g.replicas; ++i)
        colours[i] = (int)i;
    int status = sbn_group_split(r->together.group, colours, r->groups);
    if (status)
        return job_failed(r->scene->error, "sbn_group_split", status);
    for (size_t i = 0; i < r->g.replicas && !status; ++i) {
        status = open_alone(r, i, first);
        first += r->g.shape[i][0];
    }
    return status;
}

static int has_own_statistics(const placement *g)
{
    for (size_t i = 0; i < g->replicas; ++i)
        if (g->shape[i][0] * g->plane[i] < 2)
            return 0;
    return g->replicas > 1;
}

int bench_replicas_open(scene *s, const problem *p, queues *q, contender_list *all)
{
    replicas *r = calloc(1, sizeof *r);
    if (!r)
        return job_failed_here(s->error, "replicas", SBN_OUT_OF_MEMORY);
    r->scene = s;
    r->p = *p;
    r->p.passes = PASS_FORWARD | PASS_BACKWARD;
    int status = placement_make(&r->p, DEFAULT_REPLICAS, &r->g);
    if (status || !has_own_statistics(&r->g)) {
        close(r);
        return status ? job_failed_here(s->error, "laying out replicas", status) : SBN_SUCCESS;
    }
    contender apart = {.name = "apart",
                       .passes = BENCH_TRAINING,
                       .self = r,
                       .run = run_apart,
                       .check = check_apart,
                       .close = close};
    contender together = apart;
    together.name = "synchronised";
    together.run = run_together;
    together.check = check_together;
    together.close = NULL; /* "apart" closes what both use */
    all->of[all->count++] = together;
    all->of[all->count++] = apart;
    status = open_together(r, q);
    return status ? status : open_apart(r);
}
