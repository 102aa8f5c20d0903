/* What the contenders of oneDNN share: engine, stream, and the tensors' memory. */
#ifndef TOOLS_BENCH_ONEDNN_SHARED_H
#define TOOLS_BENCH_ONEDNN_SHARED_H

#include <dnnl.h>

#include "bench/contender.h"

typedef enum onednn_tensor {
    ONEDNN_X,
    ONEDNN_DY,
    ONEDNN_Y,
    ONEDNN_DX,
    ONEDNN_TENSORS
} onednn_tensor;

typedef enum onednn_vector {
    ONEDNN_MEAN,
    ONEDNN_VAR,
    ONEDNN_WEIGHT,
    ONEDNN_BIAS,
    ONEDNN_WEIGHT_GRAD,
    ONEDNN_BIAS_GRAD,
    ONEDNN_VECTORS
} onednn_vector;

/* One memory for all layouts: times do not depend on the values in it. */
typedef struct onednn_shared {
    scene *scene;
    size_t users;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_dims_t dims;      /* N, C, H, W */
    dnnl_data_type_t type; /* of tensors; vectors are floats */
    size_t bytes;          /* of a tensor, in the layout that pads most */
    void *tensor[ONEDNN_TENSORS];
    float *vector[ONEDNN_VECTORS]; /* `channels` each */
} onednn_shared;

/* Made with one user. Statuses as of a contender's functions. */
int onednn_shared_open(scene *s, onednn_shared **made);

/* Drops a user; the last one frees it. */
void onednn_shared_release(onednn_shared *sh);

/* A tensor in memory of the caller's. */
dnnl_status_t onednn_memory(const onednn_shared *sh, int count, const dnnl_dims_t dims,
                            dnnl_data_type_t type, dnnl_format_tag_t tag, void *at,
                            dnnl_memory_t *made);

/*
 * Training, forward and backward, of tensors of shape sh->dims and sh->type, with a ReLU where the
 * problem has one: forward keeps its signs for backward. dnnl_unimplemented: not on this CPU.
 */
dnnl_status_t onednn_batch_normalization(const onednn_shared *sh, dnnl_format_tag_t tag,
                                         dnnl_primitive_t *forward, dnnl_primitive_t *backward,
                                         dnnl_memory_t *signs);

/* Copies a tensor into another one's layout. */
dnnl_status_t onednn_reorder(const onednn_shared *sh, dnnl_memory_t from, dnnl_memory_t to,
                             dnnl_primitive_t *made);

/* Writes the sentence about a call that failed; returns a status. */
int onednn_failed(scene *s, const char *call, dnnl_status_t status);

#endif
