#include "check/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/fusion.h"

/* An output that this process has some of, from all ranks. */
static int join(job *j, output_id id)
{
    output *o = &j->out->of[id];
    int status = j->ranks ? j->ranks->join(j->ranks->context, o->data, o->count) : SBN_SUCCESS;
    return status ? job_failed_here(j->error, "joining the ranks' results", status) : SBN_SUCCESS;
}

int job_collect_tensor(job *j, tensor_id from, output_id to)
{
    int vector = from == TENSOR_WEIGHT_GRAD || from == TENSOR_BIAS_GRAD;
    size_t channels = j->p->channels;
    int status = output_make(j->out, to, vector ? j->g->replicas * channels : j->g->elements);
    for (size_t r = 0; r < j->replicas && !status; ++r) {
        int spoilt = 0;
        float *shard = malloc((j->tensors[r].count[from] + 1) * sizeof *shard);
        status = shard ? tensors_read(&j->tensors[r], from, shard, &spoilt) : SBN_OUT_OF_MEMORY;
        if (!status && vector) {
            memcpy(j->out->of[to].data + (j->first + r) * channels, shard,
                   channels * sizeof *shard);
        } else if (!status) {
            placement_move(j->g, j->p->layout, j->first + r, 1, j->out->of[to].data, shard);
        }
        free(shard);
        if (spoilt) {
            snprintf(j->error, RUNNER_ERROR, "%s of replica %zu: written outside its contents",
                     output_names[to], j->first + r);
            return RUNNER_SPOILT;
        }
    }
    return status ? job_failed_here(j->error, "reading results", status) : join(j, to);
}

static int collect_tensors(job *j)
{
    const struct {
        unsigned wanted;
        tensor_id from;
        output_id to;
    } list[] = {
        {j->p->passes & PASS_FORWARD, TENSOR_Y, OUT_Y},
        {j->p->passes & PASS_RECOMPUTE, TENSOR_AGAIN, OUT_AGAIN},
        {j->p->passes & PASS_EVALUATE, TENSOR_EVAL, OUT_EVAL},
        {j->p->passes & PASS_BACKWARD && !j->p->no_dx, TENSOR_DX, OUT_DX},
        {j->p->passes & PASS_BACKWARD && j->p->residual && !j->p->no_residual_grad,
         TENSOR_RESIDUAL_GRAD, OUT_RESIDUAL_GRAD},
        {j->p->passes & PASS_BACKWARD && j->p->affine, TENSOR_WEIGHT_GRAD, OUT_WEIGHT_GRAD},
        {j->p->passes & PASS_BACKWARD && j->p->affine, TENSOR_BIAS_GRAD, OUT_BIAS_GRAD},
    };
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < sizeof list / sizeof *list && !status; ++i)
        if (list[i].wanted)
            status = job_collect_tensor(j, list[i].from, list[i].to);
    return status;
}

/*
 * Running statistics in buffers: the same on all replicas that have them. The layer's own are as they
 * were at first, or, once a pass has read others, a copy of those. They become the output.
 */
static int collect_given(job *j, output_id id)
{
    const int is_copy = j->p->frozen || j->p->passes & PASS_EVALUATE;
    const float at_first = id == OUT_RUNNING_VAR;
    const size_t channels = j->p->channels;
    float *own = j->out->of[id].data, *given = malloc(channels * sizeof *given);
    int status = given ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, spoilt = 0;
    for (size_t r = j->p->given - 1; r < j->replicas && !status; ++r) {
        status = tensors_read(&j->tensors[r],
                              id == OUT_RUNNING_MEAN ? TENSOR_RUNNING_MEAN : TENSOR_RUNNING_VAR,
                              given, &spoilt);
        for (size_t c = 0; c < channels && !status; ++c)
            spoilt |= digest_floats(&own[c], 1) != (is_copy || r >= j->p->given
                                                        ? digest_floats(&given[c], 1)
                                                        : digest_floats(&at_first, 1));
        memcpy(own, given, channels * sizeof *own);
    }
    free(given);
    if (status)
        return job_failed_here(j->error, "reading running statistics", status);
    if (spoilt)
        snprintf(j->error, RUNNER_ERROR, "%s: not as it must be on each replica and in the layer",
                 output_names[id]);
    return spoilt ? RUNNER_SPOILT : SBN_SUCCESS;
}

