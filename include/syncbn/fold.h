/*
 * Folding for inference: batch norm in evaluation is a scale and a shift per
 * channel, which the convolution or dense layer before it can do on its own.
 *
 *   a = norm_weight / sqrt(running_var + eps)
 *   folded_weight = a weight,  folded_bias = a (bias - running_mean) + norm_bias
 */
#ifndef SYNCBN_FOLD_H
#define SYNCBN_FOLD_H

#include <syncbn/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One replica's buffers. The weights lie as (outer, channels, inner), where
 * `channels` are the outputs, those of the layer:
 *
 *   convolution (out, in, h, w), dense (out, in)     outer 1, inner in h w
 *   convolution (h, w, in, out), dense (in, out)     outer h w in, inner 1
 *   transposed convolution (in, out, h, w)           outer in, inner h w
 *
 * A grouped convolution is folded like any other. What is written must not
 * overlap anything else. Events as in sbn_shard.
 */
typedef struct sbn_folding {
    size_t outer, inner;
    sbn_buffer weight;                     /* outer x channels x inner floats */
    sbn_buffer bias;                       /* `channels` floats; mem NULL: the layer has none */
    sbn_buffer norm_weight, norm_bias;     /* of batch norm; read if it is affine */
    sbn_buffer folded_weight, folded_bias; /* written; bias always, for it is needed now */
    cl_uint num_wait;
    const cl_event *wait_list;
    cl_event *event;
} sbn_folding;

/*
 * Enqueues the folding of `layer`, by its running statistics as they are now, on
 * every replica: `foldings` has one for each. Nothing else changes, so training
 * can go on with the weights as they were. It does not communicate.
 * SBN_INVALID_ARGUMENT for a layer without running statistics.
 */
SBN_API int sbn_batchnorm_fold(sbn_batchnorm *layer, const sbn_folding *foldings);

#ifdef __cplusplus
}
#endif

#endif
