/*
 * A model: the named batch normalisation layers of a network, to be switched, moved to another
 * group, saved and loaded in one call.
 *
 * The layers are yours. So are weight and bias, in a buffer on each replica's device: the model
 * knows where they lie, and reads and writes them there. It has no second copy.
 */
#ifndef SYNCBN_MODEL_H
#define SYNCBN_MODEL_H

#include <syncbn/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbn_model sbn_model;

/* Where a replica's weight and bias of a layer lie: `channels` floats each. */
typedef struct sbn_parameters {
    size_t size;       /* sizeof(sbn_parameters) */
    sbn_buffer weight; /* `channels` floats */
    sbn_buffer bias;   /* `channels` floats */
} sbn_parameters;

#define SBN_PARAMETERS_INIT \
    { \
        sizeof(sbn_parameters), SBN_BUFFER_INIT, SBN_BUFFER_INIT \
    }

/*
 * Makes an empty model.
 *
 * Errors. SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY; *model is then NULL.
 */
SBN_API int sbn_model_create(sbn_model **model);

/* Ends a model; its layers stay. */
SBN_API int sbn_model_destroy(sbn_model *model);

/*
 * Adds a layer, which must outlive the model, under a name.
 *
 * The name is the layer's in checkpoints, "features.1"; the config's `name` is for error sentences
 * alone, and may be the same. It is UTF-8 and differs from those of the model's other layers. ""
 * stands for a network that is a layer itself.
 *
 * `parameters` has one element for each replica of the layer's group in this process; their buffers
 * are retained. It is NULL for a layer without weight and bias, or if the model is not to touch
 * them: such a layer can be switched and moved, and saved and loaded only if it is not affine. A
 * rank without replicas can load affine layers and cannot save them.
 *
 * Errors. SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY, OpenCL's codes; nothing is added then.
 */
SBN_API int sbn_model_add(sbn_model *model, const char *name, sbn_batchnorm *layer,
                          const sbn_parameters *parameters);

/* How many layers the model has. */
SBN_API size_t sbn_model_size(const sbn_model *model);

/* The name of layer number `index`, from 0 on in the order of adding; NULL beyond the last. */
SBN_API const char *sbn_model_name(const sbn_model *model, size_t index);

/* Layer number `index`, from 0 on in the order of adding; NULL beyond the last. */
SBN_API sbn_batchnorm *sbn_model_layer(const sbn_model *model, size_t index);

/* The layer of this name, or NULL. *index (may be NULL) receives its number, if there is one. */
SBN_API sbn_batchnorm *sbn_model_find(const sbn_model *model, const char *name, size_t *index);

/* Calls sbn_batchnorm_set_training for all layers; an error changes none. */
SBN_API int sbn_model_set_training(sbn_model *model, int training);

/* Calls sbn_batchnorm_set_frozen for all layers; an error changes none. */
SBN_API int sbn_model_set_frozen(sbn_model *model, int frozen);

/*
 * Copies a layer's weight and bias out of the first replica's buffers: `channels` floats each; NULL
 * leaves one out. Blocks until the replica's queue is empty and the copy is made.
 *
 * Errors. SBN_INVALID_ARGUMENT: among others the model does not know the buffers, or this rank has
 * no replica. After an error of OpenCL what was copied is undefined.
 */
SBN_API int sbn_model_parameters(const sbn_model *model, size_t index, float *weight, float *bias);

/*
 * Copies a weight and a bias into every replica's buffers: `channels` floats each; NULL leaves one
 * out. Blocks until the replicas' queues are empty and the copies are made.
 *
 * Errors. SBN_INVALID_ARGUMENT: among others the model does not know the buffers. OpenCL's codes.
 */
SBN_API int sbn_model_set_parameters(sbn_model *model, size_t index, const float *weight,
                                     const float *bias);

/* Sets running mean 0, variance 1 and no batches tracked, in all layers. */
SBN_API int sbn_model_reset_running_stats(sbn_model *model);

/*
 * Resets running statistics, as sbn_model_reset_running_stats, and sets weight 1 and bias 0 on
 * every replica where the model knows the buffers. Blocks as sbn_model_set_parameters does.
 */
SBN_API int sbn_model_reset_parameters(sbn_model *model);

/*
 * Says where a replica's weight and bias of a layer lie in a new group. Called for each layer whose
 * buffers the model knows and each replica of this process in that group. `parameters` comes as
 * SBN_PARAMETERS_INIT of the library's version: set its buffers. A negative return ends
 * sbn_model_set_group with that status.
 */
typedef int (*sbn_replicate_fn)(void *context, const char *name, sbn_batchnorm *layer,
                                size_t replica, sbn_parameters *parameters);

/*
 * Moves all layers to another group, with their weights and biases, as sbn_batchnorm_set_group
 * does. Blocks as sbn_model_parameters and sbn_model_set_parameters do.
 *
 * The first replica's weights and biases are written to every replica of the new group, into the
 * buffers that `replicate` names; `context` is passed to it. If this rank had no replica in the
 * former group, nothing is written: the new buffers are yours to fill, for example by
 * sbn_model_load. Layers that were added with NULL for their parameters stay without: on a rank
 * without replicas any other pointer stands for none. With NULL for `replicate` the buffers stay the
 * same; the new group must then have as many replicas, of the same contexts.
 *
 * Errors. Those of sbn_batchnorm_set_group and sbn_model_set_parameters. SBN_INVALID_ARGUMENT also
 * for a layer that sbn_batchnorm_set_group has moved by itself to a group with another number of
 * replicas; this holds for all calls that read or write weights and biases. Every layer is then in
 * its former group with its former buffers; except after an error of OpenCL in the last copies:
 * then all layers are in the new group, and the contents of its buffers are undefined.
 */
SBN_API int sbn_model_set_group(sbn_model *model, sbn_group *group, sbn_replicate_fn replicate,
                                void *context);

#ifdef __cplusplus
}
#endif

#endif
