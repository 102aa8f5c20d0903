/*
 * A model: the named batch normalisation layers of a network, so that all of
 * them can be switched, moved to another group, saved and loaded in one call.
 *
 * The model owns nothing but names. Layers are the caller's; so are weight and
 * bias, in a buffer on each replica's device: the model is told where, and reads
 * and writes them there. What is saved is what the devices hold, and no second
 * copy can fall behind.
 */
#ifndef SYNCBN_MODEL_H
#define SYNCBN_MODEL_H

#include <syncbn/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbn_model sbn_model;

/* Where a replica's weight and bias lie: `channels` floats each. */
typedef struct sbn_parameters {
    sbn_buffer weight, bias;
} sbn_parameters;

/* Makes an empty model. Errors: SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY. */
SBN_API int sbn_model_create(sbn_model **model);

/* Ends a model; its layers stay. */
SBN_API int sbn_model_destroy(sbn_model *model);

/*
 * Adds a layer, which must outlive the model, under a name (UTF-8) that no other
 * layer of the model has: the one it has in checkpoints, "features.1". "" is a
 * network that is a layer itself. `parameters`: one per replica of the layer's
 * group, retained; NULL for a layer without weight and bias, or whose weight and
 * bias the model shall not touch: then it can be switched and moved, but saved
 * and loaded only if it is not affine. A rank without replicas loads, and does
 * not save, what is affine.
 */
SBN_API int sbn_model_add(sbn_model *model, const char *name, sbn_batchnorm *layer,
                          const sbn_parameters *parameters);

/* How many layers; the i-th name and layer in the order they were added, NULL beyond. */
SBN_API size_t sbn_model_size(const sbn_model *model);
SBN_API const char *sbn_model_name(const sbn_model *model, size_t index);
SBN_API sbn_batchnorm *sbn_model_layer(const sbn_model *model, size_t index);

/* The layer of a name and, unless NULL, its index; NULL if there is none. */
SBN_API sbn_batchnorm *sbn_model_find(const sbn_model *model, const char *name, size_t *index);

/* sbn_batchnorm_train and sbn_batchnorm_freeze of all layers; an error changes none. */
SBN_API int sbn_model_train(sbn_model *model, int training);
SBN_API int sbn_model_freeze(sbn_model *model, int frozen);

/*
 * Copies a layer's weight and bias from the first replica, or to every replica;
 * `channels` floats each, NULL leaves one out. They wait until the replica's
 * queue is empty, and until the copy is done. SBN_INVALID_ARGUMENT if the model
 * does not know the buffers, or this rank has no replica to read from.
 */
SBN_API int sbn_model_get_parameters(const sbn_model *model, size_t index, float *weight,
                                     float *bias);
SBN_API int sbn_model_set_parameters(sbn_model *model, size_t index, const float *weight,
                                     const float *bias);

/* All layers: running mean 0 and variance 1, no batches tracked. */
SBN_API int sbn_model_reset_running_stats(sbn_model *model);

/* The same, and weight 1 and bias 0 on every replica where the model knows the buffers. */
SBN_API int sbn_model_reset_parameters(sbn_model *model);

/*
 * Called for each layer whose buffers the model knows and each replica of its
 * new group: says where that replica's weight and bias are to lie. A negative
 * return ends the conversion with that status.
 */
typedef int (*sbn_replicate)(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                             sbn_parameters *parameters);

/*
 * Moves all layers to another group, as sbn_batchnorm_convert does, together
 * with their weights and biases: those of the first replica are written to every
 * replica of the new group, into the buffers that `replicate` names. With NULL
 * the buffers stay the same ones; the new group must then have as many replicas,
 * of the same contexts. After an error every layer is in its former group with
 * its former buffers; after one in the copying, which is OpenCL's, all are in the
 * new group, with undefined values in its buffers.
 */
SBN_API int sbn_model_convert(sbn_model *model, sbn_group *group, sbn_replicate replicate,
                              void *context);

#ifdef __cplusplus
}
#endif

#endif
