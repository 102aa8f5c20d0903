/* What oneDNN's layouts share in a benchmark: engine, stream, and the tensors' memory. */
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

/* One memory for all layouts, since times do not depend on what lies in it. */
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

/* With one user; statuses as of a contender's functions. */
int onednn_shared_open(scene *s, onednn_shared **made);

/* Ends with its last user. */
void onednn_shared_release(onednn_shared *sh);

/* Writes the sentence about a call that failed; returns a status. */
int onednn_failed(scene *s, const char *call, dnnl_status_t status);

#endif
