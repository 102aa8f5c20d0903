/* One problem's layer, buffers and passes. */
#include "check/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int job_failed(char *error, const char *call, int status)
{
    const char *sentence = sbn_last_error();
    snprintf(error, RUNNER_ERROR, "%s: %s%s%s", call, sbn_strerror(status), *sentence ? ": " : "",
             sentence);
    return status;
}

int job_failed_here(char *error, const char *call, int status)
{
    snprintf(error, RUNNER_ERROR, "%s: %s", call, sbn_strerror(status));
    return status;
}

int job_reset(job *j)
{
    if (!j->p->track)
        return SBN_SUCCESS;
    int status = sbn_batchnorm_set_running_stats(j->layer, j->in->running_mean, j->in->running_var,
                                                 &j->in->batches);
    return status ? job_failed(j->error, "sbn_batchnorm_set_running_stats", status) : SBN_SUCCESS;
}

int job_make_layer(job *j, sbn_group *group)
{
    const problem *p = j->p;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.name = "check";
    config.channels = p->channels;
    config.layout = p->layout;
    config.type = p->type;
    config.activation = p->activation;
    config.slope = p->slope;
    config.residual = p->residual;
    config.from_output = p->from_output;
    config.eps = p->eps;
    config.eps_mode = p->eps_mode;
    config.momentum = p->momentum;
    config.average = p->average;
    config.affine = p->affine;
    config.track_running_stats = p->track;
    int status = sbn_batchnorm_create(group, &config, &j->layer);
    if (status)
        return job_failed(j->error, "sbn_batchnorm_create", status);
    status = job_reset(j);
    if (status)
        return status;
    status = sbn_saved_create(j->layer, &j->saved);
    return status ? job_failed(j->error, "sbn_saved_create", status) : SBN_SUCCESS;
}

static int make_shards(job *j, cl_command_queue *queue)
{
    for (size_t r = 0; r < j->replicas; ++r) {
        tensors *t = &j->tensors[r];
        int status = tensors_make(j->p, j->g, j->in, j->first + r, queue[r], t);
        if (status)
            return job_failed_here(j->error, "filling buffers", status);
        sbn_shard *shard = &j->shards[r];
        *shard = (sbn_shard)SBN_SHARD_INIT;
        shard->dims = j->g->dims;
        memcpy(shard->shape, j->g->shape[j->first + r], sizeof shard->shape);
        shard->x = tensors_buffer(t, TENSOR_X);
        shard->x_pitch = tensors_pitch(t, TENSOR_X);
        shard->dy = tensors_buffer(t, tensors_gradient(j->p));
        shard->dx = tensors_buffer(t, TENSOR_DX);
        shard->dy_pitch = tensors_pitch(t, tensors_gradient(j->p));
        shard->dx_pitch = tensors_pitch(t, TENSOR_DX);
        if (j->p->residual) {
            shard->residual = tensors_buffer(t, TENSOR_RESIDUAL);
            shard->residual_grad = tensors_buffer(t, TENSOR_RESIDUAL_GRAD);
        }
        if (j->p->affine) {
            shard->weight = tensors_buffer(t, TENSOR_WEIGHT);
            shard->bias = tensors_buffer(t, TENSOR_BIAS);
            shard->weight_grad = tensors_buffer(t, TENSOR_WEIGHT_GRAD);
            shard->bias_grad = tensors_buffer(t, TENSOR_BIAS_GRAD);
        }
        if (j->p->out_of_order) {
            shard->num_wait = t->uploads;
            shard->wait_list = t->uploaded;
            shard->event = &j->done[r];
        }
    }
    return SBN_SUCCESS;
}

/*
 * Points every shard's y at the tensor that the next pass is to write; in place, x too: each pass
 * that may write over x has a copy of it.
 */
static void aim(job *j, tensor_id id)
{
    const tensor_id from = tensors_is_in_place(j->p, id) ? id : TENSOR_X;
    for (size_t r = 0; r < j->replicas; ++r) {
        j->shards[r].x = tensors_buffer(&j->tensors[r], from);
        j->shards[r].y = tensors_buffer(&j->tensors[r], id);
        j->shards[r].x_pitch = tensors_pitch(&j->tensors[r], from);
        j->shards[r].y_pitch = tensors_pitch(&j->tensors[r], id);
    }
}

/* After a pass: waits for it where the queues do not keep order. */
static int settle(job *j, const char *call, int status)
{
    for (size_t r = 0; r < j->replicas; ++r) {
        if (!j->done[r])
            continue;
        cl_int waited = status ? CL_SUCCESS : clWaitForEvents(1, &j->done[r]);
        clReleaseEvent(j->done[r]);
        j->done[r] = NULL;
        if (waited)
            return job_failed_here(j->error, "clWaitForEvents", waited);
    }
    return status ? job_failed(j->error, call, status) : SBN_SUCCESS;
}

int job_open(job *j, sbn_group *group, cl_command_queue *queue)
{
    j->replicas = runner_ranks_replicas(j->ranks, j->g->replicas, &j->first);
    j->tensors = calloc(j->replicas + 1, sizeof *j->tensors);
    j->shards = calloc(j->replicas + 1, sizeof *j->shards);
    j->done = calloc(j->replicas + 1, sizeof *j->done);
    if (!j->tensors || !j->shards || !j->done)
        return job_failed_here(j->error, "making the shards", SBN_OUT_OF_MEMORY);
    int status = job_make_layer(j, group);
    return status ? status : make_shards(j, queue);
}

void job_close(job *j)
{
    for (size_t r = 0; j->tensors && r < j->replicas; ++r)
        tensors_free(&j->tensors[r]);
    sbn_saved_destroy(j->saved);
    sbn_batchnorm_destroy(j->layer);
    free(j->tensors);
    free(j->shards);
    free(j->done);
}

int job_forward(job *j, sbn_result *result)
{
    aim(j, TENSOR_Y);
    return settle(j, "sbn_forward",
                  sbn_forward(j->layer, j->shards, j->saved, j->p->forward_flags, result));
}

int job_backward(job *j, sbn_result *result)
{
    /* From the output it reads what forward has written, whichever pass was the last. */
    if (j->p->from_output)
        aim(j, TENSOR_Y);
    return settle(j, "sbn_backward",
                  sbn_backward(j->layer, j->shards, j->saved, j->p->backward_flags, result));
}

int job_evaluate(job *j)
{
    aim(j, TENSOR_EVAL);
    return settle(j, "sbn_evaluate", sbn_evaluate(j->layer, j->shards));
}

int job_recompute(job *j)
{
    aim(j, TENSOR_AGAIN);
    return settle(j, "sbn_recompute", sbn_recompute(j->layer, j->shards, j->saved));
}
