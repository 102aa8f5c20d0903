/* oneDNN 3: memory descriptors are handles, and operations have no descriptors. */
#include "bench/onednn_version.h"

dnnl_status_t onednn_memory(const onednn_shared *sh, int count, const dnnl_dims_t dims,
                            dnnl_data_type_t type, dnnl_format_tag_t tag, void *at,
                            dnnl_memory_t *made)
{
    dnnl_memory_desc_t desc = NULL;
    dnnl_status_t status = dnnl_memory_desc_create_with_tag(&desc, count, dims, type, tag);
    status = status ? status : dnnl_memory_create(made, desc, sh->engine, at);
    dnnl_memory_desc_destroy(desc);
    return status;
}

dnnl_status_t onednn_batch_normalization(const onednn_shared *sh, dnnl_format_tag_t tag,
                                         dnnl_primitive_t *forward, dnnl_primitive_t *backward,
                                         dnnl_memory_t *signs)
{
    const int affine = sh->scene->p.affine, relu = sh->scene->p.activation == SBN_RELU;
    const float eps = (float)sh->scene->p.eps;
    const unsigned flags = (affine ? dnnl_use_scale | dnnl_use_shift : 0u) |
                           (relu ? dnnl_fuse_norm_relu : 0u);
    dnnl_memory_desc_t data = NULL;
    dnnl_primitive_desc_t hint = NULL, back = NULL;
    dnnl_status_t status = dnnl_memory_desc_create_with_tag(&data, 4, sh->dims, sh->type, tag);
    status = status ? status
                    : dnnl_batch_normalization_forward_primitive_desc_create(&hint, sh->engine,
                                                                             dnnl_forward_training,
                                                                             data, data, eps, flags,
                                                                             NULL);
    status = status ? status : dnnl_primitive_create(forward, hint);
    if (!status && relu) {
        status = dnnl_memory_create(signs,
                                    dnnl_primitive_desc_query_md(hint, dnnl_query_workspace_md, 0),
                                    sh->engine, DNNL_MEMORY_ALLOCATE);
    }
    status = status
                 ? status
                 : dnnl_batch_normalization_backward_primitive_desc_create(&back, sh->engine,
                                                                           affine
                                                                               ? dnnl_backward
                                                                               : dnnl_backward_data,
                                                                           data, data, data, eps,
                                                                           flags, hint, NULL);
    status = status ? status : dnnl_primitive_create(backward, back);
    dnnl_primitive_desc_destroy(hint);
    dnnl_primitive_desc_destroy(back);
    dnnl_memory_desc_destroy(data);
    return status;
}
