/*
 * Checkpoints: safetensors files with the keys of PyTorch's state dict. A layer
 * named "features.1" has the tensors
 *
 *   features.1.weight               affine layers
 *   features.1.bias
 *   features.1.running_mean         layers with running statistics
 *   features.1.running_var
 *   features.1.num_batches_tracked  I64; missing in version 1: it counts as 0
 *
 * of `channels` elements (the last: a scalar, or one element), in F32, F16 or
 * BF16. A file may hold a whole network: every other tensor is left alone.
 *
 * A file is not trusted. Its header is checked in full (at most 100 MB of JSON, no
 * key twice, sizes that fit shapes and types, no gap, no overlap, nothing behind
 * the last tensor) before anything is read by it; what does not hold is
 * SBN_INVALID_FILE. Parsing takes up to 20 times the header's size in memory.
 */
#ifndef SYNCBN_CHECKPOINT_H
#define SYNCBN_CHECKPOINT_H

#include <syncbn/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a key of a file does not fit a model. */
typedef enum sbn_key_problem {
    SBN_KEY_MISSING = 0,    /* the model has it, the file has not */
    SBN_KEY_UNEXPECTED = 1, /* the file has it for a layer, the model has not */
    SBN_KEY_WRONG_SHAPE = 2 /* or a wrong type */
} sbn_key_problem;

typedef struct sbn_load_config {
    size_t size; /* sizeof(sbn_load_config) */
    int strict;  /* 1: missing and unexpected keys are errors; wrong shapes always are */
    /* Called for every key that does not fit, strict or not; may be NULL. */
    void (*report)(void *context, sbn_key_problem problem, const char *key, const char *sentence);
    void *context;
} sbn_load_config;

#define SBN_LOAD_CONFIG_INIT \
    { \
        sizeof(sbn_load_config), 1, NULL, NULL \
    }

/*
 * Reads weight, bias and running statistics of all layers from a file; weight
 * and bias go to every replica's device, and wait as sbn_model_set_parameters
 * does. `config` NULL: the defaults. A key is unexpected if it lies directly
 * under a layer's name, or belongs to a layer with running statistics that the
 * model does not have. Everything is read and checked before anything changes:
 * after SBN_IO_ERROR, SBN_INVALID_FILE or SBN_KEY_MISMATCH the model is as it
 * was. SBN_INVALID_ARGUMENT for an affine layer whose buffers the model does not
 * know. Not strict, what is missing stays as it is.
 */
SBN_API int sbn_model_load(sbn_model *model, const char *path, const sbn_load_config *config);

/*
 * Writes weight, bias and running statistics of all layers to a file. Every
 * other tensor, and the metadata, are taken from the file `base`, byte for byte;
 * `base` may be `path` itself, or NULL for a file of the layers alone. Tensors
 * that `base` has keep their type there, new ones are F32; a finite value too
 * large for that type is SBN_KEY_MISMATCH, as is a layer's tensor of another shape.
 *
 * The file appears at once and whole: it is written under another name in the
 * same folder, synced and renamed, keeping the mode of a file that it replaces.
 * After an error `path` is as it was, unless the sentence says that it is new: its
 * folder could not be synced then, and a crash may bring back what was there.
 *
 * In a job one rank saves; all ranks of a group hold the same.
 */
SBN_API int sbn_model_save(const sbn_model *model, const char *path, const char *base);

/*
 * A file alone, without a model: which layers with running statistics it holds.
 * It needs no device.
 */
typedef struct sbn_checkpoint sbn_checkpoint;

typedef struct sbn_checkpoint_layer {
    size_t size;      /* sizeof(sbn_checkpoint_layer) */
    const char *name; /* the checkpoint's */
    size_t channels;  /* elements of running_mean */
    const char *type; /* of running_mean: "F32" */
    int affine;       /* there is a weight or a bias */
    int tracked;      /* there is a num_batches_tracked */
} sbn_checkpoint_layer;

#define SBN_CHECKPOINT_LAYER_INIT \
    { \
        sizeof(sbn_checkpoint_layer), NULL, 0, NULL, 0, 0 \
    }

/* Opens a file; it stays open. Errors: SBN_IO_ERROR, SBN_INVALID_FILE, SBN_OUT_OF_MEMORY. */
SBN_API int sbn_checkpoint_create(const char *path, sbn_checkpoint **checkpoint);
SBN_API int sbn_checkpoint_destroy(sbn_checkpoint *checkpoint);

/* How many layers it holds; the i-th by name, numbers within names by their value. */
SBN_API size_t sbn_checkpoint_size(const sbn_checkpoint *checkpoint);
SBN_API int sbn_checkpoint_get_layer(const sbn_checkpoint *checkpoint, size_t index,
                                     sbn_checkpoint_layer *layer);

/*
 * Reads a layer: `channels` floats each, any pointer may be NULL. Without a
 * weight they are 1, without a bias 0, and num_batches_tracked 0 without one.
 * SBN_KEY_MISMATCH if a tensor's shape or type is not that of the layer.
 */
SBN_API int sbn_checkpoint_read(const sbn_checkpoint *checkpoint, size_t index, float *weight,
                                float *bias, float *mean, float *var, int64_t *num_batches_tracked);

#ifdef __cplusplus
}
#endif

#endif
