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

int job_is_given(const job *j)
{
    return j->p->given && j->p->given <= j->g->replicas;
}

int job_reset(job *j)
{
    const int own = !job_is_given(j);
    if (!j->p->track)
        return SBN_SUCCESS;
    int status = sbn_batchnorm_set_running_stats(j->layer, own ? j->in->running_mean : NULL,
                                                 own ? j->in->running_var : NULL, &j->in->batches);
    return status ? job_failed(j->error, "sbn_batchnorm_set_running_stats", status) : SBN_SUCCESS;
}

static int make_layer(job *j, sbn_group *group)
{
    const problem *p = j->p;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    j->group = group;
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
    status = sbn_batchnorm_set_frozen(j->layer, p->frozen);
    if (status)
        return job_failed(j->error, "sbn_batchnorm_set_frozen", status);
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
        shard->memory = j->p->memory ? SBN_MEMORY_HOST : SBN_MEMORY_DEVICE;
        shard->x = tensors_buffer(t, TENSOR_X);
        shard->x_pitch = t->rows[TENSOR_X].pitch;
        shard->dy = tensors_buffer(t, tensors_gradient(j->p));
        shard->dx = tensors_buffer(t, TENSOR_DX);
        shard->dy_pitch = t->rows[tensors_gradient(j->p)].pitch;
        shard->dx_pitch = t->rows[TENSOR_DX].pitch;
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
        shard->running_mean = tensors_buffer(t, TENSOR_RUNNING_MEAN);
        shard->running_var = tensors_buffer(t, TENSOR_RUNNING_VAR);
        if (j->p->out_of_order) {
            shard->num_wait = t->uploads;
            shard->wait_list = t->uploaded;
            shard->event = &t->done;
        }
    }
    return SBN_SUCCESS;
}

/*
 * Points every shard's y at the tensor that the next pass is to write or, backward, forward has
 * written; in place, x too: each pass that may write over x has a copy of it. A backward pass that
 * reads x needs x itself.
 */
static void aim(job *j, tensor_id id, int is_backward)
{
    const int reads_x = is_backward && !j->p->from_output;
    const tensor_id from = tensors_is_in_place(j->p, id) && !reads_x ? id : TENSOR_X;
    for (size_t r = 0; r < j->replicas; ++r) {
        j->shards[r].x = tensors_buffer(&j->tensors[r], from);
        j->shards[r].y = tensors_buffer(&j->tensors[r], id);
        j->shards[r].x_pitch = j->tensors[r].rows[from].pitch;
        j->shards[r].y_pitch = j->tensors[r].rows[id].pitch;
    }
}

/*
 * After a pass: waits for it where the queues do not keep order. On the host it is complete when the
 * call returns.
 */
static int settle(job *j, const char *call, int status)
{
    for (size_t r = 0; r < j->replicas; ++r) {
        cl_event *done = &j->tensors[r].done;
        cl_int state = CL_COMPLETE;
        if (!*done)
            continue;
        if (!status && j->p->memory &&
            clGetEventInfo(*done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL))
            state = RUNNER_SPOILT;
        cl_int waited = status ? CL_SUCCESS : clWaitForEvents(1, done);
        clReleaseEvent(*done);
        *done = NULL;
        if (waited || state != CL_COMPLETE)
            return job_failed_here(j->error, "waiting for a pass", waited ? waited : RUNNER_SPOILT);
    }
    return status ? job_failed(j->error, call, status) : SBN_SUCCESS;
}

/* A pass of two layers. */
static int pass_of_two(job *j, int backward, sbn_result *result)
{
    const size_t own = j->p->branch - 1;
    const unsigned flags = backward ? j->p->backward_flags : j->p->forward_flags;
    sbn_branch branches[2] = {SBN_BRANCH_INIT, SBN_BRANCH_INIT};
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    sbn_pass *pass = NULL;
    int status;
    for (size_t i = 0; i < 2; ++i) {
        const job *of = i == own ? j : j->beside;
        branches[i] = (sbn_branch){sizeof *branches, of->layer, of->shards, of->saved, flags};
    }
    if (!j->p->begin) {
        status = backward ? sbn_backward_branches(branches, 2, results)
                          : sbn_forward_branches(branches, 2, results);
    } else {
        status = backward ? sbn_backward_branches_begin(branches, 2, &pass)
                          : sbn_forward_branches_begin(branches, 2, &pass);
        status = status ? status : sbn_pass_end(pass, results);
    }
    *result = results[own];
    return settle(j->beside, "the other layer", status);
}

