#include "offline/setting.h"

#include <stdio.h>
#include <stdlib.h>

int setting_fail(const char *what, int status)
{
    fprintf(stderr, "launches: %s: %s: %s\n", what, sbn_strerror(status), sbn_last_error());
    return 1;
}

static cl_mem make_buffer(setting *s, size_t replica, size_t which, size_t bytes, int *failed)
{
    cl_int code;
    const size_t count = bytes / sizeof(float) + 1;
    float *values = malloc(sizeof *values * count);
    uint32_t state = 1u + (uint32_t)which;
    for (size_t i = 0; values && i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        /* Of halves these bits are numbers, too. */
        values[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    cl_mem made = clCreateBuffer(s->contexts[replica], CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 sizeof *values * count, values, &code);
    free(values);
    if (code != CL_SUCCESS)
        *failed = setting_fail("clCreateBuffer", code);
    s->buffers[replica][which] = made;
    return made;
}

static int make_shard(setting *s, size_t replica, const problem *p)
{
    sbn_shard *shard = &s->shards[replica];
    int failed = 0;
    size_t elements = p->samples * p->channels;
    *shard = (sbn_shard)SBN_SHARD_INIT;
    shard->dims = 2 + p->space_dims;
    shard->shape[0] = p->samples;
    shard->shape[1] = p->channels;
    for (int i = 0; i < p->space_dims; ++i) {
        shard->shape[2 + i] = p->space[i];
        elements *= p->space[i];
    }
    const size_t bytes = elements * (p->type == SBN_F32 ? 4 : 2), row = sizeof(float) * p->channels;
    sbn_buffer *const tensors[] = {&shard->x, &shard->y, &shard->dy, &shard->dx};
    sbn_buffer *const rows[] = {&shard->weight, &shard->bias, &shard->weight_grad,
                                &shard->bias_grad};
    for (size_t i = 0; i < 4 && !failed; ++i)
        tensors[i]->mem = make_buffer(s, replica, i, bytes, &failed);
    for (size_t i = 0; i < 4 && !failed; ++i)
        rows[i]->mem = make_buffer(s, replica, 4 + i, row, &failed);
    if (p->residual && !failed)
        shard->residual.mem = make_buffer(s, replica, 8, bytes, &failed);
    return failed;
}

int setting_tensors(setting *s, const problem *p)
{
    int failed = 0;
    for (size_t r = 0; r < s->replicas && !failed; ++r)
        failed = make_shard(s, r, p);
    return failed;
}

int setting_queues(setting *s, const spread *of, cl_command_queue_properties properties)
{
    cl_int code = CL_SUCCESS;
    s->replicas = of->replicas;
    for (size_t r = 0; r < of->replicas && !code; ++r) {
        const int same = of->replicas == 1 || of->devices[0] == of->devices[1];
        if (r > 0 && !of->apart) {
            s->contexts[r] = s->contexts[0];
            clRetainContext(s->contexts[r]);
        } else {
            s->contexts[r] = clCreateContext(NULL, of->apart || same ? 1 : 2, &of->devices[r], NULL,
                                             NULL, &code);
        }
        if (!code)
            s->queues[r] = clCreateCommandQueue(s->contexts[r], of->devices[r], properties, &code);
    }
    return code ? setting_fail("making a context and a queue", code) : 0;
}

int setting_group(setting *s, sbn_kernel_form form, const char *cache)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = s->queues;
    config.replicas = s->replicas;
    config.form = form;
    config.program_cache = cache;
    const int status = sbn_group_create(&config, &s->group);
    return status ? setting_fail("sbn_group_create", status) : 0;
}

int setting_layer(setting *s, const problem *p)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.channels = p->channels;
    config.layout = p->layout;
    config.type = p->type;
    config.activation = p->activation;
    config.residual = p->residual;
    int status = sbn_batchnorm_create(s->group, &config, &s->layer);
    if (!status)
        status = sbn_saved_create(s->layer, &s->saved);
    return status ? setting_fail("sbn_batchnorm_create", status) : 0;
}

void setting_drop(setting *s)
{
    sbn_saved_destroy(s->saved);
    sbn_batchnorm_destroy(s->layer);
    s->saved = NULL;
    s->layer = NULL;
    for (size_t r = 0; r < s->replicas; ++r)
        for (size_t i = 0; i < BUFFERS; ++i)
            if (s->buffers[r][i]) {
                clReleaseMemObject(s->buffers[r][i]);
                s->buffers[r][i] = NULL;
            }
}

void setting_close(setting *s)
{
    setting_drop(s);
    sbn_group_destroy(s->group);
    for (size_t r = 0; r < s->replicas; ++r) {
        if (s->queues[r])
            clReleaseCommandQueue(s->queues[r]);
        if (s->contexts[r])
            clReleaseContext(s->contexts[r]);
    }
}

int setting_finish(setting *s)
{
    cl_int code = CL_SUCCESS;
    for (size_t r = 0; r < s->replicas && !code; ++r)
        code = clFinish(s->queues[r]);
    return code ? setting_fail("clFinish", code) : 0;
}
