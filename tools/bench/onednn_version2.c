/* oneDNN 2: memory descriptors are values, and each operation has a descriptor. */
#include "bench/onednn_version.h"

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
