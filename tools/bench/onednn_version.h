/* The calls in which oneDNN's C interfaces of versions 2 and 3 differ. */
#ifndef TOOLS_BENCH_ONEDNN_VERSION_H
#define TOOLS_BENCH_ONEDNN_VERSION_H

#include "bench/onednn_shared.h"

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

#endif
