/* Engine, stream and memory for oneDNN. */
#include "bench/onednn_shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/elements.h"

enum { PAGE = 4096, PADDING = 16 };

int onednn_failed(scene *s, const char *call, dnnl_status_t status)
{
    snprintf(s->error, sizeof s->error, "oneDNN: %s: status %d", call, (int)status);
    return RUNNER_SPOILT;
}

void onednn_shared_release(onednn_shared *sh)
{
    if (--sh->users)
        return;
    for (int i = 0; i < ONEDNN_TENSORS; ++i)
        free(sh->tensor[i]);
    for (int i = 0; i < ONEDNN_VECTORS; ++i)
        free(sh->vector[i]);
    dnnl_stream_destroy(sh->stream);
    dnnl_engine_destroy(sh->engine);
    free(sh);
}

static void *zeros(size_t bytes)
{
    void *made = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    return made ? memset(made, 0, bytes) : NULL;
}

static int fill(onednn_shared *sh)
{
    scene *s = sh->scene;
    size_t channels = s->g.channels, vector = channels * sizeof(float);
    size_t padded = (channels + PADDING - 1) / PADDING * PADDING;
    int missing = 0;
    /* oneDNN gets (N,C,H,W); other shapes are written as such. */
    sh->dims[0] = (dnnl_dim_t)s->g.samples;
    sh->dims[1] = (dnnl_dim_t)channels;
    sh->dims[2] = s->p.space_dims == 2 ? (dnnl_dim_t)s->p.space[0] : (dnnl_dim_t)s->g.plane[0];
    sh->dims[3] = s->p.space_dims == 2 ? (dnnl_dim_t)s->p.space[1] : 1;
    sh->type = s->p.type == SBN_F16 ? dnnl_f16 : s->p.type == SBN_BF16 ? dnnl_bf16 : dnnl_f32;
    sh->bytes = s->g.samples * padded * s->g.plane[0] * element_size(s->p.type);
    for (int i = 0; i < ONEDNN_TENSORS; ++i)
        missing |= !(sh->tensor[i] = zeros(sh->bytes));
    for (int i = 0; i < ONEDNN_VECTORS; ++i)
        missing |= !(sh->vector[i] = zeros(vector));
    if (missing)
        return job_failed_here(s->error, "oneDNN's tensors", SBN_OUT_OF_MEMORY);
    elements_pack(s->p.type, s->in.x, s->g.elements, sh->tensor[ONEDNN_X]);
    elements_pack(s->p.type, s->in.dy, s->g.elements, sh->tensor[ONEDNN_DY]);
    memcpy(sh->vector[ONEDNN_WEIGHT], s->in.weight, vector);
    memcpy(sh->vector[ONEDNN_BIAS], s->in.bias, vector);
    dnnl_status_t status = dnnl_engine_create(&sh->engine, dnnl_cpu, 0);
    if (!status)
        status = dnnl_stream_create(&sh->stream, sh->engine, dnnl_stream_default_flags);
    return status ? onednn_failed(s, "making an engine", status) : SBN_SUCCESS;
}

int onednn_shared_open(scene *s, onednn_shared **made)
{
    *made = calloc(1, sizeof **made);
    if (!*made)
        return job_failed_here(s->error, "oneDNN", SBN_OUT_OF_MEMORY);
    (*made)->scene = s;
    (*made)->users = 1;
    int status = fill(*made);
    if (status) {
        onednn_shared_release(*made);
        *made = NULL;
    }
    return status;
}

dnnl_status_t onednn_memory(const onednn_shared *sh, int count, const dnnl_dims_t dims,
                            dnnl_data_type_t type, dnnl_format_tag_t tag, void *at,
                            dnnl_memory_t *made)
{
    dnnl_memory_desc_t desc;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&desc, count, dims, type, tag);
    return status ? status : dnnl_memory_create(made, &desc, sh->engine, at);
}

dnnl_status_t onednn_batch_normalization(const onednn_shared *sh, dnnl_format_tag_t tag,
                                         dnnl_primitive_t *forward, dnnl_primitive_t *backward,
                                         dnnl_memory_t *signs)
{
    const int affine = sh->scene->p.affine, relu = sh->scene->p.activation == SBN_RELU;
    const float eps = (float)sh->scene->p.eps;
    const unsigned flags = (affine ? dnnl_use_scale | dnnl_use_shift : 0u) |
                           (relu ? dnnl_fuse_norm_relu : 0u);
    dnnl_memory_desc_t data;
    dnnl_batch_normalization_desc_t desc;
    dnnl_primitive_desc_t hint = NULL, back = NULL;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&data, 4, sh->dims, sh->type, tag);
    status = status ? status
                    : dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_training,
                                                                 &data, eps, flags);
    status = status ? status : dnnl_primitive_desc_create(&hint, &desc, NULL, sh->engine, NULL);
    status = status ? status : dnnl_primitive_create(forward, hint);
    if (!status && relu) {
        status = dnnl_memory_create(signs,
                                    dnnl_primitive_desc_query_md(hint, dnnl_query_workspace_md, 0),
                                    sh->engine, DNNL_MEMORY_ALLOCATE);
    }
    status = status ? status
                    : dnnl_batch_normalization_backward_desc_init(&desc,
                                                                  affine ? dnnl_backward
                                                                         : dnnl_backward_data,
                                                                  &data, &data, eps, flags);
    status = status ? status : dnnl_primitive_desc_create(&back, &desc, NULL, sh->engine, hint);
    status = status ? status : dnnl_primitive_create(backward, back);
    dnnl_primitive_desc_destroy(hint);
    dnnl_primitive_desc_destroy(back);
    return status;
}

dnnl_status_t onednn_reorder(const onednn_shared *sh, dnnl_memory_t from, dnnl_memory_t to,
                             dnnl_primitive_t *made)
{
    const dnnl_memory_desc_t *source, *target;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t status = dnnl_memory_get_memory_desc(from, &source);
    status = status ? status : dnnl_memory_get_memory_desc(to, &target);
    status = status ? status
                    : dnnl_reorder_primitive_desc_create(&desc, source, sh->engine, target,
                                                         sh->engine, NULL);
    status = status ? status : dnnl_primitive_create(made, desc);
    dnnl_primitive_desc_destroy(desc);
    return status;
}