/* What the library holds on the host. */
static int collect_statistics(job *j)
{
    static const output_id all[] = {OUT_MEAN, OUT_VAR, OUT_RUNNING_MEAN, OUT_RUNNING_VAR};
    outputs *out = j->out;
    uint64_t own = 0;
    const int saved = (j->p->passes & PASS_FORWARD) != 0, running = j->p->track;
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < sizeof all / sizeof *all && !status; ++i)
        status = (i < 2 ? saved : running) ? output_make(out, all[i], j->p->channels) : SBN_SUCCESS;
    if (!status && saved)
        status = sbn_saved_stats(j->saved, out->of[OUT_MEAN].data, out->of[OUT_VAR].data,
                                 &out->count);
    if (!status && running)
        status = sbn_batchnorm_running_stats(j->layer, out->of[OUT_RUNNING_MEAN].data,
                                             out->of[OUT_RUNNING_VAR].data, &out->batches);
    if (status)
        return job_failed(j->error, "reading statistics", status);
    /* A frozen layer counts this process's. */
    for (size_t r = j->first; r < j->first + j->replicas; ++r)
        own += (uint64_t)j->g->shape[r][0] * j->g->plane[r];
    if (j->p->frozen && out->count == own)
        out->count = j->g->values;
    for (int id = OUT_RUNNING_MEAN; id <= OUT_RUNNING_VAR && job_is_given(j) && !status; ++id)
        status = collect_given(j, (output_id)id);
    /* Every rank has all of them: only where they are the same do they stay as they are. */
    for (size_t i = 0; i < sizeof all / sizeof *all && !status; ++i)
        status = out->of[all[i]].data ? join(j, all[i]) : SBN_SUCCESS;
    return status;
}

/* The group's sums must be the same bits on every replica. */
static int judge_shared(job *j)
{
    static const output_id shared[] = {OUT_WEIGHT_GRAD, OUT_BIAS_GRAD};
    size_t channels = j->p->channels;
    for (size_t i = 0; i < 2; ++i) {
        const float *data = j->out->of[shared[i]].data;
        for (size_t r = 1; data && r < j->g->replicas; ++r) {
            if (digest_floats(data, channels) != digest_floats(data + r * channels, channels)) {
                snprintf(j->error, RUNNER_ERROR, "%s differs between replicas 0 and %zu",
                         output_names[shared[i]], r);
                return RUNNER_SPOILT;
            }
        }
    }
    return SBN_SUCCESS;
}

int job_collect(job *j)
{
    int status = collect_tensors(j);
    status = status ? status : collect_statistics(j);
    int global = (j->p->backward_flags & SBN_GLOBAL_GRADIENTS) != 0;
    return status || !global ? status : judge_shared(j);
}

/* Runs the batch norm of a job alone, for this dy. */
static int run_alone(const job *fused, sbn_group *group, cl_command_queue *queue, float *dy,
                     unsigned passes, outputs *out)
{
    problem p = problem_alone(fused->p);
    inputs in = *fused->in;
    job j = {.p = &p,
             .g = fused->g,
             .in = &in,
             .out = out,
             .error = fused->error,
             .ranks = fused->ranks};
    p.passes = passes;
    in.dy = dy;
    int status = job_open(&j, group, queue);
    status = status ? status : job_run(&j);
    status = status ? status : job_collect(&j);
    job_close(&j);
    return status;
}

/* Only bits tell on which side of 0 a number is. */
static int find_preactivation(const job *fused, sbn_group *group, cl_command_queue *queue)
{
    outputs out = {.wide = 0};
    const int status = run_alone(fused, group, queue, fused->in->dy, PASS_FORWARD, &out);
    if (!status) {
        float *z = fused->out->preactivation = out.of[OUT_Y].data;
        out.of[OUT_Y].data = NULL;
        for (size_t i = 0; fused->p->residual && i < fused->g->elements; ++i)
            z[i] += fused->in->residual[i];
    }
    outputs_free(&out);
    return status;
}

int job_apart(const job *fused, sbn_group *group, cl_command_queue *queue)
{
    const problem *p = fused->p;
    /* The gradients from the output are not those from the input. */
    const unsigned passes = p->from_output ? p->passes & ~(unsigned)PASS_BACKWARD : p->passes;
    outputs *out = fused->out;
    float *dy;
    int status = SBN_SUCCESS;
    if (!problem_is_fused(p) && p->type == SBN_F32)
        return SBN_SUCCESS;
    if (problem_is_fused(p) && p->passes & PASS_FORWARD)
        status = find_preactivation(fused, group, queue);
    if (status)
        return status;
    out->apart = calloc(1, sizeof *out->apart);
    status = out->apart ? fusion_behind(p, fused->g, fused->in->dy, out->preactivation, &dy)
                        : SBN_OUT_OF_MEMORY;
    if (status)
        return job_failed_here(fused->error, "the layer apart", status);
    status = run_alone(fused, group, queue, dy, passes, out->apart);
    free(dy);
    return status;
}