static int pass(job *j, int backward, sbn_result *result)
{
    sbn_pass *pass = NULL;
    sbn_result ignored = SBN_RESULT_INIT;
    result = result ? result : &ignored;
    if (j->beside)
        return pass_of_two(j, backward, result);
    if (!j->p->begin)
        return backward ? sbn_backward(j->layer, j->shards, j->saved, j->p->backward_flags, result)
                        : sbn_forward(j->layer, j->shards, j->saved, j->p->forward_flags, result);
    int status = backward
                     ? sbn_backward_begin(j->layer, j->shards, j->saved, j->p->backward_flags,
                                          &pass)
                     : sbn_forward_begin(j->layer, j->shards, j->saved, j->p->forward_flags, &pass);
    if (!status)
        sbn_pass_progress(pass, NULL);
    return status ? status : sbn_pass_end(pass, result);
}

/* What the layer has saved goes through bytes, and all that it has into another layer. */
static int move(job *j)
{
    const size_t channels = j->p->channels;
    sbn_batchnorm *before = j->layer;
    sbn_saved *saved = j->saved;
    int64_t batches;
    size_t size = 0;
    int status = sbn_saved_store(saved, NULL, 0, &size);
    float *running = malloc(2 * channels * sizeof *running);
    void *bytes = malloc(size + 1);
    j->layer = NULL, j->saved = NULL;
    if (!status)
        status = running && bytes ? sbn_saved_store(saved, bytes, size, &size) : SBN_OUT_OF_MEMORY;
    if (!status && j->p->track)
        status = sbn_batchnorm_running_stats(before, running, running + channels, &batches);
    sbn_saved_destroy(saved);
    status = status ? status : make_layer(j, j->group);
    if (!status && j->p->track)
        status = sbn_batchnorm_set_running_stats(j->layer, running, running + channels, &batches);
    status = status ? status : sbn_saved_load(j->saved, bytes, size);
    sbn_batchnorm_destroy(before);
    free(running);
    free(bytes);
    return status ? job_failed(j->error, "storing what is saved", status) : SBN_SUCCESS;
}

int job_open(job *j, sbn_group *group, cl_command_queue *queue)
{
    j->replicas = runner_ranks_replicas(j->ranks, j->g->replicas, &j->first);
    j->tensors = calloc(j->replicas + 1, sizeof *j->tensors);
    j->shards = calloc(j->replicas + 1, sizeof *j->shards);
    if (!j->tensors || !j->shards)
        return job_failed_here(j->error, "making the shards", SBN_OUT_OF_MEMORY);
    int status = make_layer(j, group);
    return status ? status : make_shards(j, queue);
}

int job_open_on(job *j, const job *of, size_t first, size_t replicas, sbn_group *group)
{
    j->borrows = 1;
    j->replicas = replicas;
    j->tensors = of->tensors + first;
    j->shards = of->shards + first;
    j->layer = NULL;
    j->saved = NULL;
    return make_layer(j, group);
}

void job_close(job *j)
{
    for (size_t r = 0; j->tensors && r < j->replicas && !j->borrows; ++r)
        tensors_free(&j->tensors[r]);
    sbn_saved_destroy(j->saved);
    sbn_batchnorm_destroy(j->layer);
    if (j->borrows)
        return;
    free(j->tensors);
    free(j->shards);
}

int job_forward(job *j, sbn_result *result)
{
    aim(j, TENSOR_Y, 0);
    if (j->beside)
        aim(j->beside, TENSOR_Y, 0);
    const int status = settle(j, "sbn_forward", pass(j, 0, result));
    return status || !j->p->stored || j->g->values == 0 ? status : move(j);
}

int job_backward(job *j, sbn_result *result)
{
    aim(j, TENSOR_Y, 1);
    return settle(j, "sbn_backward", pass(j, 1, result));
}

int job_evaluate(job *j)
{
    aim(j, TENSOR_EVAL, 0);
    return settle(j, "sbn_evaluate", sbn_evaluate(j->layer, j->shards));
}

int job_recompute(job *j)
{
    aim(j, TENSOR_AGAIN, 0);
    return settle(j, "sbn_recompute", sbn_recompute(j->layer, j->shards, j->saved));
}

int job_run(job *j)
{
    const unsigned passes = j->p->passes;
    int status = SBN_SUCCESS;
    sbn_result forward = SBN_RESULT_INIT, backward = SBN_RESULT_INIT;
    if (passes & PASS_FORWARD)
        status = job_forward(j, &forward);
    if (!status && passes & PASS_BACKWARD)
        status = job_backward(j, &backward);
    if (!status && passes & PASS_EVALUATE)
        status = job_evaluate(j);
    if (!status && passes & PASS_RECOMPUTE)
        status = job_recompute(j);
    /* Known where one is known to be, or both are known not to be. */
    j->out->wide = forward.wide == 1 || backward.wide == 1 ? 1 : -(forward.wide || backward.wide);
    return status;
}

int job_finish(const job *j)
{
    cl_int status = CL_SUCCESS;
    for (size_t r = 0; r < j->replicas && !status; ++r)
        status = clFinish(j->tensors[r].queue);
    return status ? job_failed_here(j->error, "clFinish", status) : SBN_SUCCESS;
}
