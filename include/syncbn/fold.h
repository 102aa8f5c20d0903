/*
 * Folding for inference: batch norm in evaluation is a scale and a shift per channel, which the
 * convolution or dense layer before it can apply itself.
 *
 *   a = norm_weight / sqrt(running_var + eps)
 *   folded_weight = a weight,  folded_bias = a (bias - running_mean) + norm_bias
 *
 * You still apply the layer's activation.
 */
#ifndef SYNCBN_FOLD_H
#define SYNCBN_FOLD_H

#include <syncbn/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One replica's buffers. The weights lie as (outer, channels, inner); `channels` are the outputs of
 * the convolution or dense layer:
 *
 *   convolution (out, in, h, w), dense (out, in)     outer 1, inner in h w
 *   convolution (h, w, in, out), dense (in, out)     outer h w in, inner 1
 *   transposed convolution (in, out, h, w)           outer in, inner h w
 *
 * A grouped convolution is folded in the same way. What is written must not overlap any other
 * buffer, of any replica (SBN_INVALID_ARGUMENT names both). Events as in sbn_shard.
 */
typedef struct sbn_folding {
    size_t size;              /* sizeof(sbn_folding) */
    size_t outer;             /* see above */
    size_t inner;             /* see above */
    sbn_buffer weight;        /* outer x channels x inner floats */
    sbn_buffer bias;          /* `channels` floats; mem NULL: the layer before has none */
    sbn_buffer norm_weight;   /* batch norm's weight: `channels` floats; read if it is affine */
    sbn_buffer norm_bias;     /* batch norm's bias: `channels` floats; read if it is affine */
    sbn_buffer folded_weight; /* written: outer x channels x inner floats */
    sbn_buffer folded_bias;   /* written: `channels` floats, also where there was no bias */
    uint32_t num_wait;        /* events in wait_list */
    struct _cl_event *const *wait_list; /* a const cl_event *; not read if num_wait is 0 */
    struct _cl_event **event;           /* a cl_event *, or NULL */
} sbn_folding;

#define SBN_FOLDING_INIT \
    { \
        sizeof(sbn_folding), 0, 0, SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, \
            SBN_BUFFER_INIT, SBN_BUFFER_INIT, SBN_BUFFER_INIT, 0, NULL, NULL \
    }

/*
 * Enqueues the folding of `layer`, with its running statistics as they are now, on every replica.
 * Waits only as sbn_evaluate does, and does not communicate.
 *
 * `foldings` has one element for each replica of this process. Only the folded weight and bias
 * change, so training can go on with the original ones.
 *
 * Errors. SBN_INVALID_ARGUMENT: among others a layer without running statistics, or with a
 * residual. SBN_OUT_OF_MEMORY, OpenCL's codes.
 */
SBN_API int sbn_batchnorm_fold(sbn_batchnorm *layer, const sbn_folding *foldings);

#ifdef __cplusplus
}
#endif

#endif
