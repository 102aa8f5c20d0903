#include "check/check.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "check/collect.h"

/* The other layer of passes of two, with other numbers: of floats without a fusion if it is the second. */
typedef struct company {
    problem p;
    inputs in;
    outputs out;
    job j;
} company;

static int company_open(company *c, job *j, sbn_group *group, cl_command_queue *queue)
{
    if (!j->p->branch)
        return SBN_SUCCESS;
    c->p = j->p->branch == 1 ? problem_alone(j->p) : *j->p;
    c->p.given = 0;
    ++c->p.seed;
    c->j = (job){.p = &c->p,
                 .g = j->g,
                 .in = &c->in,
                 .out = &c->out,
                 .error = j->error,
                 .ranks = j->ranks};
    j->beside = &c->j;
    const int status = inputs_make(&c->p, j->g, &c->in);
    return status ? job_failed_here(j->error, "making inputs", status)
                  : job_open(&c->j, group, queue);
}

static void company_close(company *c)
{
    job_close(&c->j);
    inputs_free(&c->in);
}

static int run(job *j, sbn_group *group, cl_command_queue *queue)
{
    company with = {.j = {.tensors = NULL}};
    int status = job_open(j, group, queue);
    status = status ? status : company_open(&with, j, group, queue);
    status = status ? status : job_run(j);
    status = status ? status : job_collect(j);
    company_close(&with);
    status = status ? status : job_apart(j, group, queue);
    outputs_digest(j->out, (j->p->backward_flags & SBN_GLOBAL_GRADIENTS) != 0, j->p->channels);
    return status;
}

int check_passes(queues *q, const problem *p, const placement *g, const inputs *in, outputs *out,
                 char *error)
{
    job j = {.p = p, .g = g, .in = in, .out = out, .error = error, .ranks = queues_ranks(q)};
    cl_command_queue *queue;
    sbn_group *group;
    memset(out, 0, sizeof *out);
    *error = 0;
    int status = queues_group(q, p, g->replicas, &group, &queue);
    if (status)
        return job_failed(error, "making the group", status);
    status = run(&j, group, queue);
    job_close(&j);
    if (status && status != SBN_TOO_FEW_VALUES) {
        /* A group may have failed for good: the next problem gets another. */
        queues_forget_groups(q);
    }
    return status;
}

static void judge(const problem *p, const inputs *in, const digests *recorded, check_result *result)
{
    int one_value = result->placement.values == 1 && p->passes & PASS_FORWARD && !p->frozen;
    if (one_value) {
        result->refused = result->ok = result->status == SBN_TOO_FEW_VALUES;
        if (!result->status) {
            snprintf(result->error, sizeof result->error,
                     "one value per channel in training must be SBN_TOO_FEW_VALUES");
        }
        return;
    }
    if (result->status)
        return;
    const int status = compare(p, &result->placement, in, &result->outputs, &result->comparison);
    if (status) {
        result->status = job_failed_here(result->error, "comparing", status);
        return;
    }
    digests_take(&result->placement, in, &result->outputs, &result->digests);
    result->ok = result->comparison.ok;
    result->bits_known = recorded && recorded->order;
    if (result->bits_known &&
        digests_differ(recorded, &result->digests, result->error, sizeof result->error))
        result->ok = 0;
}

void check_run(queues *r, const problem *p, const digests *recorded, check_result *result)
{
    inputs in;
    double start = sbn__seconds();
    memset(result, 0, sizeof *result);
    int status = placement_make(p, queues_replicas(r), &result->placement);
    if (!status)
        status = inputs_make(p, &result->placement, &in);
    if (status) {
        result->status = job_failed_here(result->error, "making inputs", status);
        return;
    }
    result->status = check_passes(r, p, &result->placement, &in, &result->outputs, result->error);
    judge(p, &in, recorded, result);
    inputs_free(&in);
    result->seconds = sbn__seconds() - start;
}

void check_free(check_result *result)
{
    outputs_free(&result->outputs);
    placement_free(&result->placement);
}
