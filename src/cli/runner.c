/* Running a problem: group, layer, shares, passes. */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "queues.h"

struct runner {
    queues *queues;
};

int runner_create(const runner_config *config, runner **made, char *error)
{
    runner *r = calloc(1, sizeof *r);
    *made = NULL;
    int status = r ? queues_open(config, &r->queues) : SBN_OUT_OF_MEMORY;
    if (status) {
        free(r);
        return job_failed_here(error, "opening the devices", status);
    }
    *made = r;
    return SBN_SUCCESS;
}

void runner_destroy(runner *r)
{
    if (r) {
        queues_close(r->queues);
        free(r);
    }
}

size_t runner_replicas(const runner *r)
{
    return queues_devices(r->queues);
}

static int make_layer(job *j, sbn_group *group)
{
    const problem *p = j->p;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.name = "check";
    config.channels = p->channels;
    config.layout = p->layout;
    config.eps = p->eps;
    config.eps_mode = p->eps_mode;
    config.momentum = p->momentum;
    config.average = p->average;
    config.affine = p->affine;
    config.track_running_stats = p->track;
    int status = sbn_batchnorm_create(group, &config, &j->layer);
    if (status) {
        return job_failed(j->error, "sbn_batchnorm_create", status);
    }
    if (p->track) {
        status = sbn_batchnorm_set_running_stats(j->layer, j->in->running_mean, j->in->running_var,
                                                 &j->in->batches);
        if (status) {
            return job_failed(j->error, "sbn_batchnorm_set_running_stats", status);
        }
    }
    status = sbn_saved_create(j->layer, &j->saved);
    return status ? job_failed(j->error, "sbn_saved_create", status) : SBN_SUCCESS;
}

static int make_shares(job *j, cl_command_queue *queue)
{
    for (size_t r = 0; r < j->replicas; r++) {
        tensors *t = &j->tensors[r];
        int status = tensors_make(j->p, j->g, j->in, r, queue[r], t);
        if (status) {
            return job_failed_here(j->error, "filling buffers", status);
        }
        sbn_share *share = &j->shares[r];
        share->dims = j->g->dims;
        memcpy(share->shape, j->g->shape[r], sizeof share->shape);
        share->x = tensors_buffer(t, TENSOR_X);
        share->dy = tensors_buffer(t, TENSOR_DY);
        share->dx = tensors_buffer(t, TENSOR_DX);
        if (j->p->affine) {
            share->weight = tensors_buffer(t, TENSOR_WEIGHT);
            share->bias = tensors_buffer(t, TENSOR_BIAS);
            share->weight_grad = tensors_buffer(t, TENSOR_WEIGHT_GRAD);
            share->bias_grad = tensors_buffer(t, TENSOR_BIAS_GRAD);
        }
        if (j->p->out_of_order) {
            share->num_wait = t->uploads;
            share->wait_list = t->uploaded;
            share->event = &j->done[r];
        }
    }
    return SBN_SUCCESS;
}

/* Points every share's y at the tensor that the next pass is to write. */
static void aim(job *j, tensor_id id)
{
    for (size_t r = 0; r < j->replicas; r++) {
        j->shares[r].y = tensors_buffer(&j->tensors[r], id);
    }
}

/* After a pass: waits for it where the queues do not keep order. */
static int settle(job *j, const char *call, int status)
{
    for (size_t r = 0; r < j->replicas; r++) {
        if (!j->done[r]) {
            continue;
        }
        cl_int waited = status ? CL_SUCCESS : clWaitForEvents(1, &j->done[r]);
        clReleaseEvent(j->done[r]);
        j->done[r] = NULL;
        if (waited) {
            return job_failed_here(j->error, "clWaitForEvents", waited);
        }
    }
    return status ? job_failed(j->error, call, status) : SBN_SUCCESS;
}

static int run_passes(job *j)
{
    unsigned passes = j->p->passes;
    int status = SBN_SUCCESS;
    sbn_result forward = SBN_RESULT_INIT, backward = SBN_RESULT_INIT;
    if (passes & PASS_FORWARD) {
        aim(j, TENSOR_Y);
        status = settle(j, "sbn_forward",
                        sbn_forward(j->layer, j->shares, j->saved, j->p->forward_flags, &forward));
    }
    if (!status && passes & PASS_BACKWARD) {
        status = settle(j, "sbn_backward",
                        sbn_backward(j->layer, j->shares, j->saved, j->p->backward_flags,
                                     &backward));
    }
    if (!status && passes & PASS_EVALUATE) {
        aim(j, TENSOR_EVAL);
        status = settle(j, "sbn_evaluate", sbn_evaluate(j->layer, j->shares));
    }
    if (!status && passes & PASS_RECOMPUTE) {
        aim(j, TENSOR_AGAIN);
        status = settle(j, "sbn_recompute", sbn_recompute(j->layer, j->shares, j->saved));
    }
    j->out->wide = forward.wide || backward.wide;
    return status;
}

static int run(job *j, sbn_group *group, cl_command_queue *queue)
{
    int status = make_layer(j, group);
    status = status ? status : make_shares(j, queue);
    status = status ? status : run_passes(j);
    status = status ? status : job_collect(j);
    outputs_digest(j->out, (j->p->backward_flags & SBN_GLOBAL_GRADIENTS) != 0, j->p->channels);
    return status;
}

int runner_run(runner *r, const problem *p, const geometry *g, const inputs *in, outputs *out,
               char *error)
{
    job j = {.p = p, .g = g, .in = in, .out = out, .error = error, .replicas = g->replicas};
    cl_command_queue *queue;
    sbn_group *group;
    memset(out, 0, sizeof *out);
    *error = 0;
    int status = queues_group(r->queues, p, j.replicas, &group, &queue);
    if (status) {
        return job_failed(error, "making the group", status);
    }
    j.tensors = calloc(j.replicas, sizeof *j.tensors);
    j.shares = calloc(j.replicas, sizeof *j.shares);
    j.done = calloc(j.replicas, sizeof *j.done);
    status = j.tensors && j.shares && j.done
                 ? run(&j, group, queue)
                 : job_failed_here(error, "making the shares", SBN_OUT_OF_MEMORY);
    for (size_t i = 0; j.tensors && i < j.replicas; i++) {
        tensors_free(&j.tensors[i]);
    }
    sbn_saved_destroy(j.saved);
    sbn_batchnorm_destroy(j.layer);
    free(j.tensors);
    free(j.shares);
    free(j.done);
    if (status && status != SBN_TOO_FEW_VALUES) {
        /* A group may have failed for good: the next problem gets another. */
        queues_forget_groups(r->queues);
    }
    return status;
}
